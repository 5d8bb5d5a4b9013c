//! Writes the steps of a workflow run. A step is one transaction: its events, the nodes that changed, and the run.
use ralph_core::event::UnixMillis;

use crate::driver::statement::{SqlStatement, SqlValue, sql};
use crate::journal::run_insert::fact_checksum;
use crate::store::FencedWrite;
use crate::workflows::workflow_rows::{node_checksum, spec_checksum};
use crate::{FIRST_FENCE, Store, StoreError, WorkflowNodeKey};

/// The fields of a new workflow run, stored together with its first step.
#[derive(Debug, Clone, Copy)]
pub struct NewWorkflowRun<'a> {
    pub workflow: &'a str,
    pub message: &'a str,
    /// JSON.
    pub spec: &'a str,
    /// The process that drives it, as JSON.
    pub owner: &'a str,
    /// The workflow run that starts it, and its node.
    pub parent: Option<(&'a str, &'a str)>,
    pub rerun_of: Option<&'a str>,
}

/// One step: its events, the nodes that it changes, and the change of the run.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowStep<'a> {
    pub run: &'a str,
    /// The fence of this driver.
    pub fence: i64,
    /// The number of the first event.
    pub first_seq: i64,
    pub at: UnixMillis,
    /// JSON.
    pub events: &'a [String],
    pub nodes: &'a [WorkflowNodeUpdate<'a>],
    pub update: WorkflowRunUpdate<'a>,
    /// The questions whose answers this step takes.
    pub taken_answers: &'a [&'a str],
}

/// How a step changes a node, or an item of its fan-out.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowNodeUpdate<'a> {
    pub key: WorkflowNodeKey<'a>,
    pub status: &'a str,
    /// JSON.
    pub state: &'a str,
    pub has_started: bool,
    pub has_ended: bool,
}

/// How a step changes the run.
#[derive(Debug, Clone, Copy)]
pub struct WorkflowRunUpdate<'a> {
    pub status: &'a str,
    pub reason: Option<&'a str>,
    pub exit_code: Option<u8>,
    pub step_index: i64,
    /// JSON.
    pub metadata: &'a str,
    pub has_ended: bool,
}

impl Store {
    /// Inserts a new workflow run with its first step.
    pub async fn insert_workflow_run(
        &self,
        new: &NewWorkflowRun<'_>,
        first: &WorkflowStep<'_>,
    ) -> Result<(), StoreError> {
        let spec = SqlValue::from(new.spec);
        let sum = spec_checksum(first.run, spec.as_stored_text());
        let (parent, parent_node) = new.parent.unzip();
        let insert = sql!(
            "INSERT INTO workflow_runs (id, workflow, status, message, started_at, events, fence, owner, parent,
                parent_node, rerun_of)
             VALUES ($1, $2, 'running', $3, $4, 0, $5, $6, $7, $8, $9)",
            SqlValue::verbatim(first.run),
            new.workflow,
            new.message,
            first.at.0,
            FIRST_FENCE,
            SqlValue::verbatim(new.owner),
            parent.map(SqlValue::verbatim),
            parent_node.map(SqlValue::verbatim),
            new.rerun_of.map(SqlValue::verbatim)
        );
        let insert_spec = sql!(
            "INSERT INTO workflow_specs (run, spec, sum) VALUES ($1, $2, $3)",
            SqlValue::verbatim(first.run),
            spec,
            sum
        );
        let mut statements = vec![insert, insert_spec, fenced_update(first)];
        statements.extend(step_statements(first));
        self.execute_all(statements).await
    }

    /// Stores one step, all or nothing. Fails if another driver has taken over the run.
    pub async fn record_workflow_step(&self, step: &WorkflowStep<'_>) -> Result<(), StoreError> {
        match self.execute_all_fenced(fenced_update(step), step_statements(step)).await? {
            FencedWrite::Written => Ok(()),
            FencedWrite::Refused => {
                let owner = self.workflow_run(step.run).await.ok().flatten().and_then(|row| row.owner_json);
                Err(StoreError::TakenOver { run: step.run.to_owned(), owner })
            }
        }
    }

    /// Makes this driver the owner of a workflow run, and returns its fence. The previous driver can no longer write.
    pub async fn take_over_workflow_run(&self, run: &str, owner: &str) -> Result<i64, StoreError> {
        let statement = sql!(
            "UPDATE workflow_runs SET fence = fence + 1, owner = $1 WHERE id = $2 RETURNING fence",
            SqlValue::verbatim(owner),
            SqlValue::verbatim(run)
        );
        let fence = self.execute_returning(statement, |row| row.get("fence")).await?.pop();
        fence.ok_or_else(|| self.unreadable_error(format!("workflow run {run} does not exist")))
    }
}

