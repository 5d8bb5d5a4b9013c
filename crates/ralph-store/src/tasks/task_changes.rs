//! Reads and changes tasks. Changes are decided with all tasks in view and applied in the same transaction.
use ralph_core::event::UnixMillis;
use ralph_core::outcome::{Outcome, RunEnd};
use ralph_core::task::{Approval, Role, Task, TaskStatus};

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::driver::{DatabaseRow, DriverError, WriteTransaction};
use crate::tasks::leases::boot_clock_millis;
use crate::tasks::task_rows::{FULL_TASKS_SQL, TASK_LIST_SQL, TaskListItem, TaskRow, parse_task_list};
use crate::{NewStage, RunRow, Store, StoreError};

/// How much of the agent's last message is stored with a failed stage, as a worker does.
const MAX_OUTPUT_CHARACTERS: usize = 4_000;

/// A change of one task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskChange {
    /// Adds a task; `metadata` is JSON.
    Add {
        task: Task,
        metadata: String,
        approval: Approval,
    },
    /// Replaces everything except the metadata.
    Replace {
        task: Task,
        approval: Approval,
    },
    /// Records that a person approved the task's checks.
    Approve {
        id: String,
    },
    Delete {
        id: String,
    },
}

/// The stage of a task that a run belongs to.
pub(crate) struct TaskStage {
    pub(crate) task: String,
    pub(crate) role: String,
}

/// Selects a page of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskPageFilter {
    /// The id of the last task of the page before; `None` for the first page.
    pub after: Option<String>,
    /// No status: every status.
    pub statuses: Vec<TaskStatus>,
    pub spec: Option<String>,
    pub limit: u32,
}

impl Store {
    /// Returns all tasks as list items, ordered by priority, then by age.
    pub async fn list_tasks(&self) -> Result<Vec<TaskListItem>, StoreError> {
        Ok(self.row(sql!(TASK_LIST_SQL), parse_task_list).await?.unwrap_or_default())
    }

