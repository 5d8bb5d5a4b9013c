//! The projections: what each fact changes in the tables that people read.
use ralph_core::attempt::Spend;
use ralph_core::event::Millis;
use ralph_core::evidence::{CheckEvidence, Verdict, spend_of};
use ralph_core::fact::{AttemptResult, ClaimFact, Fact};
use ralph_core::outcome::Ended;

use super::batch::{Statement, sql};
use super::seen;
use super::shares;
use super::tasks;
use crate::receipt::canonical;

/// Where and when a fact happened.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) run: &'a str,
    pub(super) at: Millis,
}

/// Returns what one fact changes.
pub(super) fn project(at: At<'_>, fact: &Fact) -> Vec<Statement> {
    let run = at.run;
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
        Fact::RunResumed { iteration, .. } => run_resumed(at, *iteration),
        Fact::IterationStarted { iteration } => iteration_started(at, *iteration),
        Fact::AttemptStarted { iteration, attempt } => attempt_started(at, *iteration, *attempt),
        Fact::AttemptEnded { iteration, attempt, result } => {
            attempt_ended(at, (*iteration, *attempt), result)
        }
        Fact::Claim { iteration, claim } => claimed((run, *iteration), claim),
        Fact::Verdict { iteration, verdict, reason, checks } => {
            judged((run, *iteration), (*verdict, reason), checks)
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
            at.at.0,
            i64::from(receipt.told.is_verified),
            sha256.as_str(),
            canonical(receipt).unwrap_or_default().as_str()
        )],
        Fact::RunFinished { outcome, reason, exit_code, .. } => {
            let end = Ended { outcome: *outcome, reason: reason.clone(), exit_code: *exit_code };
            run_finished(at, &end)
        }
    }
}

fn claimed((run, iteration): (&str, u32), claim: &ClaimFact) -> Vec<Statement> {
    let mut statements = vec![sql!(
        "UPDATE iterations SET claimed = ?, claim_why = ? WHERE run = ? AND number = ?",
        i64::from(claim.claimed),
        claim.why.as_str(),
        run,
        iteration
    )];
    if claim.claimed && !claim.accepted {
        statements.extend(rejected(run, iteration));
    }
    statements
}

fn judged(
    (run, iteration): (&str, u32),
    (verdict, reason): (Verdict, &str),
    checks: &[CheckEvidence],
) -> Vec<Statement> {
    let mut statements = vec![sql!(
        "UPDATE iterations SET verdict = ?, verdict_why = ? WHERE run = ? AND number = ?",
        verdict.as_str(),
        reason,
        run,
        iteration
    )];
    statements.extend(seen::checks((run, iteration), checks));
    if let Some(spend) = spend_of(checks).filter(|spend| *spend != Spend::default()) {
        statements.extend(judges_spent(run, iteration, spend));
    }
    if verdict == Verdict::Rejected {
        statements.extend(rejected(run, iteration));
    }
    statements
}

fn run_finished(at: At<'_>, end: &Ended) -> Vec<Statement> {
    let finished = sql!(
        "UPDATE runs SET status = ?, reason = ?, exit_code = ?, ended_at = ? WHERE id = ?",
        end.outcome.as_str(),
        end.reason.as_str(),
        u32::from(end.exit_code),
        at.at.0,
        at.run
    );
    vec![finished, tasks::ended(at.run, end, at.at), shares::moved(at.run)]
}

/// What a signal had ended goes on.
fn run_resumed(at: At<'_>, iteration: u32) -> Vec<Statement> {
    let run = at.run;
    let [task] = tasks::taken_up(run, at.at);
    vec![
        task,
        sql!(
            "UPDATE runs SET status = 'running', reason = NULL, exit_code = NULL, ended_at = NULL WHERE id = ?",
            run
        ),
        sql!(
            "UPDATE iterations SET status = 'running', duration_ms = NULL WHERE run = ? AND number = ?",
            run,
            iteration
        ),
        shares::moved(run),
    ]
}

fn iteration_started(at: At<'_>, iteration: u32) -> Vec<Statement> {
    vec![
        sql!(
            "INSERT INTO iterations (run, number, status, started_at) VALUES (?, ?, 'running', ?)",
            at.run,
            iteration,
            at.at.0
        ),
        sql!("UPDATE runs SET iterations = ? WHERE id = ?", iteration, at.run),
    ]
}

fn attempt_started(at: At<'_>, iteration: u32, attempt: u32) -> Vec<Statement> {
    vec![
        sql!(
            "INSERT INTO attempts (run, iteration, number, status, started_at) VALUES (?, ?, ?, 'running', ?)",
            at.run,
            iteration,
            attempt,
            at.at.0
        ),
        sql!("UPDATE iterations SET attempts = ? WHERE run = ? AND number = ?", attempt, at.run, iteration),
    ]
}

fn attempt_ended(at: At<'_>, (iteration, attempt): (u32, u32), result: &AttemptResult) -> Vec<Statement> {
    let ended = sql!(
        "UPDATE attempts SET status = ?, ended_at = ?, failure = ?, session = ?, model = ?, killed = ?, leaked = ?
         WHERE run = ? AND iteration = ? AND number = ?",
        result.status.as_str(),
        at.at.0,
        result.failure.as_deref(),
        result.session.as_deref(),
        result.model.as_deref(),
        result.leftovers.killed,
        result.leftovers.leaked.len() as u64,
        at.run,
        iteration,
        attempt
    );
    let mut statements = vec![ended, shares::worked(at, (iteration, attempt), result)];
    if result.spend != Spend::default() {
        statements.extend(spent(at.run, iteration, result.spend));
    }
    statements
}

/// A claim was rejected: the last attempt of its iteration had made it.
fn rejected(run: &str, iteration: u32) -> [Statement; 2] {
    [sql!("UPDATE runs SET rejected = rejected + 1 WHERE id = ?", run), shares::rejected(run, iteration)]
}

/// Adds what judges used, which is also kept apart.
fn judges_spent(run: &str, iteration: u32, spend: Spend) -> Vec<Statement> {
    let apart = spend.cost_micros.map(|micros| {
        sql!("UPDATE runs SET judges_micros = COALESCE(judges_micros, 0) + ? WHERE id = ?", micros, run)
    });
    spent(run, iteration, spend).into_iter().chain(apart).collect()
}

/// Adds what is known to the sums; unknown stays unknown.
fn spent(run: &str, iteration: u32, spend: Spend) -> [Statement; 2] {
    let Spend { input_tokens: input, output_tokens: output, cost_micros: cost } = spend;
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
