//! Semantic checks: patterns in the agent's own words, then a judge.
use std::time::Instant;

use ralph_core::criterion::{SemanticCheck, VerificationMethod};
use ralph_core::evidence::{CheckEvidence, EvidenceKind, JudgeFinding, JudgeReport, Verdict};
use ralph_core::judge::{
    JudgeAnswer, JudgeErrorPolicy, JudgeMaterial, MaterialBoundary, QuotationProblem, build_question, decide_verdict,
    find_negative_pattern, read_answer,
};

use super::diff::diff_worktree;
use super::external::sanitize_and_redact;
use super::judge::{ClaimJudge, JudgeReply, ask_judge};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition};
use ralph_process::RawLog;

/// Looks at the agent's words first; where there is something to judge, asks the judge.
pub(super) async fn run_semantic_check(
    context: &CheckContext,
    check: &SemanticCheck,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let plain = |verdict, reason: String| {
        let shown = VerificationMethod::Semantic(check.clone()).summary_line();
        CheckEvidence::without_output(EvidenceKind::Semantic, shown, verdict, sanitize_and_redact(&reason))
    };
    if let Some(pattern) = find_negative_pattern(&check.negative_patterns, &context.claim.report) {
        return plain(Verdict::Rejected, format!("Found negative pattern: {pattern}"));
    }
    if check.check_for.is_empty() {
        return plain(Verdict::Accepted, "No negative pattern was found, and there was nothing to judge".to_owned());
    }
    match &context.judge {
        Some(judge) => run_judge(context, judge, (check, position), control).await,
        None => plain(Verdict::CouldNotEvaluate, "the run has no judge".to_owned()),
    }
}

async fn run_judge(
    context: &CheckContext,
    judge: &ClaimJudge,
    (check, position): (&SemanticCheck, &CheckPosition<'_>),
    control: &mut VerificationControl,
) -> CheckEvidence {
    let began = Instant::now();
    let shown = || VerificationMethod::Semantic(check.clone()).summary_line();
    let blind = |why: String| {
        CheckEvidence::without_output(
            EvidenceKind::Semantic,
            shown(),
            Verdict::CouldNotEvaluate,
            sanitize_and_redact(&why),
        )
    };
    let diff = match diff_worktree(context, &judge.base, control).await {
        // Whoever did the work can have caused it: nothing else is believed instead.
        Err(why) => return blind(format!("git could not tell what was changed: {why}")),
        Ok(_) if control.is_stopped() => {
            return blind("the judge was not asked: the run was stopped".to_owned());
        }
        Ok(diff) => diff,
    };
    let material = JudgeMaterial::new(
        &sanitize_and_redact(&context.claim.report),
        &sanitize_and_redact(&diff),
        position.earlier_evidence,
    );
    let fence = MaterialBoundary::from_random(uuid::Uuid::new_v4().as_u128());
    let question = build_question(&check.check_for, &material, &fence);
    let log = format!("{}.check-{}.log", context.log_prefix, position.label);
    let raw = RawLog::new(context.log_folder.join(&log), &context.log_budget);
    let said = ask_judge(context, judge, (&question, check.model.as_deref()), raw, control).await;
    let answer = match &said.text {
        Ok(text) => read_answer(text, &check.check_for, &material, &fence).map_err(|error| error.to_string()),
        Err(why) => Err(format!("the judge {} failed: {why}", judge.name)),
    };
    CheckEvidence {
        duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        log,
        ..conclude_evidence(check, judge, &said, answer)
    }
}

fn conclude_evidence(
    check: &SemanticCheck,
    judge: &ClaimJudge,
    reply: &JudgeReply,
    answer: Result<JudgeAnswer, String>,
) -> CheckEvidence {
    let shown = VerificationMethod::Semantic(check.clone()).summary_line();
    let evidence = |verdict, reason: String| CheckEvidence {
        leftovers: reply.leftovers,
        spend: Some(reply.spend),
        ..CheckEvidence::without_output(EvidenceKind::Semantic, shown, verdict, sanitize_and_redact(&reason))
    };
    match (answer, judge.on_error) {
        (Ok(answer), _) => {
            let (verdict, reason) = decide_verdict(&answer);
            let tail = render_findings(&answer);
            let judgement = JudgeReport {
                judge: judge.name.clone(),
                model: reply.model.as_deref().map(sanitize_and_redact),
                findings: sanitize_findings(answer),
            };
            CheckEvidence { judgement: Some(judgement), tail, ..evidence(verdict, reason) }
        }
        (Err(why), JudgeErrorPolicy::Reject) => evidence(Verdict::CouldNotEvaluate, why),
        (Err(why), JudgeErrorPolicy::StringMatch) => CheckEvidence {
            unverified: true,
            ..evidence(Verdict::Accepted, format!("unverified, by the promise alone: {why}"))
        },
    }
}

/// Tells the agent what was found, one line a criterion.
fn render_findings(answer: &JudgeAnswer) -> String {
    let lines = answer.findings.iter().map(|finding| {
        let criterion = &finding.criterion;
        match answer.quotation_problem(criterion) {
            None => {
                let met = if finding.met { "met" } else { "not met" };
                format!("{criterion}: {met}. {}", finding.reason)
            }
            Some(lack @ (QuotationProblem::OnlyInReport | QuotationProblem::OnlyInRemovedLines)) => {
                format!("{criterion}: not evident. {}", lack.as_phrase())
            }
            Some(lack @ (QuotationProblem::NotInMaterial | QuotationProblem::TooShort)) => {
                format!("{criterion}: not judged. the quotation {}", lack.as_phrase())
            }
        }
    });
    sanitize_and_redact(&lines.collect::<Vec<_>>().join("\n"))
}

/// A judge repeats what it was shown, and may say anything.
fn sanitize_findings(answer: JudgeAnswer) -> Vec<JudgeFinding> {
    let mut findings = answer.findings;
    for finding in &mut findings {
        finding.quotation = sanitize_and_redact(&finding.quotation);
        finding.reason = sanitize_and_redact(&finding.reason);
    }
    findings
}
