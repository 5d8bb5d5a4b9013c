//! The workflows that can be started, and the newest runs.
use askama::Template;
use ralph_app::workflow_runs::list_workflow_runs;
use ralph_app::workflows::{CatalogEntry, WorkflowCatalog};

use crate::pages::display::{DisplayText, path_segment};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};
use crate::pages::home::RunningWorkflow;

const RUN_COUNT: u32 = 50;

struct WorkflowLine {
    href: String,
    name: DisplayText,
    origin: &'static str,
    path: DisplayText,
}

impl WorkflowLine {
    fn new(entry: &CatalogEntry) -> Self {
        Self {
            href: format!("/workflows/{}", path_segment(&entry.name)),
            name: DisplayText::new(&entry.name),
            origin: entry.origin.name(),
            path: DisplayText::new(&entry.display_path),
        }
    }
}

#[derive(Template)]
#[template(path = "workflows.html")]
struct WorkflowsPage {
    frame: PageFrame,
    workflows: Vec<WorkflowLine>,
    runs: Vec<RunningWorkflow>,
}

pub(in crate::pages) async fn show_workflows(request: PageRequest) -> PageResult {
    let project = &request.context.project;
    let runs = list_workflow_runs(project, RUN_COUNT).await;
    let runs = runs.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    // The catalog reads files and is not kept across an await.
    let workflows = WorkflowCatalog::open(Some(project)).active_entries().map(WorkflowLine::new).collect();
    let heading = PageHeading { title: "Workflows", nav: NavPage::Workflows, api: "/api/workflows".to_owned() };
    let frame = PageFrame::load(&request, heading).await?;
    Ok(render(&WorkflowsPage { frame, workflows, runs: runs.iter().map(RunningWorkflow::new).collect() }))
}
