//! Loads the report of a run, of a task with all its stages, or of a workflow run with the runs of its agents.
use ralph_core::receipt::ProofLevel;
use ralph_engine::project::Project;
use ralph_store::{Store, TaskRow};

use super::document::{ReportBlock, ReportCell, ReportDocument, ReportFact, ReportTable};
use super::run_section::{run_blocks, tone_of_status};
use crate::error::AppResult;
use crate::maintenance::{DiffDetail, diff_run};
use crate::run::{load_run_view, open_existing_store};
use crate::view::{RunView, format_cost, format_elapsed, format_timestamp, run_title, short_id};
use crate::why::explain_decision;
use crate::workflow_runs::{FoundWorkflowRun, WorkflowRunView, find_workflow_run, names_workflow_run, workflow_title};

/// Returns the report of the task of that id, of the run or workflow run whose id starts or ends with it, or of the newest run.
pub async fn load_report(project: &Project, id: Option<&str>) -> AppResult<ReportDocument> {
    if let (Some(id), Some(store)) = (id, open_existing_store(project).await?) {
        let row = store.get_task(id).await?;
        if let Some(row) = row {
            return report_task(project, store, &row).await;
        }
        store.close().await;
    }
    if names_workflow_run(project, id).await? {
        return report_workflow(project, id).await;
    }
    let view = load_run_view(project, id).await?;
    let why = explain_decision(project, Some(view.id()), None).await.ok();
    let mut blocks = run_blocks(project, &view, why.as_ref()).await;
    insert_changed_files(&mut blocks, project, view.id()).await;
    Ok(ReportDocument {
        title: format!("Report of run {} · {}", short_id(view.id()), run_title(view.row())),
        headline: view.headline().to_owned(),
        tone: tone_of_status(&view.row().status),
        blocks,
    })
}

async fn report_task(project: &Project, store: Store, row: &TaskRow) -> AppResult<ReportDocument> {
    let (task, status) = (&row.task, row.task.status.as_str());
    let mut views = Vec::new();
    for run in store.runs_of_task(&task.id).await? {
        views.push(RunView::load(&store, run).await?);
    }
    store.close().await;
    let why = explain_decision(project, Some(&task.id), None).await?;
    let cost = sum_known(views.iter().map(|view| view.row().cost_micros));
    let mut blocks = vec![ReportBlock::Facts(vec![
        ReportFact::new("status", status),
        ReportFact::new("proof", row.proof.clone().unwrap_or_else(|| "none".to_owned())),
        ReportFact::new("title", task.title.clone()),
        ReportFact::new("runs", views.len().to_string()),
        ReportFact::new("spent", cost),
    ])];
    if let Some(completion) = &task.completion {
        blocks.extend([ReportBlock::Section("Outcome"), ReportBlock::Paragraph(completion.outcome.clone())]);
        blocks.push(ReportBlock::List(completion.acceptance_criteria.clone()));
    }
    if !views.is_empty() {
        insert_changed_files(&mut blocks, project, &task.id).await;
    }
    for view in &views {
        blocks.extend(part_of_run(project, view, view.row().role.as_deref().unwrap_or("run")).await);
    }
    Ok(ReportDocument {
        title: format!("Report of task {} · {}", task.id, task.title),
        headline: why.explained.headline,
        tone: tone_of_status(status),
        blocks,
    })
}

/// Returns the sections of one of several runs. `name` is its stage or node.
async fn part_of_run(project: &Project, view: &RunView, name: &str) -> Vec<ReportBlock> {
    let title = format!("{name} · run {} · {}", short_id(view.id()), view.headline());
    let why = explain_decision(project, Some(view.id()), None).await.ok();
    let mut blocks = vec![ReportBlock::Part(title)];
    blocks.extend(run_blocks(project, view, why.as_ref()).await);
    blocks
}