    /// Returns a page of tasks as list items, in the same order.
    pub async fn page_of_tasks(&self, page: &TaskPageFilter) -> Result<Vec<TaskListItem>, StoreError> {
        let statuses: Vec<&str> = page.statuses.iter().map(|status| status.as_str()).collect();
        let (after, spec) = (page.after.as_deref().unwrap_or_default(), page.spec.as_deref().unwrap_or_default());
        let sql = format!(
            "{TASK_LIST_SQL} WHERE t.id IN (SELECT id FROM tasks
                WHERE ($1 = '[]' OR status IN (SELECT value FROM json_each($1))) AND ($2 = '' OR spec = $2)
                AND ($3 = '' OR (COALESCE(priority, 3), seq) >
                    (SELECT COALESCE(priority, 3), seq FROM tasks WHERE id = $3))
                ORDER BY COALESCE(priority, 3), seq LIMIT $4)"
        );
        let [statuses, spec, after] = [&*self.to_json(&statuses)?, spec, after].map(SqlValue::verbatim);
        Ok(self.row(sql!(sql, statuses, spec, after, page.limit), parse_task_list).await?.unwrap_or_default())
    }

    /// Returns those of the tasks that are done.
    pub async fn done_tasks_among(&self, ids: &[String]) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM tasks WHERE status = 'done' AND id IN (SELECT value FROM json_each($1))";
        self.rows(sql!(sql, SqlValue::verbatim(&self.to_json(&ids)?)), |row| row.get("id")).await
    }

    /// Returns how many tasks there are.
    pub async fn count_tasks(&self) -> Result<usize, StoreError> {
        let count: Option<i64> = self.row(sql!("SELECT COUNT(*) AS tasks FROM tasks"), |row| row.get("tasks")).await?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
    }

    /// Returns one task with all its fields.
    pub async fn get_task(&self, id: &str) -> Result<Option<TaskRow>, StoreError> {
        self.row(sql!(FULL_TASKS_SQL, SqlValue::verbatim(id)), TaskRow::from_row).await
    }

    /// Returns all tasks with all their fields, in the order in which they were added.
    pub async fn list_full_tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.rows(sql!(FULL_TASKS_SQL, SqlValue::Null), TaskRow::from_row).await
    }

    /// Returns the task and the role of a run, or `None` if the run is not a stage.
    pub(crate) async fn stage_of_run(&self, run: &str) -> Result<Option<TaskStage>, StoreError> {
        let sql = "SELECT task, role FROM runs WHERE id = $1 AND task IS NOT NULL";
        let read = |row: &DatabaseRow| Ok(TaskStage { task: row.get("task")?, role: row.get("role")? });
        self.row(sql!(sql, SqlValue::verbatim(run)), read).await
    }

    /// Returns the runs of a task, oldest first.
    pub async fn runs_of_task(&self, id: &str) -> Result<Vec<RunRow>, StoreError> {
        let sql = format!("SELECT {} FROM runs WHERE task = $1 ORDER BY started_at, id", RunRow::COLUMNS);
        self.rows(sql!(sql, SqlValue::verbatim(id)), RunRow::from_row).await
    }

    /// Calls `decide` with all tasks and applies the changes that it returns, all or nothing. No other process can
    /// change tasks in the meantime.
    pub async fn change_tasks<E: From<StoreError>>(
        &self,
        at: UnixMillis,
        decide: impl FnOnce(&[TaskListItem]) -> Result<Vec<TaskChange>, E>,
    ) -> Result<(), E> {
        let _write_guard = self.begin_guarded_write().await?;
        let mut connection = self.connection.lock().await;
        let failed = |source| E::from(self.to_store_error(source));
        let mut transaction = connection.begin_write().await.map_err(failed)?;
        let existing = read_task_list(&mut transaction).await.map_err(failed)?;
        // On an early return, dropping the transaction rolls it back.
        let changes = decide(&existing)?;
        let next_seq = existing.iter().map(|task| task.seq).max().unwrap_or(0) + 1;
        for (change, seq) in changes.iter().zip(next_seq..) {
            for statement in self.change_statements(change, seq, at)? {
                transaction.execute(statement).await.map_err(failed)?;
            }
        }
        transaction.commit().await.map_err(failed)?;
        self.guard.refresh_stamps();
        Ok(())
    }

    fn change_statements(
        &self,
        change: &TaskChange,
        seq: i64,
        at: UnixMillis,
    ) -> Result<Vec<SqlStatement>, StoreError> {
        Ok(match change {
            TaskChange::Add { task, metadata, approval } => {
                let insert = sql!(
                    "INSERT INTO tasks (id, seq, title, status, created_at, updated_at, metadata)
                     VALUES ($1, $2, $3, $4, $5, $5, $6)",
                    task.id.as_str(),
                    seq,
                    task.title.as_str(),
                    task.status.as_str(),
                    at.0,
                    metadata.as_str()
                );
                std::iter::once(insert).chain(self.update_statements(task, *approval, at)?).collect()
            }
            TaskChange::Replace { task, approval } => self.update_statements(task, *approval, at)?,
            TaskChange::Approve { id } => {
                vec![sql!("UPDATE tasks SET unapproved = 0, updated_at = $1 WHERE id = $2", at.0, id.as_str())]
            }
            TaskChange::Delete { id } => vec![
                sql!("DELETE FROM tasks WHERE id = $1", id.as_str()),
                sql!("DELETE FROM guidance WHERE task = $1", id.as_str()),
            ],
        })
    }

    fn update_statements(
        &self,
        task: &Task,
        approval: Approval,
        at: UnixMillis,
    ) -> Result<Vec<SqlStatement>, StoreError> {
        let dependencies = task.dependencies.as_ref().map(|on| self.to_json(on)).transpose()?;
        let completion = task.completion.as_ref().map(|spec| self.to_json(spec)).transpose()?;
        let mut statements = vec![sql!(
            "UPDATE tasks SET spec = $1, title = $2, description = $3, status = $4, priority = $5, dependencies = $6,
                assignee = $7, unapproved = $8, updated_at = $9, completion_spec = $10, spec_file = $11 WHERE id = $12",
            task.spec_id.as_deref(),
            task.title.as_str(),
            task.description.as_deref(),
            task.status.as_str(),
            task.priority,
            dependencies.as_deref(),
            task.assignee.as_deref(),
            i64::from(approval == Approval::Pending),
            at.0,
            completion.as_deref(),
            task.spec_file.as_deref(),
            task.id.as_str()
        )];
        if let Some(spec) = &task.spec_id {
            statements.push(sql!(
                "INSERT INTO specs (id, created_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING",
                spec.as_str(),
                at.0
            ));
        }
        Ok(statements)
    }
}

