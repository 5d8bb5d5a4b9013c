//! Writes the steps of a run. Each step is one transaction.
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::task::Role;
use sqlx::Row;

use crate::control_commands::{CommandAnswer, GuidanceForNextStage, mark_command_taken};
use crate::driver::statement_batch::{JournalRow, SqlStatement, SqlValue, execute_in_one_trip, insert_events, sql};
use crate::journal::projections::{FactContext, project_fact};
use crate::journal::run_insert::{RunHeaderRow, RunOwnership, RunTotals, loop_checksum};
use crate::queries::runs::DATABASE_ID_SQL;
use crate::tasks::task_changes::begin_stage;
use crate::{LastWrite, Store, StoreError};

/// The fields of a new run, stored together with its first step.
pub struct NewRun<'a> {
    pub kind: &'a str,
    pub agent: &'a str,
    pub promise: &'a str,
    /// Everything needed to resume the run later, as JSON.
    pub settings: &'a str,
    /// The process that drives the run, as JSON.
    pub owner: &'a str,
    /// The stage of a task that this run is, if any.
    pub stage: Option<NewStage<'a>>,
}

/// The task and the role of a run that is a stage.
#[derive(Debug, Clone, Copy)]
pub struct NewStage<'a> {
    pub task: &'a str,
    pub role: &'a Role,
    /// The fence of the worker's lease. The insert fails if the worker has lost the lease. `None` for a manual run,
    /// which fails if the task is leased.
    pub lease_fence: Option<i64>,
}

/// The fence of a new run; each takeover increments it.
pub const FIRST_FENCE: i64 = 1;

/// One step: its facts and the state of the loop after it.
pub struct StepRecord<'a> {
    pub run: &'a str,
    /// The fence of this engine.
    pub fence: i64,
    /// The sequence number of the first fact.
    pub first_seq: i64,
    pub at: UnixMillis,
    pub facts: &'a [&'a Fact],
    /// The ids of the commands that this step answers, with the results.
    pub answered_commands: &'a [(&'a str, CommandAnswer)],
    /// Guidance to pass on to the next stage of the task.
    pub guidance: Option<GuidanceForNextStage<'a>>,
    pub state: &'a LoopState,
}

impl StepRecord<'_> {
    /// Returns the number of facts of the run after this step.
    fn fact_count_after(&self) -> i64 {
        self.first_seq - 1 + i64::try_from(self.facts.len()).unwrap_or(i64::MAX)
    }

    fn to_last_write(&self, state: &SqlValue) -> LastWrite {
        LastWrite { run: self.run.to_owned(), fence: self.fence, loop_json: state.as_stored_text().to_owned() }
    }
}

impl Store {
    /// Inserts a new run with its first step.
    pub async fn insert_run(&self, run: &NewRun<'_>, first: &StepRecord<'_>) -> Result<(), StoreError> {
        let state = SqlValue::from(self.to_json(first.state)?.as_str());
        let header = RunHeaderRow {
            id: first.run,
            kind: run.kind,
            agent: run.agent,
            promise: run.promise,
            max_iterations: first.state.policy.max_iterations.into(),
            started_at: first.at.0,
            settings: run.settings,
        };
        let ownership = RunOwnership { fence: first.fence, owner: Some(run.owner) };
        let mut statements =
            vec![header.insert_statement(&state, RunTotals::from(first.state), first.fact_count_after(), ownership)];
        if let Some(stage) = run.stage {
            statements.extend(begin_stage(first.run, stage, first.at));
        }
        self.append_journal(first, &mut statements)?;
        let _write_guard = self.write_lock.lock().await;
        match (self.write_statements(statements).await, run.stage) {
            (Ok(()), _) => {
                self.remember_write(first.to_last_write(&state));
                Ok(())
            }
            (Err(error), Some(stage)) if is_lease_violation(&error) => Err(match stage.lease_fence {
                Some(_) => self.lease_lost_error(stage.task),
                None => StoreError::LeaseTaken { task: stage.task.to_owned() },
            }),
            (Err(source), _) => Err(self.to_store_error(source)),
        }
    }

    /// Stores one step: journal, projections and loop, all or nothing.
    pub async fn record_step(&self, step: &StepRecord<'_>) -> Result<(), StoreError> {
        let _write_guard = self.write_lock.lock().await;
        self.ensure_unmodified().await?;
        let state = SqlValue::from(self.to_json(step.state)?.as_str());
        let mut statements = vec![fenced_loop_update(step, &state)];
        self.append_journal(step, &mut statements)?;
        match self.write_statements(statements).await {
            Ok(()) => {
                self.remember_write(step.to_last_write(&state));
                Ok(())
            }
            Err(error) if is_fence_violation(&error) => Err(self.taken_over_error(step.run).await),
            Err(source) => Err(self.to_store_error(source)),
        }
    }

    fn append_journal(&self, step: &StepRecord<'_>, statements: &mut Vec<SqlStatement>) -> Result<(), StoreError> {
        let context = FactContext { run: step.run, at: step.at };
        let rows = (step.first_seq..)
            .zip(step.facts)
            .map(|(seq, fact)| Ok(JournalRow { context, seq, fact, body: self.to_json(fact)? }))
            .collect::<Result<Vec<_>, StoreError>>()?;
        if !rows.is_empty() {
            statements.push(insert_events(&rows));
        }
        statements.extend(step.facts.iter().flat_map(|fact| project_fact(context, fact)));
        statements.extend(step.answered_commands.iter().map(|(id, answer)| mark_command_taken(id, *answer, step.at)));
        if let Some(guidance) = &step.guidance {
            statements.extend(guidance.insert_commands(step.at));
        }
        Ok(())
    }

    /// Runs the statements. With the first write, also reads the id of the database.
    async fn write_statements(&self, statements: Vec<SqlStatement>) -> Result<(), sqlx::Error> {
        let mut connection = self.connection.lock().await;
        if self.database_id.get().is_some() {
            return execute_in_one_trip(&mut connection, statements, None).await.map(drop);
        }
        let rows = execute_in_one_trip(&mut connection, statements, Some(DATABASE_ID_SQL)).await?;
        let found = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>()?;
        self.database_id.get_or_init(|| found.concat());
        Ok(())
    }

    async fn taken_over_error(&self, run: &str) -> StoreError {
        let owner = self.run_owner(run).await.ok().flatten();
        StoreError::TakenOver { run: run.to_owned(), owner }
    }

    pub(crate) fn to_json(&self, value: &impl serde::Serialize) -> Result<String, StoreError> {
        serde_json::to_string(value)
            .map_err(|error| StoreError::Unreadable { path: self.path.clone(), what: error.to_string() })
    }
}

/// Returns the statement that stores the loop. If another engine has taken over the run, the fence differs and the
/// column becomes NULL, which violates its constraint: the whole step fails.
fn fenced_loop_update(step: &StepRecord<'_>, state: &SqlValue) -> SqlStatement {
    let (facts, totals) = (step.fact_count_after(), RunTotals::from(step.state));
    sql!(
        "UPDATE runs SET loop = ?, facts = ?, loop_sum = ?, worked_ms = ?, unpriced = ?,
            fence = CASE WHEN fence = ? THEN fence END WHERE id = ?",
        state.clone(),
        facts,
        loop_checksum(state.as_stored_text(), facts),
        totals.worked_ms,
        totals.unpriced,
        step.fence,
        step.run
    )
}

fn is_lease_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("tasks.fence"))
}

fn is_fence_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.message().contains("runs.fence"))
}
