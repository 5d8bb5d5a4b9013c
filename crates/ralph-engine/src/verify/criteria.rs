//! Criteria one after the other, stages inside them, and failures that are looked at again.
use std::time::Instant;

use ralph_core::criterion::{CheckStage, Criterion, StagedCheck, VerificationMethod};
use ralph_core::evidence::{
    CheckEvidence, Evidence, EvidenceKind, Verdict, can_skip_remaining_stages, evaluate_stages, merge_retries,
    sum_judge_spend,
};
use tokio::sync::mpsc::unbounded_channel;

use super::parallel::{CheckFuture, run_in_parallel};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition, external, plugin, semantic};

/// Verifies criteria one after the other. The first that does not accept ends it: its reason is the verdict's.
pub(super) async fn verify_criteria(
    context: &CheckContext,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> Evidence {
    let mut evidence = Evidence::default();
    for criterion in criteria {
        evidence = verify_next_criterion(context, criterion, evidence, control).await;
        if evidence.verdict() != Verdict::Accepted {
            break;
        }
    }
    evidence
}

/// Verifies one more criterion.
pub async fn verify_next_criterion(
    context: &CheckContext,
    criterion: &Criterion,
    mut evidence: Evidence,
    control: &mut VerificationControl,
) -> Evidence {
    let place = (evidence.checks.len() + 1).to_string();
    let one = verify_with_retries(
        context,
        criterion,
        &CheckPosition { label: place, earlier_evidence: &evidence.checks },
        control,
    )
    .await;
    evidence.checks.push(one);
    if let Some(broken) = context.seal_monitor.broken_evidence() {
        // What was said since then may have been said by something else.
        context.cache.clear();
        evidence.checks.push(broken);
    }
    evidence
}

/// Looks again at what failed, as often as the criterion allows. A stop ends that: nothing is left to look at.
async fn verify_with_retries(
    context: &CheckContext,
    criterion: &Criterion,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let mut earlier = Vec::new();
    loop {
        let tries = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
        let place = if tries == 1 { position.label.clone() } else { format!("{}-try-{tries}", position.label) };
        let seen = verify_once(
            context,
            criterion,
            &CheckPosition { label: place, earlier_evidence: position.earlier_evidence },
            control,
        )
        .await;
        let is_over = || control.is_stopped() || context.seal_monitor.broken_evidence().is_some();
        if seen.verdict == Verdict::Accepted || tries > criterion.retries || is_over() {
            let name = criterion.name.clone();
            let allowed = criterion.retries.saturating_add(1);
            return merge_retries(CheckEvidence { name, ..seen }, &earlier, allowed);
        }
        earlier.push(seen);
    }
}

/// Looks once.
async fn verify_once(
    context: &CheckContext,
    criterion: &Criterion,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    match &criterion.method {
        VerificationMethod::StringMatch => CheckEvidence::without_output(
            EvidenceKind::StringMatch,
            criterion.method.summary_line(),
            Verdict::Accepted,
            "Promise found in output".to_owned(),
        ),
        VerificationMethod::External(check) => {
            let log = format!("{}.check-{}.log", context.log_prefix, position.label);
            let seen = external::run_external_check(context, check, log, control).await;
            if !seen.cached {
                context.seal_monitor.check_seal(control).await;
            }
            seen
        }
        VerificationMethod::Semantic(check) => semantic::run_semantic_check(context, check, position, control).await,
        VerificationMethod::Plugin(check) => {
            let seen = plugin::run_plugin_check(context, check, (position, criterion.name.as_deref()), control).await;
            context.seal_monitor.check_seal(control).await;
            seen
        }
        VerificationMethod::MultiStage(staged) => verify_stages(context, staged, position, control).await,
    }
}

/// Stages may have stages of their own.
fn verify_stages<'a>(
    context: &'a CheckContext,
    staged: &'a StagedCheck,
    position: &'a CheckPosition<'_>,
    control: &'a mut VerificationControl,
) -> CheckFuture<'a, CheckEvidence> {
    Box::pin(async move {
        let began = Instant::now();
        let mut seen: Vec<CheckEvidence> = Vec::new();
        for group in staged.parallel_groups() {
            let before = [position.earlier_evidence, &seen].concat();
            let first =
                StageGroupPosition { parent: &position.label, first_number: seen.len() + 1, earlier_evidence: &before };
            seen.extend(verify_stage_group(context, group, &first, control).await);
            let is_over = control.is_stopped() || context.seal_monitor.broken_evidence().is_some();
            if can_skip_remaining_stages(staged.require_all, &seen) || is_over {
                break;
            }
        }
        let (verdict, reason) = evaluate_stages(staged.require_all, &seen);
        let failed = seen.iter().find(|stage| stage.required && stage.verdict != Verdict::Accepted);
        let shown = VerificationMethod::MultiStage(staged.clone()).summary_line();
        CheckEvidence {
            tail: failed.map(|stage| stage.tail.clone()).unwrap_or_default(),
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            leftovers: seen.iter().map(|stage| stage.leftovers).sum(),
            unverified: seen.iter().any(|stage| stage.unverified),
            spend: sum_judge_spend(&seen),
            stages: seen,
            ..CheckEvidence::without_output(EvidenceKind::MultiStage, shown, verdict, reason)
        }
    })
}

/// Where the stages of a group stand.
struct StageGroupPosition<'a> {
    parent: &'a str,
    /// The number of the first one.
    first_number: usize,
    earlier_evidence: &'a [CheckEvidence],
}

async fn verify_stage_group(
    context: &CheckContext,
    group: &[CheckStage],
    first: &StageGroupPosition<'_>,
    control: &mut VerificationControl,
) -> Vec<CheckEvidence> {
    let position_at = |number| CheckPosition {
        label: format!("{}.{number}", first.parent),
        earlier_evidence: first.earlier_evidence,
    };
    if let [stage] = group {
        return vec![verify_stage(context, stage, position_at(first.first_number), control).await];
    }
    let (mut told, mut looks): (_, Vec<CheckFuture<'_, CheckEvidence>>) = (Vec::new(), Vec::new());
    for (stage, number) in group.iter().zip(first.first_number..) {
        let (tell, received) = unbounded_channel();
        told.push(tell);
        let position = position_at(number);
        looks.push(Box::pin(async move {
            let mut control = VerificationControl::new(received);
            verify_stage(context, stage, position, &mut control).await
        }));
    }
    run_in_parallel(control, &told, looks).await
}

async fn verify_stage(
    context: &CheckContext,
    CheckStage { required, criterion }: &CheckStage,
    position: CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    CheckEvidence { required: *required, ..verify_with_retries(context, criterion, &position, control).await }
}
