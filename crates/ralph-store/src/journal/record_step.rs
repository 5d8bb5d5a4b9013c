//! Writes the steps of a run. Each step is one transaction.
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_core::loop_state::LoopState;
use ralph_core::task::Role;

use crate::control_commands::{CommandAnswer, CommandsForNextStage, mark_command_taken};
use crate::driver::DriverError;
use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::journal::event_rows::{JournalRow, insert_events};
use crate::journal::projections::{FactContext, project_fact};
use crate::journal::run_insert::{RunHeaderRow, RunOwnership, RunTotals, loop_checksum};
use crate::sqlite::file_guard::WrittenStep;
use crate::store::{FencedWrite, execute_fenced};
use crate::tasks::task_changes::{begin_stage, hold_task};
use crate::{Store, StoreError};

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
    /// The workflow run that this run is a pass of, if any.
    pub workflow: Option<&'a str>,
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
    /// Commands to pass on to the next stage of the task.
    pub for_next_stage: Option<CommandsForNextStage<'a>>,
    pub state: &'a LoopState,
}

impl StepRecord<'_> {
    /// Returns the number of facts of the run after this step.
    fn fact_count_after(&self) -> i64 {
        self.first_seq - 1 + i64::try_from(self.facts.len()).unwrap_or(i64::MAX)
    }

    fn to_written_step(&self, state: &SqlValue) -> WrittenStep {
        WrittenStep { run: self.run.to_owned(), fence: self.fence, loop_json: state.as_stored_text().to_owned() }
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
        if let Some(workflow) = run.workflow {
            statements.push(sql!(
                "UPDATE runs SET workflow = $1 WHERE id = $2",
                SqlValue::verbatim(workflow),
                first.run
            ));
        }
        if let Some(stage) = run.stage {
            statements.extend(begin_stage(first.run, stage, first.at));
        }
        self.append_journal(first, &mut statements)?;
        let fence = run.stage.map(hold_task);
        let written = self.write_step(fence, statements, first.to_written_step(&state)).await?;
        match (written, run.stage) {
            (FencedWrite::Refused, Some(NewStage { task, lease_fence: Some(_), .. })) => {
                Err(StoreError::LeaseLost { task: task.to_owned() })
            }
            (FencedWrite::Refused, Some(NewStage { task, lease_fence: None, .. })) => {
                Err(StoreError::LeaseTaken { task: task.to_owned() })
            }
            (FencedWrite::Written | FencedWrite::Refused, _) => Ok(()),
        }
    }

    /// Stores one step: journal, projections and loop, all or nothing.
    pub async fn record_step(&self, step: &StepRecord<'_>) -> Result<(), StoreError> {
        let state = SqlValue::from(self.to_json(step.state)?.as_str());
        let mut statements = Vec::new();
        self.append_journal(step, &mut statements)?;
        let fence = fenced_loop_update(step, &state);
        match self.write_step(Some(fence), statements, step.to_written_step(&state)).await? {
            FencedWrite::Written => Ok(()),
            FencedWrite::Refused => Err(self.taken_over_error(step.run).await),
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
        if let Some(commands) = &step.for_next_stage {
            statements.extend(commands.insert_commands(step.at));
        }
        Ok(())
    }

    /// Writes a step in one transaction, unless its fence refuses it.
    async fn write_step(
        &self,
        fence: Option<SqlStatement>,
        statements: Vec<SqlStatement>,
        step: WrittenStep,
    ) -> Result<FencedWrite, StoreError> {
        let _write_guard = self.begin_guarded_write().await?;
        let written = self.write_step_unguarded(fence, statements, step).await;
        written.map_err(|source| self.to_store_error(source))
    }

    async fn write_step_unguarded(
        &self,
        fence: Option<SqlStatement>,
        statements: Vec<SqlStatement>,
        step: WrittenStep,
    ) -> Result<FencedWrite, DriverError> {
        let mut connection = self.connection.lock().await;
        let mut transaction = connection.begin_write().await?;
        if execute_fenced(&mut transaction, fence, statements).await? == FencedWrite::Refused {
            return Ok(FencedWrite::Refused);
        }
        let identity = self.guard.identify(&mut transaction).await?;
        transaction.commit().await?;
        self.guard.watch_step(step, identity);
        Ok(FencedWrite::Written)
    }

    async fn taken_over_error(&self, run: &str) -> StoreError {
        let owner = self.run_owner(run).await.ok().flatten();
        StoreError::TakenOver { run: run.to_owned(), owner }
    }
}

