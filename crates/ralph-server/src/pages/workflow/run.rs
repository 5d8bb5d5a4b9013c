//! A workflow run: its graph with live state, its questions, and its nodes with their outputs.
use askama::Template;
use axum::extract::Path;
use ralph_app::error::AppError;
use ralph_app::view::{format_elapsed, short_id};
use ralph_app::why::explain_decision;
use ralph_app::workflow_runs::{
    FoundWorkflowRun, NodeReport, OpenQuestionView, WorkflowRunView, find_workflow_run, load_timed_events, report_nodes,
};
use ralph_engine::run_driver::Clock;
use serde_json::json;

use super::graph_view::GraphView;
use super::node_timeline::draw_node_timeline;
use crate::pages::controls::{Controls, OrderButton, OrderForm};
use crate::pages::display::{DisplayText, DisplayTime, StatusMark, path_segment, short_cost, without_status};
use crate::pages::frame::{NavPage, PageError, PageFrame, PageHeading, PageRequest, PageResult, ProjectState, render};
use crate::pages::home::RunningWorkflow;
use crate::pages::shown_decision::ShownDecision;
use crate::pages::timeline::Timeline;

/// A question that waits for an answer.
struct QuestionPanel {
    node: DisplayText,
    shown: ShownDecision,
}

/// A value that a condition compared.
struct ComparedValue {
    reference: DisplayText,
    value: DisplayText,
}

/// A run of an agent.
struct PassLink {
    href: String,
    id: DisplayText,
}

struct NodePanel {
    key: DisplayText,
    mark: StatusMark,
    iteration: DisplayText,
    /// The marks of the iterations of its group, if there are several.
    history: Vec<StatusMark>,
    took: String,
    cost: String,
    note: DisplayText,
    compared: Vec<ComparedValue>,
    runs: Vec<PassLink>,
    output: DisplayText,
    rerun_body: String,
}

#[derive(Template)]
#[template(path = "workflow_run.html")]
struct WorkflowRunPage {
    frame: PageFrame,
    title: DisplayText,
    short: DisplayText,
    status: StatusMark,
    headline: DisplayText,
    message: DisplayText,
    workflow: DisplayText,
    workflow_href: String,
    started: DisplayTime,
    took: String,
    cost: String,
    proof: Option<StatusMark>,
    has_ended: bool,
    rerun_path: String,
    rerun_of: Option<PassLink>,
    questions: Vec<QuestionPanel>,
    graph: Option<GraphView>,
    timeline: Option<Timeline>,
    nodes: Vec<NodePanel>,
    children: Vec<RunningWorkflow>,
    controls: Controls,
}

pub(in crate::pages) async fn show_workflow_run(request: PageRequest, Path(id): Path<String>) -> PageResult {
    let page = load_page(&request, &id).await;
    Ok(render(&page.map_err(|error| PageError::from_app_error(&request.context, &error))?))
}

async fn load_page(request: &PageRequest, id: &str) -> Result<WorkflowRunPage, AppError> {
    let context = &request.context;
    let FoundWorkflowRun { store, run } = find_workflow_run(&context.project, Some(id)).await?;
    let view = WorkflowRunView::load(&context.project, &store, run).await?;
    let events = load_timed_events(&store, &view.run).await?;
    store.close().await;
    let why = explain_decision(&context.project, Some(&view.run.id), None).await?;
    let state = ProjectState::load(context).await?;
    let now = Clock::wall_now().0;
    let reports = report_nodes(&view);
    let run = &view.run;
    let end = run.ended_at.unwrap_or(now);
    let title = format!("{} {}", run.workflow, short_id(&run.id));
    let api = format!("/api/workflow-runs/{}", path_segment(&run.id));
    Ok(WorkflowRunPage {
        title: DisplayText::new(&run.workflow),
        short: DisplayText::new(short_id(&run.id)),
        status: StatusMark::new(&run.status),
        headline: DisplayText::new(without_status(&why.explained.headline)),
        message: DisplayText::new(&run.message),
        workflow: DisplayText::new(&run.workflow),
        workflow_href: format!("/workflows/{}", path_segment(&run.workflow)),
        started: DisplayTime::new(run.started_at),
        took: format_elapsed(run.ended_at.unwrap_or(now) - run.started_at),
        cost: view.cost_micros.map_or_else(|| "cost unknown".to_owned(), |micros| short_cost(Some(micros))),
        proof: view.proof.map(|proof| StatusMark::new(proof.as_str())),
        has_ended: run.ended_at.is_some() && run.parent.is_none(),
        rerun_path: format!("{api}/rerun"),
        rerun_of: run.rerun_of.as_deref().map(workflow_link),
        questions: view.open_questions.iter().map(QuestionPanel::new).collect(),
        graph: view.spec.as_ref().map(|spec| GraphView::new(&spec.workflow, &reports, now)),
        timeline: view.spec.as_ref().map(|spec| draw_node_timeline(&spec.workflow, &reports, &events, end)),
        nodes: reports.iter().map(|report| NodePanel::new(report, now)).collect(),
        children: view.children.iter().map(RunningWorkflow::new).collect(),
        controls: if run.ended_at.is_none() { run_controls(&api, &run.status) } else { Controls::default() },
        frame: PageFrame::new(request, &state, PageHeading { title: &title, nav: NavPage::Workflows, api }),
    })
}

