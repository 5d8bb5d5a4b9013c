//! Criteria one after the other, stages inside them, and failures that are looked at again.
use std::time::Instant;

use ralph_core::criterion::{Criterion, Method, Stage, StagedCheck};
use ralph_core::evidence::{
    CheckEvidence, Evidence, Kind, Verdict, after_retries, is_settled, judge_stages, spend_of,
};
use tokio::sync::mpsc::unbounded_channel;

use super::orders::Orders;
use super::side_by_side::{Look, side_by_side};
use super::{Spot, Verifier, external, plugin, semantic};

/// Verifies criteria one after the other. The first that does not accept ends it: its reason is the verdict's.
pub(super) async fn look_at_all(
    verifier: &Verifier,
    criteria: &[Criterion],
    orders: &mut Orders,
) -> Evidence {
    let mut evidence = Evidence::default();
    for criterion in criteria {
        evidence = look_at_next(verifier, criterion, evidence, orders).await;
        if evidence.verdict() != Verdict::Accepted {
            break;
        }
    }
    evidence
}

/// Verifies one more criterion.
pub async fn look_at_next(
    verifier: &Verifier,
    criterion: &Criterion,
    mut evidence: Evidence,
    orders: &mut Orders,
) -> Evidence {
    let place = (evidence.checks.len() + 1).to_string();
    let one = with_retries(verifier, criterion, &Spot { place, before: &evidence.checks }, orders).await;
    evidence.checks.push(one);
    if let Some(broken) = verifier.watch.broken() {
        // What was said since then may have been said by something else.
        verifier.cache.forget();
        evidence.checks.push(broken);
    }
    evidence
}

/// Looks again at what failed, as often as the criterion allows. A stop ends that: nothing is left to look at.
async fn with_retries(
    verifier: &Verifier,
    criterion: &Criterion,
    spot: &Spot<'_>,
    orders: &mut Orders,
) -> CheckEvidence {
    let mut earlier = Vec::new();
    loop {
        let tries = u32::try_from(earlier.len()).unwrap_or(u32::MAX).saturating_add(1);
        let place = if tries == 1 { spot.place.clone() } else { format!("{}-try-{tries}", spot.place) };
        let seen = look(verifier, criterion, &Spot { place, before: spot.before }, orders).await;
        let is_over = || orders.is_stopped() || verifier.watch.broken().is_some();
        if seen.verdict == Verdict::Accepted || tries > criterion.retries || is_over() {
            let name = criterion.name.clone();
            let allowed = criterion.retries.saturating_add(1);
            return after_retries(CheckEvidence { name, ..seen }, &earlier, allowed);
        }
        earlier.push(seen);
    }
}

/// Looks once.
async fn look(
    verifier: &Verifier,
    criterion: &Criterion,
    spot: &Spot<'_>,
    orders: &mut Orders,
) -> CheckEvidence {
    match &criterion.method {
        Method::StringMatch => CheckEvidence::plain(
            Kind::StringMatch,
            criterion.method.shown(),
            Verdict::Accepted,
            "Promise found in output".to_owned(),
        ),
        Method::External(check) => {
            let log = format!("{}.check-{}.log", verifier.name, spot.place);
            let seen = external::check(verifier, check, log, orders).await;
            if !seen.cached {
                verifier.watch.look(orders).await;
            }
            seen
        }
        Method::Semantic(check) => semantic::check(verifier, check, spot, orders).await,
        Method::Plugin(check) => {
            let seen = plugin::check(verifier, check, (spot, criterion.name.as_deref()), orders).await;
            verifier.watch.look(orders).await;
            seen
        }
        Method::MultiStage(staged) => stages(verifier, staged, spot, orders).await,
    }
}

/// Stages may have stages of their own.
fn stages<'a>(
    verifier: &'a Verifier,
    staged: &'a StagedCheck,
    spot: &'a Spot<'_>,
    orders: &'a mut Orders,
) -> Look<'a, CheckEvidence> {
    Box::pin(async move {
        let began = Instant::now();
        let mut seen: Vec<CheckEvidence> = Vec::new();
        for group in staged.groups() {
            let before = [spot.before, &seen].concat();
            let first = Place { of: &spot.place, number: seen.len() + 1, before: &before };
            seen.extend(one_group(verifier, group, &first, orders).await);
            let is_over = orders.is_stopped() || verifier.watch.broken().is_some();
            if is_settled(staged.require_all, &seen) || is_over {
                break;
            }
        }
        let (verdict, reason) = judge_stages(staged.require_all, &seen);
        let failed = seen.iter().find(|stage| stage.required && stage.verdict != Verdict::Accepted);
        let shown = Method::MultiStage(staged.clone()).shown();
        CheckEvidence {
            tail: failed.map(|stage| stage.tail.clone()).unwrap_or_default(),
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            leftovers: seen.iter().map(|stage| stage.leftovers).sum(),
            unverified: seen.iter().any(|stage| stage.unverified),
            spend: spend_of(&seen),
            stages: seen,
            ..CheckEvidence::plain(Kind::MultiStage, shown, verdict, reason)
        }
    })
}

/// Where the stages of a group stand.
struct Place<'a> {
    of: &'a str,
    /// The number of the first one.
    number: usize,
    before: &'a [CheckEvidence],
}

async fn one_group(
    verifier: &Verifier,
    group: &[Stage],
    first: &Place<'_>,
    orders: &mut Orders,
) -> Vec<CheckEvidence> {
    let spot = |number| Spot { place: format!("{}.{number}", first.of), before: first.before };
    if let [stage] = group {
        return vec![one_stage(verifier, stage, spot(first.number), orders).await];
    }
    let (mut told, mut looks): (_, Vec<Look<'_, CheckEvidence>>) = (Vec::new(), Vec::new());
    for (stage, number) in group.iter().zip(first.number..) {
        let (tell, received) = unbounded_channel();
        told.push(tell);
        let spot = spot(number);
        looks.push(Box::pin(async move {
            let mut orders = Orders::new(received);
            one_stage(verifier, stage, spot, &mut orders).await
        }));
    }
    side_by_side(orders, &told, looks).await
}

async fn one_stage(
    verifier: &Verifier,
    Stage { required, criterion }: &Stage,
    spot: Spot<'_>,
    orders: &mut Orders,
) -> CheckEvidence {
    CheckEvidence { required: *required, ..with_retries(verifier, criterion, &spot, orders).await }
}