/// Returns the statement that stores the loop. It changes no row if another engine has taken over the run, which raised
/// the fence.
fn fenced_loop_update(step: &StepRecord<'_>, state: &SqlValue) -> SqlStatement {
    let (facts, totals) = (step.fact_count_after(), RunTotals::from(step.state));
    sql!(
        "UPDATE runs SET loop = $1, facts = $2, loop_sum = $3, worked_ms = $4, unpriced = $5
         WHERE id = $6 AND fence = $7",
        state.clone(),
        facts,
        loop_checksum(state.as_stored_text(), facts),
        totals.worked_ms,
        totals.unpriced,
        step.run,
        step.fence
    )
}

#[cfg(test)]
mod tests {
    use ralph_core::task::{Approval, Task, TaskStatus};

    use super::*;
    use crate::test_run::TestRun;
    use crate::{OpenMode, TakeoverGuard, TaskChange};

    async fn open(folder: &tempfile::TempDir) -> Store {
        Store::open(folder.path(), OpenMode::Create).await.unwrap().unwrap()
    }

    // spec: L13
    // fault: 94
    #[tokio::test]
    async fn a_step_with_an_old_fence_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        TestRun::new("run").insert(&store).await.unwrap();
        let taken = store.take_over_run("run", "{\"pid\":7}", "{}", TakeoverGuard::Unguarded).await.unwrap();
        let refused = TestRun::new("run").at_step(2).record(&store).await;
        assert!(
            matches!(&refused, Err(StoreError::TakenOver { owner: Some(owner), .. }) if owner.contains('7')),
            "{refused:?}"
        );
        assert_eq!(store.load_run("run").await.unwrap(), taken, "the loop and the fence are those of the takeover");
        assert_eq!(store.events_after("run", 0, 10).await.unwrap().len(), 1);
        assert_eq!(store.iterations_of_run("run").await.unwrap().len(), 1);
    }

    // fault: 94
    #[tokio::test]
    async fn a_stage_begins_only_with_the_lease_of_its_task() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        let task = Task { id: "t".to_owned(), title: "T".to_owned(), status: TaskStatus::Todo, ..Task::default() };
        let add = TaskChange::Add { task, metadata: "{}".to_owned(), approval: Approval::Granted };
        store.change_tasks(UnixMillis(0), |_| Ok::<_, StoreError>(vec![add])).await.unwrap();
        let lease = store.lease_task("t", "{}", std::time::Duration::from_secs(600)).await.unwrap().unwrap();
        let stage = |lease_fence| NewStage { task: "t", role: &Role::Coder, lease_fence };
        let stale = TestRun::new("stale").with_stage(stage(Some(lease.fence - 1))).insert(&store).await;
        assert!(matches!(stale, Err(StoreError::LeaseLost { .. })), "{stale:?}");
        let manual = TestRun::new("manual").with_stage(stage(None)).insert(&store).await;
        assert!(matches!(manual, Err(StoreError::LeaseTaken { .. })), "{manual:?}");
        assert!(store.recent_runs(10).await.unwrap().is_empty(), "nothing was written");
        TestRun::new("held").with_stage(stage(Some(lease.fence))).insert(&store).await.unwrap();
        assert_eq!(store.recent_runs(10).await.unwrap().len(), 1);
    }
}