fn workflow_link(id: &str) -> PassLink {
    PassLink { href: format!("/workflow-runs/{}", path_segment(id)), id: DisplayText::new(short_id(id)) }
}

fn run_controls(api: &str, status: &str) -> Controls {
    let order = |label: &str, order: &str, done| OrderButton::new(label, format!("{api}/{order}"), &json!({}), done);
    let first = match status {
        "running" => Some(order("Pause", "pause", "The workflow pauses after the nodes that run.")),
        // The answer lets it continue.
        "waiting" => None,
        _ => Some(order("Resume", "resume", "The workflow continues.")),
    };
    let cancel = order("Cancel", "cancel", "The workflow is cancelled.").danger("Cancel this workflow run?");
    let guide = OrderForm::new("Guide", format!("{api}/guide"), "words", "guidance for the agents");
    Controls {
        buttons: first.into_iter().chain([cancel]).collect(),
        forms: vec![guide.with_done("The agents get the guidance.")],
        ..Controls::default()
    }
}

impl QuestionPanel {
    fn new(open: &OpenQuestionView) -> Self {
        Self { node: DisplayText::new(&open.node), shown: ShownDecision::of_question(open) }
    }
}

impl NodePanel {
    fn new(report: &NodeReport, now: i64) -> Self {
        let iteration = match (report.iteration, report.max_iterations) {
            (Some(iteration), Some(most)) => format!("iteration {iteration}/{most}"),
            (None, Some(most)) => format!("at most {most} iterations"),
            (_, None) => String::new(),
        };
        let history = if report.history.len() > 1 { &report.history[..] } else { &[] };
        Self {
            key: DisplayText::new(&report.key),
            mark: StatusMark::new(&report.status),
            iteration: iteration.into(),
            history: history.iter().map(|status| StatusMark::new(status)).collect(),
            took: report.started_at.map(|at| format_elapsed(report.ended_at.unwrap_or(now) - at)).unwrap_or_default(),
            cost: report.cost_micros.map(|micros| short_cost(Some(micros))).unwrap_or_default(),
            note: report.note.as_deref().map(DisplayText::new).unwrap_or_default(),
            compared: report.condition_values.iter().map(ComparedValue::new).collect(),
            runs: report.runs.iter().map(|run| run_link(run)).collect(),
            output: report.output.as_deref().map(|text| DisplayText::new(text.trim())).unwrap_or_default(),
            rerun_body: json!({ "from": report.key }).to_string(),
        }
    }
}

fn run_link(id: &str) -> PassLink {
    PassLink { href: format!("/runs/{}", path_segment(id)), id: DisplayText::new(short_id(id)) }
}

impl ComparedValue {
    fn new(compared: &ralph_app::workflow_runs::ConditionValue) -> Self {
        let value = compared.value.as_ref().map(|value| format!("{value:?}"));
        Self {
            reference: DisplayText::new(&compared.reference),
            value: value.map_or_else(|| "has no value".into(), DisplayText::from),
        }
    }
}
