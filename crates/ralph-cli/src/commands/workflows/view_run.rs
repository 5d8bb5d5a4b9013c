//! What `show`, `logs`, `runs` and `status` print about workflow runs.
use ralph_app::view::{format_cost, format_minute, short_id, workflow_node_output, workflow_view_json};
use ralph_app::workflow_runs::{FoundWorkflowRun, WorkflowRunView, find_workflow_run, workflow_proof, workflow_title};
use ralph_engine::project::Project;
use ralph_store::WorkflowRunRow;
use ralph_util::sanitize::sanitize_text;

use crate::commands::{block_on, out};
use crate::error::CommandError;
use crate::report::TextTable;

/// Prints a workflow run with its nodes.
pub fn show(project: &Project, part: Option<&str>, is_json: bool) -> Result<u8, CommandError> {
    let (view, reruns) = block_on(async {
        let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
        let reruns = store.reruns_of_workflow_run(&run.id).await?;
        let view = WorkflowRunView::load(project, &store, run).await?;
        store.close().await;
        Ok((view, reruns))
    })?;
    let reruns: Vec<&str> = reruns.iter().map(|run| run.id.as_str()).collect();
    if is_json {
        out::print_line(&workflow_view_json(&view, &reruns).to_string());
    } else {
        out::print_wrapped(&sanitize_text(&view_text(&view, &reruns)));
    }
    Ok(0)
}

/// Returns the cells of a workflow run in `ralph runs`.
pub fn row_cells(run: &WorkflowRunRow) -> [String; 6] {
    [
        short_id(&run.id).to_owned(),
        format_minute(run.started_at),
        status_text(run),
        run.step_index.to_string(),
        "workflow".to_owned(),
        title_of(run),
    ]
    .map(|cell| sanitize_text(&cell))
}

/// Returns the status, with the proof level of a completed run.
fn status_text(run: &WorkflowRunRow) -> String {
    match workflow_proof(run) {
        Some(proof) => format!("{} ({})", run.status, proof.as_str()),
        None => run.status.clone(),
    }
}

/// Returns the name of the workflow with the first line of its message, if it has one.
pub fn title_of(run: &WorkflowRunRow) -> String {
    workflow_title(&run.workflow, &run.message)
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
    if let Some(parent) = &run.parent {
        let node = run.parent_node.as_deref().unwrap_or_default();
        text.push_str(&format!("parent    {}, node {node}\n", short_id(parent)));
    }
    if let Some(cost) = view.cost_micros {
        text.push_str(&format!("spent     {}\n", format_cost(Some(cost))));
    }
    for rerun in reruns {
        text.push_str(&format!("rerun     {}\n", short_id(rerun)));
    }
    let rows = view.nodes.iter().filter(|node| node.item.is_none()).map(|node| {
        let runs: Vec<&str> =
            view.passes.iter().filter(|(of, _)| *of == node.node).map(|(_, run)| short_id(&run.id)).collect();
        let output = workflow_node_output(node).unwrap_or_default();
        let first = output.lines().next().unwrap_or_default().chars().take(60).collect::<String>();
        [node.node.clone(), node.status.clone(), runs.join(" "), first]
    });
    let table = TextTable::new(["node", "status", "runs", "output"], rows.collect());
    text.push_str(&format!("\n{}", table.render_for(&std::io::stdout())));
    for stored in &view.receipts {
        let (completion, proof) = (stored.receipt.describe_completion(), stored.receipt.proof.as_str());
        text.push_str(&format!("\nreceipt   {}: completed by {completion} ({proof})\n", stored.node));
    }
    if !view.children.is_empty() {
        let rows = view.children.iter().map(|child| {
            let node = child.parent_node.clone().unwrap_or_default();
            [short_id(&child.id).to_owned(), node, child.workflow.clone(), status_text(child)]
        });
        let table = TextTable::new(["child", "node", "workflow", "status"], rows.collect());
        text.push_str(&format!("\n{}", table.render_for(&std::io::stdout())));
    }
    for question in &view.open_questions {
        text.push_str(&format!("\n{} asks: {}\n", question.node, question.text));
    }
    text
}

#[cfg(test)]
mod tests {
    use ralph_app::workflow_runs::workflow_title;

    // spec: U9
    // finding: N47
    #[test]
    fn a_run_is_named_by_its_workflow_and_the_first_line_of_its_message() {
        assert_eq!(workflow_title("slow", "Fix it\nnow"), "slow: Fix it");
        assert_eq!(workflow_title("slow", ""), "slow");
    }
}