async fn report_workflow(project: &Project, id: Option<&str>) -> AppResult<ReportDocument> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, id).await?;
    let view = WorkflowRunView::load(project, &store, run).await?;
    let mut passes = Vec::new();
    for (node, row) in &view.passes {
        passes.push((node.clone(), RunView::load(&store, row.clone()).await?));
    }
    store.close().await;
    let why = explain_decision(project, Some(&view.run.id), None).await?;
    let run = &view.run;
    let mut facts = vec![
        ReportFact::new("status", run.status.clone()),
        ReportFact::new("proof", view.proof.map_or("none", ProofLevel::as_str)),
        ReportFact::new("run", run.id.clone()),
    ];
    facts.extend((!run.message.is_empty()).then(|| ReportFact::new("message", run.message.clone())));
    facts.push(ReportFact::new("started", format_timestamp(run.started_at)));
    facts.push(ReportFact::new("ended", run.ended_at.map_or_else(|| "not yet".to_owned(), format_timestamp)));
    facts.push(ReportFact::new("spent", format_cost(view.cost_micros)));
    let mut blocks = vec![
        ReportBlock::Facts(facts),
        ReportBlock::Section("Why"),
        ReportBlock::Sentence(why.explained.rule.sentence()),
    ];
    let evidence: Vec<String> = why.explained.evidence.iter().map(|line| line.text.clone()).collect();
    blocks.extend((!evidence.is_empty()).then_some(ReportBlock::List(evidence)));
    blocks.extend([ReportBlock::Section("Nodes"), ReportBlock::Table(node_table(&view))]);
    for (node, pass) in &passes {
        blocks.extend(part_of_run(project, pass, node).await);
    }
    Ok(ReportDocument {
        title: format!(
            "Report of workflow run {} · {}",
            short_id(&run.id),
            workflow_title(&run.workflow, &run.message)
        ),
        headline: why.explained.headline,
        tone: tone_of_status(&run.status),
        blocks,
    })
}

fn node_table(view: &WorkflowRunView) -> ReportTable {
    let columns = ["node", "iteration", "status", "took"].map(str::to_owned).to_vec();
    let rows = view.nodes.iter().filter(|node| node.item.is_none()).map(|node| {
        // A node outside of loops has no iteration.
        let iteration = if node.generation == 0 { String::new() } else { node.generation.to_string() };
        let took = node.started_at.zip(node.ended_at).map(|(from, until)| format_elapsed(until.saturating_sub(from)));
        let cells = [node.node.clone(), iteration, node.status.clone(), took.unwrap_or_default()];
        cells.map(ReportCell::text).to_vec()
    });
    ReportTable { columns, rows: rows.collect() }
}

/// Adds the files that a run or task changed, before the receipt. Files that cannot be compared hide nothing else.
async fn insert_changed_files(blocks: &mut Vec<ReportBlock>, project: &Project, id: &str) {
    let changed = match diff_run(project, Some(id), DiffDetail::FileList).await {
        Ok(diff) if diff.text.trim().is_empty() => ReportBlock::Sentence("No file has changed."),
        Ok(diff) => ReportBlock::Code(diff.text),
        Err(_) => ReportBlock::Sentence("The files before and after are not known."),
    };
    let is_late = |block: &ReportBlock| matches!(block, ReportBlock::Section("Changed tests" | "Receipt" | "Prompts"));
    let place = blocks.iter().position(is_late).unwrap_or(blocks.len());
    blocks.splice(place..place, [ReportBlock::Section("Changed files"), changed]);
}

/// Adds costs. If one of them is unknown, the sum is a lower limit.
fn sum_known(costs: impl Iterator<Item = Option<i64>>) -> String {
    let costs: Vec<Option<i64>> = costs.collect();
    let known: i64 = costs.iter().flatten().sum();
    match costs.iter().filter(|cost| cost.is_none()).count() {
        0 => format_cost(Some(known)),
        unknown if unknown == costs.len() => format_cost(None),
        unknown => format!("at least {} (of {unknown} runs the cost is unknown)", format_cost(Some(known))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::document::ReportTone;

    // spec: U6, O2
    #[test]
    fn an_unknown_cost_is_never_shown_as_zero() {
        assert_eq!(sum_known([Some(1_500_000), Some(500_000)].into_iter()), "$2.00");
        assert_eq!(sum_known([None, None].into_iter()), "cost unknown");
        assert_eq!(sum_known([Some(1_500_000), None].into_iter()), "at least $1.50 (of 1 runs the cost is unknown)");
        assert_eq!(tone_of_status("blocked"), ReportTone::Bad);
    }
}
