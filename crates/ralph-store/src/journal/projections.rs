//! The projections: which rows each fact changes.
use ralph_core::attempt::ModelSpend;
use ralph_core::decision::PersonDecision;
use ralph_core::event::UnixMillis;
use ralph_core::evidence::{CheckEvidence, Verdict, sum_judge_spend};
use ralph_core::fact::{AttemptResult, ClaimFact, Fact};
use ralph_core::outcome::RunEnd;
use ralph_core::receipt::Proof;

use crate::driver::statement::{SqlStatement, sql};
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
        | Fact::AgentReported { .. }
        | Fact::StandingGuidance { .. }
        | Fact::AgentWaiting { .. }
        | Fact::RunRejected { .. }
        | Fact::StopRequested { .. } => vec![],
        Fact::RunAccepted { accepted_by, .. } => project_run_accepted(context, accepted_by),
        Fact::AgentChanged { agent, .. } => {
            vec![sql!("UPDATE runs SET agent_now = $1 WHERE id = $2", agent.as_str(), run)]
        }
        Fact::LimitsChanged { limits } => {
            limits.max_iterations.map(|limit| change_iteration_limit(run, limit)).into_iter().collect()
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
            "UPDATE iterations SET status = $1, duration_ms = $2 WHERE run = $3 AND number = $4",
            status.as_str(),
            *duration_ms,
            run,
            *iteration
        )],
        Fact::Receipt { receipt, sha256 } => vec![sql!(
            "INSERT OR REPLACE INTO receipts (run, at, verified, sha256, body) VALUES ($1, $2, $3, $4, $5)",
            run,
            context.at.0,
            i64::from(receipt.findings.is_verified),
            sha256.as_str(),
            canonical_json(receipt).unwrap_or_default().as_str()
        )],
        Fact::RunFinished { outcome, reason, exit_code, iterations, proof, .. } => {
            let end = RunEnd { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
            let mut statements = project_run_finished(context, &end, *iterations);
            statements.extend(proof.iter().flat_map(|proof| project_proof(run, proof)));
            statements
        }
    }
}

fn project_run_accepted(context: FactContext<'_>, accepted_by: &PersonDecision) -> Vec<SqlStatement> {
    let FactContext { run, at } = context;
    let decision = serde_json::to_string(accepted_by).unwrap_or_default();
    let accept = sql!("UPDATE runs SET accepted_by = $1 WHERE id = $2", decision.as_str(), run);
    vec![accept, task_changes::accept_blocked_stage(run, at)]
}

