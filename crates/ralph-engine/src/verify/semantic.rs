//! Semantic checks: first negative patterns in the agent's report, then a judge.
use std::time::{Duration, Instant};

use ralph_core::attempt::ModelSpend;
use ralph_core::criterion::{SemanticCheck, VerificationMethod};
use ralph_core::evidence::{CheckEvidence, EvidenceKind, JudgeFinding, JudgeReport, ReasonedVerdict, Verdict};
use ralph_core::judge::{
    JudgeAnswer, JudgeErrorPolicy, JudgeFailure, JudgeMaterial, JudgeRetryDecision, MaterialBoundary, QuotationProblem,
    build_question, decide_verdict, find_negative_pattern, read_answer,
};

use super::external::sanitize_and_redact;
use super::program::PausableDeadline;
use super::verification_control::VerificationControl;
use super::{CheckContext, CheckPosition, SubmittedClaim};
use crate::verify::judges::api_judge::run_until_timeout_or_stop;
use crate::verify::judges::claim_judge::{ClaimJudge, JudgeQuestion, ask_judge};
use crate::verify::judges::diff::diff_worktree;
use ralph_process::RawLog;

/// More than the longest delay before a judge is asked again.
const RETRY_DEADLINE_MARGIN: Duration = Duration::from_secs(60);

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
        // The agent can have caused the failure, so ralph does not use a fallback.
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
    let log_name = format!("{}.check-{}", context.log_prefix, position.label);
    let question = JudgeQuestion { text: &text, model, timeout: judge.timeout, log_name: &log_name };
    let read =
        |text: &str| read_answer(text, &check.check_for, &material, &boundary).map_err(|error| error.to_string());
    let asked = ask_until_verdict(context, judge, &question, read, control).await;
    CheckEvidence {
        duration_ms: u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        log: asked.log.clone(),
        ..conclude_evidence(check, judge, asked, &context.claim)
    }
}

/// The last answer of a judge to a question, and the usage of all its answers.
struct AskedJudge {
    answer: Result<JudgeAnswer, String>,
    model: Option<String>,
    spend: ModelSpend,
    leftovers: u32,
    log: String,
}

/// Asks the judge, and again if it fails or its answer is not a verdict: a retry of the judge is cheaper than another
/// iteration of the agent. Each answer has a separate log.
async fn ask_until_verdict(
    context: &CheckContext,
    judge: &ClaimJudge,
    question: &JudgeQuestion<'_>,
    read: impl Fn(&str) -> Result<JudgeAnswer, String>,
    control: &mut VerificationControl,
) -> AskedJudge {
    let log_name = question.log_name;
    let (mut spend, mut leftovers, mut attempts) = (ModelSpend::default(), 0, 0);
    loop {
        attempts += 1;
        let log = if attempts == 1 { format!("{log_name}.log") } else { format!("{log_name}.attempt-{attempts}.log") };
        let raw_log = RawLog::new(context.log_folder.join(&log), &context.log_budget);
        let reply = ask_judge(context, judge, question, raw_log, control).await;
        spend = spend.add_known(reply.spend);
        leftovers += reply.leftovers;
        let (answer, failure) = split_verdict(&judge.name, reply.text, &read);
        let asked = AskedJudge { answer, model: reply.model, spend, leftovers, log };
        let Some(failure) = failure.filter(|_| !control.is_stopped()) else { return asked };
        match failure.decide_retry(attempts, u64::MAX) {
            JudgeRetryDecision::Retry { after_ms } => {
                if wait_before_retry(after_ms, control).await.is_err() {
                    return asked;
                }
            }
            // An answer whose quotations are invented shows its findings.
            JudgeRetryDecision::GiveUp { .. } if asked.answer.is_ok() => return asked,
            JudgeRetryDecision::GiveUp { reason } => return AskedJudge { answer: Err(reason), ..asked },
        }
    }
}

/// Returns the answer of a judge, and why it is not a verdict.
fn split_verdict(
    judge: &str,
    text: Result<String, JudgeFailure>,
    read: impl Fn(&str) -> Result<JudgeAnswer, String>,
) -> (Result<JudgeAnswer, String>, Option<JudgeFailure>) {
    let answer = match text {
        Ok(text) => read(&text),
        Err(failure) => {
            let failure = failure.with_reason_prefix(&format!("the judge {judge} failed: "));
            return (Err(failure.describe_failure()), Some(failure));
        }
    };
    let unusable = match &answer {
        Err(reason) => Some(reason.clone()),
        Ok(answer) => {
            let ReasonedVerdict { verdict, reason } = decide_verdict(answer);
            (verdict == Verdict::CouldNotEvaluate).then_some(reason)
        }
    };
    (answer, unusable.map(|reason| JudgeFailure::UnusableAnswer { reason }))
}

/// Fails if the run is stopped meanwhile.
async fn wait_before_retry(after_ms: u64, control: &mut VerificationControl) -> Result<(), String> {
    let delay = Duration::from_millis(after_ms);
    // The deadline only bounds the delay, which ends before it.
    let mut deadline = PausableDeadline::new(delay + RETRY_DEADLINE_MARGIN);
    run_until_timeout_or_stop(tokio::time::sleep(delay), &mut deadline, control).await
}

/// Returns the agent's report. If it says that work is open, a note tells the judge.
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
    asked: AskedJudge,
    claim: &SubmittedClaim,
) -> CheckEvidence {
    let AskedJudge { answer, model, spend, leftovers, log: _ } = asked;
    let shown = VerificationMethod::Semantic(check.clone()).summary_line();
    let evidence = |verdict, reason: String| CheckEvidence {
        leftovers,
        spend: Some(spend),
        ..CheckEvidence::without_output(EvidenceKind::Semantic, shown, verdict, sanitize_and_redact(&reason))
    };
    match (answer, judge.on_error, &claim.contradiction) {
        (Ok(answer), _, _) => {
            let ReasonedVerdict { verdict, reason } = decide_verdict(&answer);
            let tail = render_findings(&answer);
            let judgement = JudgeReport {
                judge: judge.name.clone(),
                model: model.as_deref().map(sanitize_and_redact),
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
