//! The projections: which rows each fact changes.
use ralph_core::attempt::ModelSpend;
use ralph_core::event::UnixMillis;
use ralph_core::evidence::{CheckEvidence, Verdict, sum_judge_spend};
use ralph_core::fact::{AttemptResult, ClaimFact, Fact};
use ralph_core::outcome::RunEnd;

use crate::driver::statement_batch::{SqlStatement, sql};
use crate::journal::agent_usage;
use crate::journal::receipt_file::canonical_json;
use crate::journal::verdict_rows;
use crate::tasks::task_changes;

/// The run and the time of a fact.
#[derive(Clone, Copy)]
pub(crate) struct FactContext<'a> {
    pub(crate) run: &'a str,
    pub(crate) at: UnixMillis,
}

/// Returns the statements for one fact.
pub(crate) fn project_fact(context: FactContext<'_>, fact: &Fact) -> Vec<SqlStatement> {
    let run = context.run;
    match fact {
        Fact::RunStarted { .. }
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::RetryScheduled { .. }
        | Fact::LimitWaiting { .. }
        | Fact::SessionFresh { .. }
        | Fact::RunPaused { .. }
        | Fact::RunGuided { .. }
        | Fact::StopRequested { .. } => vec![],
        Fact::AgentChanged { agent, .. } => {
            vec![sql!("UPDATE runs SET agent_now = ? WHERE id = ?", agent.as_str(), run)]
        }
        Fact::RunResumed { iteration, .. } => project_run_resumed(context, *iteration),
        Fact::IterationStarted { iteration } => project_iteration_started(context, *iteration),
        Fact::AttemptStarted { iteration, attempt } => project_attempt_started(context, *iteration, *attempt),
        Fact::AttemptEnded { iteration, attempt, result } => {
            project_attempt_ended(context, *iteration, *attempt, result)
        }
        Fact::Claim { iteration, claim } => project_claim(run, *iteration, claim),
        Fact::Verdict { iteration, verdict, reason, checks } => {
            project_verdict(run, *iteration, *verdict, reason, checks)
        }
        Fact::IterationEnded { iteration, status, duration_ms } => vec![sql!(
            "UPDATE iterations SET status = ?, duration_ms = ? WHERE run = ? AND number = ?",
            status.as_str(),
            *duration_ms,
            run,
            *iteration
        )],
        Fact::Receipt { receipt, sha256 } => vec![sql!(
            "INSERT OR REPLACE INTO receipts (run, at, verified, sha256, body) VALUES (?, ?, ?, ?, ?)",
            run,
            context.at.0,
            i64::from(receipt.findings.is_verified),
            sha256.as_str(),
            canonical_json(receipt).unwrap_or_default().as_str()
        )],
        Fact::RunFinished { outcome, reason, exit_code, .. } => {
            let end = RunEnd { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
            project_run_finished(context, &end)
        }
    }
}

fn project_claim(run: &str, iteration: u32, claim: &ClaimFact) -> Vec<SqlStatement> {
    let mut statements = vec![sql!(
        "UPDATE iterations SET claimed = ?, claim_why = ? WHERE run = ? AND number = ?",
        i64::from(claim.claimed),
        claim.why.as_str(),
        run,
        iteration
    )];
    if claim.claimed && !claim.accepted {
        statements.extend(count_rejected_claim(run, iteration));
    }
    statements
}

fn project_verdict(
    run: &str,
    iteration: u32,
    verdict: Verdict,
    reason: &str,
    checks: &[CheckEvidence],
) -> Vec<SqlStatement> {
    let mut statements = vec![sql!(
        "UPDATE iterations SET verdict = ?, verdict_why = ? WHERE run = ? AND number = ?",
        verdict.as_str(),
        reason,
        run,
        iteration
    )];
    statements.extend(verdict_rows::insert_checks(run, iteration, checks));
    if let Some(spend) = sum_judge_spend(checks).filter(|spend| *spend != ModelSpend::default()) {
        statements.extend(add_judge_spend(run, iteration, spend));
    }
    if verdict == Verdict::Rejected {
        statements.extend(count_rejected_claim(run, iteration));
    }
    statements
}

fn project_run_finished(context: FactContext<'_>, end: &RunEnd) -> Vec<SqlStatement> {
    let finished = sql!(
        "UPDATE runs SET status = ?, reason = ?, exit_code = ?, ended_at = ? WHERE id = ?",
        end.outcome.as_str(),
        end.reason.as_str(),
        u32::from(end.exit_code),
        context.at.0,
        context.run
    );
    vec![finished, task_changes::end_stage(context.run, end, context.at), agent_usage::copy_run_status(context.run)]
}

/// Resets the run and its iteration to `running`.
fn project_run_resumed(context: FactContext<'_>, iteration: u32) -> Vec<SqlStatement> {
    let run = context.run;
    let [task] = task_changes::resume_stage(run, context.at);
    vec![
        task,
        sql!("UPDATE runs SET status = 'running', reason = NULL, exit_code = NULL, ended_at = NULL WHERE id = ?", run),
        sql!(
            "UPDATE iterations SET status = 'running', duration_ms = NULL WHERE run = ? AND number = ?",
            run,
            iteration
        ),
        agent_usage::copy_run_status(run),
    ]
}

fn project_iteration_started(context: FactContext<'_>, iteration: u32) -> Vec<SqlStatement> {
    vec![
        sql!(
            "INSERT INTO iterations (run, number, status, started_at) VALUES (?, ?, 'running', ?)",
            context.run,
            iteration,
            context.at.0
        ),
        sql!("UPDATE runs SET iterations = ? WHERE id = ?", iteration, context.run),
    ]
}

fn project_attempt_started(context: FactContext<'_>, iteration: u32, attempt: u32) -> Vec<SqlStatement> {
    vec![
        sql!(
            "INSERT INTO attempts (run, iteration, number, status, started_at) VALUES (?, ?, ?, 'running', ?)",
            context.run,
            iteration,
            attempt,
            context.at.0
        ),
        sql!("UPDATE iterations SET attempts = ? WHERE run = ? AND number = ?", attempt, context.run, iteration),
    ]
}

fn project_attempt_ended(
    context: FactContext<'_>,
    iteration: u32,
    attempt: u32,
    result: &AttemptResult,
) -> Vec<SqlStatement> {
    let ended = sql!(
        "UPDATE attempts SET status = ?, ended_at = ?, failure = ?, session = ?, model = ?, killed = ?, leaked = ?
         WHERE run = ? AND iteration = ? AND number = ?",
        result.status.as_str(),
        context.at.0,
        result.failure.as_deref(),
        result.session.as_deref(),
        result.model.as_deref(),
        result.leftovers.killed,
        result.leftovers.leaked.len() as u64,
        context.run,
        iteration,
        attempt
    );
    let mut statements = vec![ended, agent_usage::add_attempt(context, iteration, attempt, result)];
    if result.spend != ModelSpend::default() {
        statements.extend(add_spend(context.run, iteration, result.spend));
    }
    statements
}

fn count_rejected_claim(run: &str, iteration: u32) -> [SqlStatement; 2] {
    [
        sql!("UPDATE runs SET rejected = rejected + 1 WHERE id = ?", run),
        agent_usage::count_rejected_claim(run, iteration),
    ]
}

/// Adds the spend of judges, whose cost is also counted separately.
fn add_judge_spend(run: &str, iteration: u32, spend: ModelSpend) -> Vec<SqlStatement> {
    let judge_share = spend
        .cost_micros
        .map(|micros| sql!("UPDATE runs SET judges_micros = COALESCE(judges_micros, 0) + ? WHERE id = ?", micros, run));
    add_spend(run, iteration, spend).into_iter().chain(judge_share).collect()
}

/// Adds the known values to the sums. A value that is unknown everywhere stays NULL.
fn add_spend(run: &str, iteration: u32, spend: ModelSpend) -> [SqlStatement; 2] {
    let ModelSpend { input_tokens: input, output_tokens: output, cost_micros: cost } = spend;
    [
        sql!(
            "UPDATE iterations SET
                input_tokens = CASE WHEN ? IS NULL THEN input_tokens ELSE COALESCE(input_tokens, 0) + ? END,
                output_tokens = CASE WHEN ? IS NULL THEN output_tokens ELSE COALESCE(output_tokens, 0) + ? END,
                cost_micros = CASE WHEN ? IS NULL THEN cost_micros ELSE COALESCE(cost_micros, 0) + ? END
             WHERE run = ? AND number = ?",
            input,
            input,
            output,
            output,
            cost,
            cost,
            run,
            iteration
        ),
        sql!(
            "UPDATE runs SET
                input_tokens = CASE WHEN ? IS NULL THEN input_tokens ELSE COALESCE(input_tokens, 0) + ? END,
                output_tokens = CASE WHEN ? IS NULL THEN output_tokens ELSE COALESCE(output_tokens, 0) + ? END,
                cost_micros = CASE WHEN ? IS NULL THEN cost_micros ELSE COALESCE(cost_micros, 0) + ? END
             WHERE id = ?",
            input,
            input,
            output,
            output,
            cost,
            cost,
            run
        ),
    ]
}
