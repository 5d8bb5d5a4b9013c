//! One workflow: its graph, its inputs, and a form that starts it.
use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use ralph_app::workflow_runs::list_workflow_runs;
use ralph_app::workflows::graph::{GraphRow, list_rows};
use ralph_app::workflows::{WorkflowCatalog, WorkflowError};
use ralph_core::workflow::{InputDefinition, Workflow};

use super::graph_view::GraphView;
use crate::pages::display::{DisplayText, path_segment};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, render};
use crate::pages::home::RunningWorkflow;

/// Among how many of the newest workflow runs those of the workflow are searched.
const RUN_WINDOW: u32 = 200;

struct InputLine {
    name: DisplayText,
    description: DisplayText,
    default: DisplayText,
    is_required: bool,
}

struct NodeLine {
    id: DisplayText,
    kind: &'static str,
    detail: DisplayText,
    depends_on: DisplayText,
    when: DisplayText,
}

#[derive(Template)]
#[template(path = "workflow.html")]
struct WorkflowPage {
    frame: PageFrame,
    name: DisplayText,
    description: DisplayText,
    graph: GraphView,
    inputs: Vec<InputLine>,
    nodes: Vec<NodeLine>,
    runs: Vec<RunningWorkflow>,
    start_body: String,
}

pub(in crate::pages) async fn show_workflow(request: PageRequest, Path(name): Path<String>) -> PageResult {
    let project = &request.context.project;
    let workflow = load_workflow(&request, &name)?;
    let runs = list_workflow_runs(project, RUN_WINDOW).await;
    let runs = runs.map_err(|error| PageError::from_app_error(&request.context, &error))?;
    let title = format!("Workflow {name}");
    let api = format!("/api/workflows/{}", path_segment(&name));
    let frame = PageFrame::load(&request, PageHeading { title: &title, nav: NavPage::Workflows, api }).await?;
    Ok(render(&WorkflowPage {
        frame,
        name: DisplayText::new(&name),
        description: DisplayText::new(&workflow.description),
        graph: GraphView::new(&workflow, &[], 0),
        inputs: workflow.inputs.iter().map(|(name, input)| InputLine::new(name, input)).collect(),
        nodes: list_rows(&workflow).iter().map(NodeLine::new).collect(),
        runs: runs.iter().filter(|run| run.workflow == name).take(10).map(RunningWorkflow::new).collect(),
        start_body: serde_json::json!({ "workflow": name }).to_string(),
    }))
}

/// The catalog reads files and is not kept across an await.
fn load_workflow(request: &PageRequest, name: &str) -> Result<Workflow, PageError> {
    let catalog = WorkflowCatalog::open(Some(&request.context.project));
    match catalog.find(name) {
        Ok(found) => Ok(found.loaded.workflow.clone()),
        Err(WorkflowError::Unknown { name, hint }) => {
            Err(PageError::new(StatusCode::NOT_FOUND, format!("There is no workflow named {name:?}. {hint}")))
        }
        Err(WorkflowError::Broken { name, problems }) => {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            Err(PageError::new(StatusCode::CONFLICT, format!("The workflow {name} has errors: {first}")))
        }
    }
}

impl InputLine {
    fn new(name: &str, input: &InputDefinition) -> Self {
        Self {
            name: DisplayText::new(name),
            description: input.description.as_deref().map(DisplayText::new).unwrap_or_default(),
            default: input.default.as_deref().map(DisplayText::new).unwrap_or_default(),
            is_required: input.required,
        }
    }
}

impl NodeLine {
    fn new(row: &GraphRow) -> Self {
        Self {
            id: DisplayText::new(format!("{}{}", "  ".repeat(row.depth), row.id)),
            kind: row.kind,
            detail: DisplayText::new(&row.detail),
            depends_on: DisplayText::new(row.depends_on.join(", ")),
            when: row.when.as_deref().map(DisplayText::new).unwrap_or_default(),
        }
    }
}
