//! Criteria one after the other, stages inside them, and failures that are looked at again.
use std::time::Instant;

use ralph_core::criterion::{Criterion, Method, Stage, StagedCheck};
use ralph_core::evidence::{CheckEvidence, Evidence, Kind, Verdict, is_settled, judge_stages};
use tokio::sync::mpsc::UnboundedReceiver;

use super::{Verifier, external};
use crate::process::Order;

/// Verifies criteria one after the other. The first that does not accept ends it: its reason is the verdict's.
pub async fn verify(
    verifier: &Verifier,
    criteria: &[Criterion],
    orders: &mut UnboundedReceiver<Order>,
) -> Evidence {
    let mut evidence = Evidence::default();
    for (criterion, position) in criteria.iter().zip(1_u32..) {
        let one = with_retries(verifier, criterion, position.to_string(), orders).await;
        let accepted = one.verdict == Verdict::Accepted;
        evidence.checks.push(one);
        if !accepted {
            break;
        }
    }
    evidence
}

/// Looks again at what failed, as often as the criterion allows. A stop ends that: nothing is left to look at.
async fn with_retries(
    verifier: &Verifier,
    criterion: &Criterion,
    place: String,
    orders: &mut UnboundedReceiver<Order>,
) -> CheckEvidence {
    let mut tries = 1;
    loop {
        let place = if tries == 1 { place.clone() } else { format!("{place}-try-{tries}") };
        let seen = look(verifier, &criterion.method, &place, orders).await;
        if seen.verdict == Verdict::Accepted || tries > criterion.retries {
            return CheckEvidence { name: criterion.name.clone(), tries, ..seen };
        }
        tries += 1;
    }
}

/// Looks once. `place` is the number of the criterion; stages have theirs after a dot.
async fn look(
    verifier: &Verifier,
    method: &Method,
    place: &str,
    orders: &mut UnboundedReceiver<Order>,
) -> CheckEvidence {
    match method {
        Method::StringMatch => CheckEvidence::plain(
            Kind::StringMatch,
            method.shown(),
            Verdict::Accepted,
            "Promise found in output".to_owned(),
        ),
        Method::External(check) => {
            external::check(verifier, check, format!("{}.check-{place}.log", verifier.name), orders).await
        }
        Method::MultiStage(staged) => Box::pin(stages(verifier, staged, place, orders)).await,
        Method::Semantic(_) | Method::Plugin(_) => CheckEvidence::plain(
            Kind::Semantic,
            method.shown(),
            Verdict::CouldNotEvaluate,
            "this version cannot verify it".to_owned(),
        ),
    }
}

async fn stages(
    verifier: &Verifier,
    staged: &StagedCheck,
    place: &str,
    orders: &mut UnboundedReceiver<Order>,
) -> CheckEvidence {
    let began = Instant::now();
    let mut seen = Vec::new();
    for (Stage { required, criterion }, position) in staged.stages.iter().zip(1_u32..) {
        let stage = with_retries(verifier, criterion, format!("{place}.{position}"), orders).await;
        seen.push(CheckEvidence { required: *required, ..stage });
        if is_settled(staged.require_all, &seen) {
            break;
        }
    }
    let (verdict, reason) = judge_stages(staged.require_all, &seen);
    let failed = seen.iter().find(|stage| stage.required && stage.verdict != Verdict::Accepted);
    CheckEvidence {
        tail: failed.map(|stage| stage.tail.clone()).unwrap_or_default(),
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        leftovers: seen.iter().map(|stage| stage.leftovers).sum(),
        stages: seen,
        ..CheckEvidence::plain(Kind::MultiStage, Method::MultiStage(staged.clone()).shown(), verdict, reason)
    }
}