async fn read_task_list(transaction: &mut WriteTransaction<'_>) -> Result<Vec<TaskListItem>, DriverError> {
    transaction.rows(sql!(TASK_LIST_SQL)).await?.first().map_or_else(|| Ok(Vec::new()), parse_task_list)
}

/// Returns the statement that records a run as a stage of a task. It does not change the status of the task.
pub(crate) fn assign_run_to_task(run: &str, task: &str, role: &str) -> SqlStatement {
    sql!("UPDATE runs SET task = $1, role = $2 WHERE id = $3", task, role, run)
}

/// Returns the statement that changes a row only if a new run may be a stage of its task: the worker still has the lease,
/// or, for a manual run, the task is not leased.
pub(crate) fn hold_task(stage: NewStage<'_>) -> SqlStatement {
    match stage.lease_fence {
        Some(fence) => sql!("UPDATE tasks SET fence = fence WHERE id = $1 AND fence = $2", stage.task, fence),
        None => sql!(
            "UPDATE tasks SET fence = fence WHERE id = $1 AND (owner IS NULL OR lease_until < $2)",
            stage.task,
            boot_clock_millis()
        ),
    }
}

/// Returns the statements that make a new run a stage of its task and update the status of the task.
pub(crate) fn begin_stage(run: &str, stage: NewStage<'_>, at: UnixMillis) -> [SqlStatement; 2] {
    [assign_run_to_task(run, stage.task, stage.role.as_str()), resume_stage(run, at)]
}

/// Returns the statement that updates the status of a resumed run's task, if the run has a task and it is the turn of
/// its role ([`TaskStatus::is_turn_of`]). Runs of a worker always have the turn.
pub(crate) fn resume_stage(run: &str, at: UnixMillis) -> SqlStatement {
    let is_turn = "(SELECT kind = 'stage' OR role = 'coder' FROM runs WHERE id = $2)
         OR status = (SELECT CASE role WHEN 'reviewer' THEN $4 WHEN 'tester' THEN $5 WHEN 'qa' THEN $6 END
             FROM runs WHERE id = $2)
         OR (status IN ('todo', 'blocked', 'cancelled')
             AND (SELECT CASE role WHEN 'reviewer' THEN $7 WHEN 'tester' THEN $8 WHEN 'qa' THEN $9 END
                  FROM runs WHERE id = $2)
               = (SELECT role FROM runs WHERE task = tasks.id AND status = 'completed'
                  AND role IN ('coder', 'reviewer', 'tester', 'qa') ORDER BY started_at DESC, id DESC LIMIT 1))";
    let preceding = [Role::Reviewer, Role::Tester, Role::Qa].map(|role| TaskStatus::preceding_role(&role));
    let preceding = preceding.each_ref().map(|role| role.as_ref().map(Role::as_str).into());
    move_task(run, statuses_during_stage(), at).with_condition(is_turn, preceding)
}

/// Returns the statement that updates the status of the task of a run that has ended, if the run has a task. A worker
/// does this itself. The status does not change if the task is not in the stage of this run.
pub(crate) fn end_stage(run: &str, ended: &RunEnd, at: UnixMillis) -> SqlStatement {
    let after = Role::BUILT_IN.map(|role| TaskStatus::after_stage(&role, ended).map(TaskStatus::as_str));
    let is_in_stage = "(SELECT kind FROM runs WHERE id = $2) <> 'stage' AND status = (SELECT CASE role
         WHEN 'coder' THEN $7 WHEN 'reviewer' THEN $8 WHEN 'tester' THEN $9 WHEN 'qa' THEN $10 END FROM runs WHERE id = $2)";
    move_task(run, after, at).with_condition(is_in_stage, statuses_during_stage().map(Into::into))
}

