//! Semantic checks: first negative patterns in the agent's report, then a judge.
use std::time::Instant;

use ralph_core::criterion::{SemanticCheck, VerificationMethod};
use ralph_core::evidence::{CheckEvidence, EvidenceKind, JudgeFinding, JudgeReport, ReasonedVerdict, Verdict};
use ralph_core::judge::{
    JudgeAnswer, JudgeErrorPolicy, JudgeMaterial, MaterialBoundary, QuotationProblem, build_question, decide_verdict,
    find_negative_pattern, read_answer,
};

use super::diff::diff_worktree;
use super::external::sanitize_and_redact;
use super::judge::{ClaimJudge, JudgeQuestion, JudgeReply, ask_judge};
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition, SubmittedClaim};
use ralph_process::RawLog;

/// Searches the agent's report for negative patterns, then asks the judge if there is something to judge.
pub(super) async fn run_semantic_check(
    context: &CheckContext,
    check: &SemanticCheck,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let evidence = |verdict, reason: String| {
        let shown = VerificationMethod::Semantic(check.clone()).summary_line();
        CheckEvidence::without_output(EvidenceKind::Semantic, shown, verdict, sanitize_and_redact(&reason))
    };
    if let Some(pattern) = find_negative_pattern(&check.negative_patterns, &context.claim.report) {
        return evidence(Verdict::Rejected, format!("Found negative pattern: {pattern}"));
    }
    if check.check_for.is_empty() {
        return evidence(Verdict::Accepted, "No negative pattern was found, and there was nothing to judge".to_owned());
    }
    match &context.judge {
        Some(judge) => run_judge(context, judge, check, position, control).await,
        None => evidence(Verdict::CouldNotEvaluate, "the run has no judge".to_owned()),
    }
}

async fn run_judge(
    context: &CheckContext,
    judge: &ClaimJudge,
    check: &SemanticCheck,
    position: &CheckPosition<'_>,
    control: &mut VerificationControl,
) -> CheckEvidence {
    let started = Instant::now();
    let could_not_evaluate = |reason: String| {
        CheckEvidence::without_output(
            EvidenceKind::Semantic,
            VerificationMethod::Semantic(check.clone()).summary_line(),
            Verdict::CouldNotEvaluate,
            sanitize_and_redact(&reason),
        )
    };
    let diff = match diff_worktree(context, &judge.base, control).await {
        // The agent can have caused the failure, so there is no fallback.
        Err(reason) => return could_not_evaluate(format!("git could not determine the changes: {reason}")),
        Ok(_) if control.is_stopped() => {
            return could_not_evaluate("the judge was not asked: the run was stopped".to_owned());
        }
        Ok(diff) => diff,
    };
    let material = JudgeMaterial::new(
        &sanitize_and_redact(&report_for_judge(&context.claim)),
        &sanitize_and_redact(&diff),
        position.earlier_evidence,
    );
    let boundary = MaterialBoundary::from_random(uuid::Uuid::new_v4().as_u128());
    let text = build_question(&check.check_for, &material, &boundary);
    let model = check.model.as_deref().or(judge.model.as_deref());
    let question = JudgeQuestion { text: &text, model, timeout: judge.timeout };
    let log = format!("{}.check-{}.log", context.log_prefix, position.label);
    let raw_log = RawLog::new(context.log_folder.join(&log), &context.log_budget);
    let reply = ask_judge(context, judge, &question, raw_log, control).await;
    let answer = match &reply.text {
        Ok(text) => read_answer(text, &check.check_for, &material, &boundary).map_err(|error| error.to_string()),
        Err(reason) => Err(format!("the judge {} failed: {reason}", judge.name)),
    };
    CheckEvidence {
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        log,
        ..conclude_evidence(check, judge, &reply, answer, &context.claim)
    }
}

/// Returns the agent's report. If it says that work is open, the judge is told.
fn report_for_judge(claim: &SubmittedClaim) -> String {
    let report = &claim.report;
    match &claim.contradiction {
        None => report.clone(),
        Some(open) => format!("{report}\n\n[ralph: this report claims completion, but it also says: {open}]"),
    }
}

fn conclude_evidence(
    check: &SemanticCheck,
    judge: &ClaimJudge,
    reply: &JudgeReply,
    answer: Result<JudgeAnswer, String>,
    claim: &SubmittedClaim,
) -> CheckEvidence {
    let shown = VerificationMethod::Semantic(check.clone()).summary_line();
    let evidence = |verdict, reason: String| CheckEvidence {
        leftovers: reply.leftovers,
        spend: Some(reply.spend),
        ..CheckEvidence::without_output(EvidenceKind::Semantic, shown, verdict, sanitize_and_redact(&reason))
    };
    match (answer, judge.on_error, &claim.contradiction) {
        (Ok(answer), _, _) => {
            let ReasonedVerdict { verdict, reason } = decide_verdict(&answer);
            let tail = render_findings(&answer);
            let judgement = JudgeReport {
                judge: judge.name.clone(),
                model: reply.model.as_deref().map(sanitize_and_redact),
                findings: sanitize_findings(answer),
            };
            CheckEvidence { judgement: Some(judgement), tail, ..evidence(verdict, reason) }
        }
        (Err(reason), JudgeErrorPolicy::Reject, _) => evidence(Verdict::CouldNotEvaluate, reason),
        // Without the judge, the claim alone would decide.
        (Err(reason), JudgeErrorPolicy::StringMatch, Some(open)) => evidence(
            Verdict::Rejected,
            format!("the message that claims completion also says: {open} (the judge could not decide: {reason})"),
        ),
        (Err(reason), JudgeErrorPolicy::StringMatch, None) => CheckEvidence {
            unverified: true,
            ..evidence(Verdict::Accepted, format!("unverified, by the promise alone: {reason}"))
        },
    }
}

/// Renders the findings for the agent, one line per criterion.
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

/// Removes control codes and secrets: a judge may quote any of its input.
fn sanitize_findings(answer: JudgeAnswer) -> Vec<JudgeFinding> {
    let mut findings = answer.findings;
    for finding in &mut findings {
        finding.quotation = sanitize_and_redact(&finding.quotation);
        finding.reason = sanitize_and_redact(&finding.reason);
    }
    findings
}
