//! The state of the runs of a conversation.
use ralph_engine::project::Project;
use ralph_store::{Store, WorkflowRunRow};
use serde_json::Value;

use crate::error::AppResult;
use crate::view::short_id;
use crate::workflow_runs::with_actual_status;

/// More runs would hide the newest.
const MAX_SHOWN_RUNS: usize = 5;

/// Returns the newest run of a conversation that has not ended.
pub(super) async fn find_open_run(store: &Store, conversation: &str) -> AppResult<Option<WorkflowRunRow>> {
    for run in store.runs_of_conversation(conversation).await? {
        if let Some(row) = store.workflow_run(&run).await?.filter(|row| row.ended_at.is_none()) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// Describes the newest runs of a conversation.
pub(super) async fn describe_runs(project: &Project, store: &Store, conversation: &str) -> AppResult<String> {
    let mut lines = Vec::new();
    for run in store.runs_of_conversation(conversation).await?.iter().take(MAX_SHOWN_RUNS) {
        if let Some(row) = store.workflow_run(run).await? {
            lines.push(describe_run(&with_actual_status(project, row)));
        }
    }
    Ok(match lines.is_empty() {
        true => "This conversation has started no workflow.".to_owned(),
        false => lines.join("\n"),
    })
}

pub(super) fn describe_run(run: &WorkflowRunRow) -> String {
    let metadata: Value = serde_json::from_str(&run.metadata).unwrap_or_default();
    let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
    let iteration = match (number("iteration_count"), number("max_iterations")) {
        (Some(count), Some(max)) => format!(", iteration {count}/{max}"),
        (_, _) => String::new(),
    };
    let reason = run.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    format!("{} (run {}): {}{iteration}{reason}", run.workflow, short_id(&run.id), run.status)
}