/// Returns the statement that moves a blocked task on, if a person accepts the claim of its newest run. For the stages of
/// a worker, the caller does this itself.
pub(crate) fn accept_blocked_stage(run: &str, at: UnixMillis) -> SqlStatement {
    let completed = RunEnd::new(Outcome::Completed, String::new());
    let after = Role::BUILT_IN.map(|role| TaskStatus::after_stage(&role, &completed).map(TaskStatus::as_str));
    let is_waiting = "(SELECT kind FROM runs WHERE id = $2) <> 'stage' AND status = 'blocked' AND $2 =
         (SELECT id FROM runs WHERE task = tasks.id ORDER BY started_at DESC, id DESC LIMIT 1)";
    move_task(run, after, at).with_condition(is_waiting, [])
}

/// Returns the statement that stores with the task why its stage failed, if it did. A worker does this itself. It must
/// run before [`end_stage`], which moves the task out of the stage.
pub(crate) fn record_stage_failure(run: &str, ended: &RunEnd, iterations: u32) -> Option<SqlStatement> {
    match ended.outcome {
        Outcome::Exhausted | Outcome::Failed | Outcome::Stalled => {}
        Outcome::Completed | Outcome::OverBudget | Outcome::Blocked | Outcome::Cancelled | Outcome::Interrupted => {
            return None;
        }
    }
    let [coder, reviewer, tester, qa] = statuses_during_stage();
    let sql = format!(
        "UPDATE tasks SET metadata = json_set(metadata, '$.ralph_failure', json_object(
            'stage', (SELECT role FROM runs WHERE id = $1), 'iterations_used', $6,
            'last_output', COALESCE((SELECT substr(trim(json_extract(body, '$.result.final_text')), -{MAX_OUTPUT_CHARACTERS})
                FROM events WHERE run = $1 AND kind = 'attempt.ended' ORDER BY seq DESC LIMIT 1), ''),
            'reason', $7))
         WHERE id = (SELECT task FROM runs WHERE id = $1) AND (SELECT kind FROM runs WHERE id = $1) <> 'stage'
            AND status = (SELECT CASE role WHEN 'coder' THEN $2 WHEN 'reviewer' THEN $3 WHEN 'tester' THEN $4
                WHEN 'qa' THEN $5 END FROM runs WHERE id = $1)"
    );
    Some(sql!(sql, run, coder, reviewer, tester, qa, iterations, ended.reason.as_str()))
}

/// Returns the statement that removes the recorded failure from the task of a run, if the task is done.
pub(crate) fn clear_stage_failure(run: &str) -> SqlStatement {
    sql!(
        "UPDATE tasks SET metadata = json_remove(metadata, '$.ralph_failure')
         WHERE id = (SELECT task FROM runs WHERE id = $1) AND status = 'done'",
        run
    )
}

fn statuses_during_stage() -> [Option<&'static str>; 4] {
    Role::BUILT_IN.map(|role| TaskStatus::while_in_role(&role).map(TaskStatus::as_str))
}

/// Returns the statement that sets the status of a run's task by the run's role. With `None`, the status does not
/// change. The values of a condition that is added begin with `$7`.
fn move_task(run: &str, [coder, reviewer, tester, qa]: [Option<&str>; 4], at: UnixMillis) -> SqlStatement {
    sql!(
        "UPDATE tasks SET updated_at = $1, status = COALESCE(CASE (SELECT role FROM runs WHERE id = $2)
            WHEN 'coder' THEN $3 WHEN 'reviewer' THEN $4 WHEN 'tester' THEN $5 WHEN 'qa' THEN $6 END, status)
         WHERE id = (SELECT task FROM runs WHERE id = $2)",
        at.0,
        run,
        coder,
        reviewer,
        tester,
        qa
    )
}