/// Returns the statement that stores the run. It changes no row if another driver has raised the fence.
fn fenced_update(step: &WorkflowStep<'_>) -> SqlStatement {
    let update = step.update;
    let count = step.first_seq - 1 + i64::try_from(step.events.len()).unwrap_or(i64::MAX);
    sql!(
        "UPDATE workflow_runs SET status = $1, reason = $2, exit_code = $3, step_index = $4, metadata = $5,
            ended_at = $6, events = $7 WHERE id = $8 AND fence = $9",
        update.status,
        update.reason,
        update.exit_code.map(i64::from),
        update.step_index,
        update.metadata,
        update.has_ended.then_some(step.at.0),
        count,
        SqlValue::verbatim(step.run),
        step.fence
    )
}

fn step_statements(step: &WorkflowStep<'_>) -> Vec<SqlStatement> {
    let numbered: Vec<(i64, &String)> = (step.first_seq..).zip(step.events).collect();
    let events = numbered.chunks(MAX_ROWS).map(|events| insert_events(step, events));
    let nodes = step.nodes.chunks(MAX_ROWS).map(|nodes| upsert_nodes(step, nodes));
    let answers = step.taken_answers.iter().map(|question| {
        sql!(
            "UPDATE workflow_answers SET taken_at = $1 WHERE run = $2 AND question = $3",
            step.at.0,
            SqlValue::verbatim(step.run),
            SqlValue::verbatim(question)
        )
    });
    events.chain(nodes).chain(answers).collect()
}

/// How many rows a statement writes: the result of each statement is a message between threads.
const MAX_ROWS: usize = 16;

fn insert_events(step: &WorkflowStep<'_>, events: &[(i64, &String)]) -> SqlStatement {
    let rows = events.iter().map(|(seq, body)| {
        let body = SqlValue::from(body.as_str());
        let sum = fact_checksum(step.run, *seq, step.at.0, body.as_stored_text());
        [SqlValue::verbatim(step.run), (*seq).into(), step.at.0.into(), body, sum.into()]
    });
    write_rows("INSERT INTO workflow_events (run, seq, at, body, sum) VALUES", rows, "")
}

/// The time of the first start is kept.
fn upsert_nodes(step: &WorkflowStep<'_>, nodes: &[WorkflowNodeUpdate<'_>]) -> SqlStatement {
    let rows = nodes.iter().map(|node| {
        let (key, state) = (node.key, SqlValue::from(node.state));
        let sum = node_checksum(step.run, key.node, state.as_stored_text());
        [
            SqlValue::verbatim(step.run),
            SqlValue::verbatim(key.node),
            key.generation.into(),
            key.stored_item().into(),
            node.status.into(),
            state,
            sum.into(),
            node.has_started.then_some(step.at.0).into(),
            node.has_ended.then_some(step.at.0).into(),
        ]
    });
    write_rows(
        "INSERT INTO workflow_nodes (run, node, generation, item, status, state, sum, started_at, ended_at) VALUES",
        rows,
        "ON CONFLICT (run, node, generation, item) DO UPDATE SET status = excluded.status, state = excluded.state,
            sum = excluded.sum, started_at = COALESCE(workflow_nodes.started_at, excluded.started_at),
            ended_at = excluded.ended_at",
    )
}

/// Returns a statement that writes several rows.
fn write_rows<const N: usize>(insert: &str, rows: impl Iterator<Item = [SqlValue; N]>, conflict: &str) -> SqlStatement {
    let values: Vec<SqlValue> = rows.flatten().collect();
    let row_of = |first: usize| {
        let numbers: Vec<String> = (first..first + N).map(|number| format!("${number}")).collect();
        format!("({})", numbers.join(", "))
    };
    let rows: Vec<String> = (1..=values.len()).step_by(N.max(1)).map(row_of).collect();
    SqlStatement { sql: format!("{insert} {} {conflict}", rows.join(", ")).into(), values }
}
