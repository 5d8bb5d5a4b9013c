//! What `show`, `logs`, `runs` and `status` print about workflow runs.
use ralph_app::view::{format_minute, short_id};
use ralph_app::workflow_runs::{FoundWorkflowRun, WorkflowLog, WorkflowRunView, find_workflow_run};
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::graph::{NodeOutcome, NodeRow, NodeState};
use ralph_engine::project::Project;
use ralph_store::{WorkflowNodeRow, WorkflowRunRow};
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;

/// Prints a workflow run with its nodes.
pub fn show(project: &Project, part: Option<&str>, is_json: bool) -> Result<u8, CommandError> {
    let (view, reruns) = block_on(async {
        let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
        let reruns = store.reruns_of_workflow_run(&run.id).await?;
        let view = WorkflowRunView::load(&store, run).await?;
        store.close().await;
        Ok((view, reruns))
    })?;
    let reruns: Vec<&str> = reruns.iter().map(|run| run.id.as_str()).collect();
    if is_json {
        out::print_line(&view_json(&view, &reruns).to_string());
    } else {
        out::print_wrapped(&sanitize_text(&view_text(&view, &reruns)));
    }
    Ok(0)
}

/// Prints the log of a workflow run.
pub fn print_log(project: &Project, part: Option<&str>) -> Result<u8, CommandError> {
    let run = block_on(async {
        let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
        store.close().await;
        Ok(run)
    })?;
    let path = WorkflowLog::path_of(project, &run.id);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        CommandError::preflight_error(format!("the log of workflow run {} cannot be read", short_id(&run.id)))
            .with_cause(format!("{}: {error}", path.display()))
    })?;
    for line in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        if let Some(text) = log_line(&line) {
            out::print_message(&sanitize_text(&text));
        }
    }
    Ok(0)
}

fn log_line(line: &Value) -> Option<String> {
    let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let node = field("node");
    Some(match field("event") {
        "assistant" => format!("{node}  {}", field("text").trim_end()),
        "tool" => format!("{node}  > {} {}", field("name"), field("detail")),
        "error" => format!("{node}  error: {}", field("text")),
        "message" => field("text").to_owned(),
        "node.started" => format!("{node}  started"),
        "node.completed" => format!("{node}  completed"),
        "node.failed" => format!("{node}  failed: {}", field("reason")),
        "node.skipped" => format!("{node}  skipped: {}", field("reason")),
        "question.asked" => format!("{node}  asks: {}", field("text")),
        "question.answered" => format!("{node}  {}, by {}", field("decision"), field("person")),
        "workflow.finished" => format!("{}: {}", field("status"), field("reason")),
        _ => return None,
    })
}

/// Returns the object of a workflow run in lists.
pub fn row_json(run: &WorkflowRunRow) -> Value {
    json!({
        "id": run.id,
        "status": run.status,
        "kind": "workflow",
        "workflow": run.workflow,
        "prompt": run.message,
        "reason": run.reason,
        "exit_code": run.exit_code,
        "current_step_index": run.step_index,
        "metadata": serde_json::from_str::<Value>(&run.metadata).unwrap_or_default(),
        "rerun_of": run.rerun_of,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    })
}

/// Returns the cells of a workflow run in `ralph runs`.
pub fn row_cells(run: &WorkflowRunRow) -> [String; 6] {
    [
        short_id(&run.id).to_owned(),
        format_minute(run.started_at),
        run.status.clone(),
        run.step_index.to_string(),
        "workflow".to_owned(),
        format!("{}: {}", run.workflow, run.message.lines().next().unwrap_or_default()),
    ]
    .map(|cell| sanitize_text(&cell))
}

fn view_json(view: &WorkflowRunView, reruns: &[&str]) -> Value {
    let mut object = row_json(&view.run);
    let nodes: Vec<Value> =
        view.nodes.iter().filter(|node| node.item.is_none()).map(|node| node_json(view, node)).collect();
    let questions: Vec<Value> = view
        .open_questions
        .iter()
        .map(|open| json!({ "node": open.node, "text": open.text, "decisions": open.decisions }))
        .collect();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("nodes".to_owned(), nodes.into());
        fields.insert("questions".to_owned(), questions.into());
        fields.insert("proof".to_owned(), json!(view.proof));
        fields.insert("reruns".to_owned(), json!(reruns));
        fields.insert("message".to_owned(), json!(view.run.message));
        fields.insert("file_sha256".to_owned(), json!(view.spec.as_ref().map(|spec| &spec.file_sha256)));
        fields.insert("base_commit".to_owned(), json!(view.spec.as_ref().map(|spec| &spec.base_commit)));
    }
    object
}

fn node_json(view: &WorkflowRunView, node: &WorkflowNodeRow) -> Value {
    let runs: Vec<&str> =
        view.passes.iter().filter(|(of, _)| *of == node.node).map(|(_, run)| run.id.as_str()).collect();
    json!({
        "node": node.node,
        "iteration": node.generation,
        "status": node.status,
        "output": output_of(node),
        "proof": proof_of(node),
        "runs": runs,
        "started_at": node.started_at,
        "ended_at": node.ended_at,
    })
}

/// Returns the output of a node that has completed.
fn output_of(node: &WorkflowNodeRow) -> Option<String> {
    let row: NodeRow = serde_json::from_str(&node.state).ok()?;
    match &row.state {
        NodeState::Settled { outcome } if node.status == "completed" => {
            outcome.output().read(None).ok().map(std::borrow::Cow::into_owned)
        }
        _ => None,
    }
}

/// Returns how well the completion of a loop or of checks is proven.
fn proof_of(node: &WorkflowNodeRow) -> Option<ProofLevel> {
    let row: NodeRow = serde_json::from_str(&node.state).ok()?;
    match row.state {
        NodeState::Settled { outcome: NodeOutcome::Completed { proof, .. } } => proof,
        _ => None,
    }
}

fn view_text(view: &WorkflowRunView, reruns: &[&str]) -> String {
    let run = &view.run;
    let mut text = format!("workflow {}  run {}\n", run.workflow, short_id(&run.id));
    let reason = run.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
    text.push_str(&format!("status    {}{reason}\n", run.status));
    if let Some(proof) = view.proof {
        text.push_str(&format!("proof     {}\n", proof.as_str()));
    }
    text.push_str(&format!("started   {}\n", format_minute(run.started_at)));
    if !run.message.is_empty() {
        text.push_str(&format!("message   {}\n", run.message));
    }
    if let Some(first) = &run.rerun_of {
        text.push_str(&format!("rerun of  {}\n", short_id(first)));
    }
    for rerun in reruns {
        text.push_str(&format!("rerun     {}\n", short_id(rerun)));
    }
    let rows = view.nodes.iter().filter(|node| node.item.is_none()).map(|node| {
        let runs: Vec<&str> =
            view.passes.iter().filter(|(of, _)| *of == node.node).map(|(_, run)| short_id(&run.id)).collect();
        let output = output_of(node).unwrap_or_default();
        let first = output.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        [node.node.clone(), node.status.clone(), runs.join(" "), first]
    });
    let table = TextTable::new(["node", "status", "runs", "output"], rows.collect());
    text.push_str(&format!("\n{}", table.render_for(&std::io::stdout())));
    for question in &view.open_questions {
        text.push_str(&format!("\n{} asks: {}\n", question.node, question.text));
    }
    text
}