fn project_claim(run: &str, iteration: u32, claim: &ClaimFact) -> Vec<SqlStatement> {
    let mut statements = vec![sql!(
        "UPDATE iterations SET claimed = $1, claim_why = $2 WHERE run = $3 AND number = $4",
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
        "UPDATE iterations SET verdict = $1, verdict_why = $2 WHERE run = $3 AND number = $4",
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

fn project_run_finished(context: FactContext<'_>, end: &RunEnd, iterations: u32) -> Vec<SqlStatement> {
    let finished = sql!(
        "UPDATE runs SET status = $1, reason = $2, exit_code = $3, ended_at = $4 WHERE id = $5",
        end.outcome.as_str(),
        end.reason.as_str(),
        u32::from(end.exit_code),
        context.at.0,
        context.run
    );
    let mut statements = vec![finished];
    statements.extend(task_changes::record_stage_failure(context.run, end, iterations));
    statements.push(task_changes::end_stage(context.run, end, context.at));
    statements.push(task_changes::clear_stage_failure(context.run));
    statements.push(agent_usage::copy_run_status(context.run));
    statements
}

/// Stores the proof level of a run. A task keeps the best level of its accepted stages.
fn project_proof(run: &str, proof: &Proof) -> [SqlStatement; 2] {
    let word = proof.display_word();
    [
        sql!("UPDATE runs SET proof = $1 WHERE id = $2", word, run),
        sql!(
            "UPDATE tasks SET proof = $1 WHERE id = (SELECT task FROM runs WHERE id = $2)
                AND CASE proof WHEN 'proven' THEN 3 WHEN 'checked' THEN 2 WHEN 'judged' THEN 1 WHEN 'unverified' THEN 0
                    ELSE -1 END
                < CASE $1 WHEN 'proven' THEN 3 WHEN 'checked' THEN 2 WHEN 'judged' THEN 1 ELSE 0 END",
            word,
            run
        ),
    ]
}

/// The limit that the run started with is part of the checksum of its row, and stays.
fn change_iteration_limit(run: &str, limit: u32) -> SqlStatement {
    sql!("UPDATE runs SET max_iterations_now = $1 WHERE id = $2", limit, run)
}

/// Resets the run and its iteration to `running`.
fn project_run_resumed(context: FactContext<'_>, iteration: u32) -> Vec<SqlStatement> {
    let run = context.run;
    vec![
        task_changes::resume_stage(run, context.at),
        sql!("UPDATE runs SET status = 'running', reason = NULL, exit_code = NULL, ended_at = NULL WHERE id = $1", run),
        sql!(
            "UPDATE iterations SET status = 'running', duration_ms = NULL WHERE run = $1 AND number = $2",
            run,
            iteration
        ),
        agent_usage::copy_run_status(run),
    ]
}

fn project_iteration_started(context: FactContext<'_>, iteration: u32) -> Vec<SqlStatement> {
    vec![
        sql!(
            "INSERT INTO iterations (run, number, status, started_at) VALUES ($1, $2, 'running', $3)",
            context.run,
            iteration,
            context.at.0
        ),
        sql!("UPDATE runs SET iterations = $1 WHERE id = $2", iteration, context.run),
    ]
}

fn project_attempt_started(context: FactContext<'_>, iteration: u32, attempt: u32) -> Vec<SqlStatement> {
    vec![
        sql!(
            "INSERT INTO attempts (run, iteration, number, status, started_at) VALUES ($1, $2, $3, 'running', $4)",
            context.run,
            iteration,
            attempt,
            context.at.0
        ),
        sql!("UPDATE iterations SET attempts = $1 WHERE run = $2 AND number = $3", attempt, context.run, iteration),
    ]
}

fn project_attempt_ended(
    context: FactContext<'_>,
    iteration: u32,
    attempt: u32,
    result: &AttemptResult,
) -> Vec<SqlStatement> {
    let ended = sql!(
        "UPDATE attempts SET status = $1, ended_at = $2, failure = $3, session = $4, model = $5, killed = $6, leaked = $7
         WHERE run = $8 AND iteration = $9 AND number = $10",
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
        sql!("UPDATE runs SET rejected = rejected + 1 WHERE id = $1", run),
        agent_usage::count_rejected_claim(run, iteration),
    ]
}

/// Adds the spend of judges, whose cost is also counted separately.
fn add_judge_spend(run: &str, iteration: u32, spend: ModelSpend) -> Vec<SqlStatement> {
    let judge_share = spend.cost_micros.map(|micros| {
        sql!("UPDATE runs SET judges_micros = COALESCE(judges_micros, 0) + $1 WHERE id = $2", micros, run)
    });
    add_spend(run, iteration, spend).into_iter().chain(judge_share).collect()
}

/// Adds the known values to the sums. A value that is unknown everywhere stays NULL.
fn add_spend(run: &str, iteration: u32, spend: ModelSpend) -> [SqlStatement; 2] {
    let ModelSpend { input_tokens: input, output_tokens: output, cost_micros: cost } = spend;
    [
        sql!(
            "UPDATE iterations SET
                input_tokens = CASE WHEN $1 IS NULL THEN input_tokens ELSE COALESCE(input_tokens, 0) + $1 END,
                output_tokens = CASE WHEN $2 IS NULL THEN output_tokens ELSE COALESCE(output_tokens, 0) + $2 END,
                cost_micros = CASE WHEN $3 IS NULL THEN cost_micros ELSE COALESCE(cost_micros, 0) + $3 END
             WHERE run = $4 AND number = $5",
            input,
            output,
            cost,
            run,
            iteration
        ),
        sql!(
            "UPDATE runs SET
                input_tokens = CASE WHEN $1 IS NULL THEN input_tokens ELSE COALESCE(input_tokens, 0) + $1 END,
                output_tokens = CASE WHEN $2 IS NULL THEN output_tokens ELSE COALESCE(output_tokens, 0) + $2 END,
                cost_micros = CASE WHEN $3 IS NULL THEN cost_micros ELSE COALESCE(cost_micros, 0) + $3 END
             WHERE id = $4",
            input,
            output,
            cost,
            run
        ),
    ]
}
