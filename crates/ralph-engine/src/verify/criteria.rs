//! Verifies criteria one after the other, including stages and retries.
use std::time::Instant;

use ralph_core::criterion::{CheckStage, Criterion, StagedCheck, VerificationMethod};
use ralph_core::evidence::{
    CheckEvidence, Evidence, EvidenceKind, ReasonedVerdict, Verdict, can_skip_remaining_stages, evaluate_stages,
    merge_retries, sum_judge_spend,
};
use tokio::sync::mpsc::unbounded_channel;

use super::parallel::{CheckFuture, run_in_parallel};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition, external, plugin, semantic};

/// Verifies criteria one after the other and stops at the first that does not accept: its reason is the reason of the
/// verdict. Reused results can reject a claim early, but never accept it.
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
    repeat_cached_criteria(context, criteria, evidence, control).await
}

/// Runs the criteria again whose results were reused, if the claim would be accepted: ignored files are not part of the
/// cache key, so every check must have passed for the present files.
async fn repeat_cached_criteria(
    context: &CheckContext,
    criteria: &[Criterion],
    mut evidence: Evidence,
    control: &mut VerificationControl,
) -> Evidence {
    for (number, criterion) in criteria.iter().enumerate() {
        if evidence.verdict() != Verdict::Accepted {
            break;
        }
        if !evidence.checks.get(number).is_some_and(CheckEvidence::is_cached) {
            continue;
        }
        context.cache.clear();
        let earlier_evidence = evidence.checks.get(..number).unwrap_or_default();
        let position = CheckPosition { label: (number + 1).to_string(), earlier_evidence };
        let repeated = verify_with_retries(context, criterion, &position, control).await;
        if let Some(check) = evidence.checks.get_mut(number) {
            *check = repeated;
        }
        evidence = append_broken_seal(context, evidence);
    }
    evidence
}

/// Verifies one more criterion and appends its evidence.
pub async fn verify_next_criterion(
    context: &CheckContext,
    criterion: &Criterion,
    mut evidence: Evidence,
    control: &mut VerificationControl,
) -> Evidence {
    let label = (evidence.checks.len() + 1).to_string();
    let position = CheckPosition { label, earlier_evidence: &evidence.checks };
    let checked = verify_with_retries(context, criterion, &position, control).await;
    evidence.checks.push(checked);
    append_broken_seal(context, evidence)
}

fn append_broken_seal(context: &CheckContext, mut evidence: Evidence) -> Evidence {
    if let Some(broken) = context.seal_monitor.broken_evidence() {
        // Results since the seal was broken may come from changed programs.
        context.cache.clear();
        evidence.checks.push(broken);
    }
    evidence
}

/// Retries a failed check as often as the criterion allows, until a stop is requested.
async fn verify_with_retries(
    context: &CheckContext,
    criterion: &Criterion,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let mut earlier = Vec::new();
    loop {
        let tries = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
        let label = if tries == 1 { position.label.clone() } else { format!("{}-try-{tries}", position.label) };
        let position = CheckPosition { label, earlier_evidence: position.earlier_evidence };
        let evidence = verify_once(context, criterion, &position, control).await;
        let is_over = || control.is_stopped() || context.seal_monitor.broken_evidence().is_some();
        if evidence.verdict == Verdict::Accepted || tries > criterion.retries || is_over() {
            let name = criterion.name.clone();
            let allowed = criterion.retries.saturating_add(1);
            return merge_retries(CheckEvidence { name, ..evidence }, &earlier, allowed);
        }
        earlier.push(evidence);
    }
}

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
            let stamps = context.seal_monitor.read_stamps(control).await;
            let evidence = external::run_external_check(context, check, log, control).await;
            if !evidence.cached {
                context.seal_monitor.check_seal(stamps, control).await;
            }
            evidence
        }
        VerificationMethod::Semantic(check) => semantic::run_semantic_check(context, check, position, control).await,
        VerificationMethod::Plugin(check) => {
            let name = criterion.name.as_deref();
            let stamps = context.seal_monitor.read_stamps(control).await;
            let evidence = plugin::run_plugin_check(context, check, position, name, control).await;
            context.seal_monitor.check_seal(stamps, control).await;
            evidence
        }
        VerificationMethod::MultiStage(staged) => verify_stages(context, staged, position, control).await,
    }
}

/// Verifies the stages of a criterion. Boxed because stages can contain stages.
fn verify_stages<'a>(
    context: &'a CheckContext,
    staged: &'a StagedCheck,
    position: &'a CheckPosition<'_>,
    control: &'a mut VerificationControl,
) -> CheckFuture<'a, CheckEvidence> {
    Box::pin(async move {
        let started = Instant::now();
        let mut stages: Vec<CheckEvidence> = Vec::new();
        for group in staged.parallel_groups() {
            let earlier_evidence = &[position.earlier_evidence, &stages].concat();
            let first =
                StageGroupPosition { parent: &position.label, first_number: stages.len() + 1, earlier_evidence };
            stages.extend(verify_stage_group(context, group, &first, control).await);
            let is_over = control.is_stopped() || context.seal_monitor.broken_evidence().is_some();
            if can_skip_remaining_stages(staged.require_all, &stages) || is_over {
                break;
            }
        }
        let ReasonedVerdict { verdict, reason } = evaluate_stages(staged.require_all, &stages);
        let failed = stages.iter().find(|stage| stage.required && stage.verdict != Verdict::Accepted);
        let shown = VerificationMethod::MultiStage(staged.clone()).summary_line();
        CheckEvidence {
            tail: failed.map(|stage| stage.tail.clone()).unwrap_or_default(),
            duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
            leftovers: stages.iter().map(|stage| stage.leftovers).sum(),
            unverified: stages.iter().any(|stage| stage.unverified),
            spend: sum_judge_spend(&stages),
            stages,
            ..CheckEvidence::without_output(EvidenceKind::MultiStage, shown, verdict, reason)
        }
    })
}

/// The position of a group of stages among all stages of a criterion.
struct StageGroupPosition<'a> {
    parent: &'a str,
    /// The number of the first stage in the group.
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
    let (mut senders, mut checks): (_, Vec<CheckFuture<'_, CheckEvidence>>) = (Vec::new(), Vec::new());
    for (stage, number) in group.iter().zip(first.first_number..) {
        let (sender, receiver) = unbounded_channel();
        senders.push(sender);
        let position = position_at(number);
        checks.push(Box::pin(async move {
            let mut control = VerificationControl::new(receiver);
            verify_stage(context, stage, position, &mut control).await
        }));
    }
    run_in_parallel(control, &senders, checks).await
}

async fn verify_stage(
    context: &CheckContext,
    CheckStage { required, criterion }: &CheckStage,
    position: CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    CheckEvidence { required: *required, ..verify_with_retries(context, criterion, &position, control).await }
}
