//! The usage per run, agent and model, in a table with narrow rows that statistics can add up quickly.
use ralph_core::fact::{AttemptResult, IterationStatus};

use crate::driver::statement::{SqlStatement, sql};
use crate::journal::projections::FactContext;

/// Returns the statement that adds a finished attempt. It counts for the agent that the run uses now.
pub(crate) fn add_attempt(
    context: FactContext<'_>,
    iteration: u32,
    attempt: u32,
    result: &AttemptResult,
) -> SqlStatement {
    let is_unpriced = result.status == IterationStatus::Finished && result.spend.cost_micros.is_none();
    sql!(
        "INSERT INTO shares (run, agent, model, started_at, status, iterations, last_iteration, worked_ms, unpriced,
            input_tokens, output_tokens, cost_micros)
         SELECT r.id, COALESCE(r.agent_now, r.agent), $1, r.started_at, r.status, 1, a.iteration,
            MAX(0, $2 - a.started_at), $3, $4, $5, $6
         FROM runs r JOIN attempts a ON a.run = r.id WHERE r.id = $7 AND a.iteration = $8 AND a.number = $9
         ON CONFLICT (run, agent, model) DO UPDATE SET
            iterations = iterations + (last_iteration <> excluded.last_iteration),
            last_iteration = excluded.last_iteration,
            worked_ms = worked_ms + excluded.worked_ms,
            unpriced = unpriced + excluded.unpriced,
            input_tokens = COALESCE(input_tokens + excluded.input_tokens, input_tokens, excluded.input_tokens),
            output_tokens = COALESCE(output_tokens + excluded.output_tokens, output_tokens, excluded.output_tokens),
            cost_micros = COALESCE(cost_micros + excluded.cost_micros, cost_micros, excluded.cost_micros)",
        result.model.as_deref().unwrap_or_default(),
        context.at.0,
        u32::from(is_unpriced),
        result.spend.input_tokens,
        result.spend.output_tokens,
        result.spend.cost_micros,
        context.run,
        iteration,
        attempt
    )
}

/// Returns the statement that counts a rejected claim for the model of the last attempt in its iteration.
pub(crate) fn count_rejected_claim(run: &str, iteration: u32) -> SqlStatement {
    sql!(
        "UPDATE shares SET rejected = rejected + 1
         WHERE run = $1 AND agent = (SELECT COALESCE(agent_now, agent) FROM runs WHERE id = $1)
            AND model = (SELECT COALESCE(model, '') FROM attempts WHERE run = $1 AND iteration = $2
                ORDER BY number DESC LIMIT 1)",
        run,
        iteration
    )
}

/// Returns the statement that copies the status of the run into its usage rows.
pub(crate) fn copy_run_status(run: &str) -> SqlStatement {
    sql!(
        "UPDATE shares SET (status, exit_code) = (SELECT status, exit_code FROM runs WHERE id = $1) WHERE run = $1",
        run
    )
}
