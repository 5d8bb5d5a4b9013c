//! Semantic checks: patterns in the agent's own words, then a judge.
use std::time::Instant;

use ralph_core::criterion::{Method, SemanticCheck};
use ralph_core::evidence::{CheckEvidence, Finding, Judgement, Kind, Verdict};
use ralph_core::judge::{
    Answer, Fence, Lack, Material, OnError, found_negative, question, read_answer, weigh,
};

use super::diff::diff;
use super::external::harmless;
use super::judge::{Judge, Said, ask};
use super::orders::Orders;
use super::{Spot, Verifier};
use ralph_process::RawLog;

/// Looks at the agent's words first; where there is something to judge, asks the judge.
pub(super) async fn check(
    verifier: &Verifier,
    check: &SemanticCheck,
    spot: &Spot<'_>,
    orders: &mut Orders,
) -> CheckEvidence {
    let plain = |verdict, reason: String| {
        let shown = Method::Semantic(check.clone()).shown();
        CheckEvidence::plain(Kind::Semantic, shown, verdict, harmless(&reason))
    };
    if let Some(pattern) = found_negative(&check.negative_patterns, &verifier.claim.report) {
        return plain(Verdict::Rejected, format!("Found negative pattern: {pattern}"));
    }
    if check.check_for.is_empty() {
        return plain(
            Verdict::Accepted,
            "No negative pattern was found, and there was nothing to judge".to_owned(),
        );
    }
    match &verifier.judge {
        Some(judge) => judged(verifier, judge, (check, spot), orders).await,
        None => plain(Verdict::CouldNotEvaluate, "the run has no judge".to_owned()),
    }
}

async fn judged(
    verifier: &Verifier,
    judge: &Judge,
    (check, spot): (&SemanticCheck, &Spot<'_>),
    orders: &mut Orders,
) -> CheckEvidence {
    let began = Instant::now();
    let shown = || Method::Semantic(check.clone()).shown();
    let blind = |why: String| {
        CheckEvidence::plain(Kind::Semantic, shown(), Verdict::CouldNotEvaluate, harmless(&why))
    };
    let diff = match diff(verifier, &judge.base, orders).await {
        // Whoever did the work can have caused it: nothing else is believed instead.
        Err(why) => return blind(format!("git could not tell what was changed: {why}")),
        Ok(_) if orders.is_stopped() => {
            return blind("the judge was not asked: the run was stopped".to_owned());
        }
        Ok(diff) => diff,
    };
    let material = Material::of(&harmless(&verifier.claim.report), &harmless(&diff), spot.before);
    let fence = Fence::of(uuid::Uuid::new_v4().as_u128());
    let question = question(&check.check_for, &material, &fence);
    let log = format!("{}.check-{}.log", verifier.name, spot.place);
    let raw = RawLog::new(verifier.folder.join(&log), &verifier.logs);
    let said = ask(verifier, judge, (&question, check.model.as_deref()), raw, orders).await;
    let answer = match &said.text {
        Ok(text) => read_answer(text, &check.check_for, &material, &fence).map_err(|error| error.to_string()),
        Err(why) => Err(format!("the judge {} failed: {why}", judge.name)),
    };
    CheckEvidence {
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        log,
        ..concluded(check, judge, &said, answer)
    }
}

fn concluded(
    check: &SemanticCheck,
    judge: &Judge,
    said: &Said,
    answer: Result<Answer, String>,
) -> CheckEvidence {
    let shown = Method::Semantic(check.clone()).shown();
    let evidence = |verdict, reason: String| CheckEvidence {
        leftovers: said.leftovers,
        spend: Some(said.spend),
        ..CheckEvidence::plain(Kind::Semantic, shown, verdict, harmless(&reason))
    };
    match (answer, judge.on_error) {
        (Ok(answer), _) => {
            let (verdict, reason) = weigh(&answer);
            let tail = told(&answer);
            let judgement = Judgement {
                judge: judge.name.clone(),
                model: said.model.as_deref().map(harmless),
                findings: safe(answer),
            };
            CheckEvidence { judgement: Some(judgement), tail, ..evidence(verdict, reason) }
        }
        (Err(why), OnError::Reject) => evidence(Verdict::CouldNotEvaluate, why),
        (Err(why), OnError::StringMatch) => CheckEvidence {
            unverified: true,
            ..evidence(Verdict::Accepted, format!("unverified, by the promise alone: {why}"))
        },
    }
}

/// Tells the agent what was found, one line a criterion.
fn told(answer: &Answer) -> String {
    let lines = answer.findings.iter().map(|finding| {
        let criterion = &finding.criterion;
        match answer.lack(criterion) {
            None => {
                let met = if finding.met { "met" } else { "not met" };
                format!("{criterion}: {met}. {}", finding.reason)
            }
            Some(lack @ (Lack::Word | Lack::Removed)) => {
                format!("{criterion}: not evident. {}", lack.words())
            }
            Some(lack @ (Lack::Invented | Lack::Short)) => {
                format!("{criterion}: not judged. the quotation {}", lack.words())
            }
        }
    });
    harmless(&lines.collect::<Vec<_>>().join("\n"))
}

/// A judge repeats what it was shown, and may say anything.
fn safe(answer: Answer) -> Vec<Finding> {
    let mut findings = answer.findings;
    for finding in &mut findings {
        finding.quotation = harmless(&finding.quotation);
        finding.reason = harmless(&finding.reason);
    }
    findings
}
