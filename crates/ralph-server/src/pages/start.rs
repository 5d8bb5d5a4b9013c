//! The page that starts a run, a worker or a workflow.
use askama::Template;
use ralph_app::agents::list_agents;
use ralph_app::workflows::WorkflowCatalog;

use super::display::{DisplayText, path_segment};
use super::frame::{NavPage, PageFrame, PageHeading, PageRequest, PageResult, render};

struct WorkflowChoice {
    href: String,
    name: DisplayText,
}

struct AgentChoice {
    name: DisplayText,
    is_default: bool,
}

#[derive(Template)]
#[template(path = "start.html")]
struct StartPage {
    frame: PageFrame,
    agents: Vec<AgentChoice>,
    workflows: Vec<WorkflowChoice>,
}

pub(super) async fn show_start(request: PageRequest) -> PageResult {
    let context = &request.context;
    let settings = context.config.load_settings(Some(&context.project)).unwrap_or_default();
    let default = settings.agent.value;
    let agents = list_agents(&context.project.root);
    let agents = agents.iter().map(|agent| AgentChoice {
        name: DisplayText::new(agent.agent.name()),
        is_default: agent.agent.name() == default,
    });
    let agents = agents.collect();
    let workflow = |entry: &ralph_app::workflows::CatalogEntry| WorkflowChoice {
        href: format!("/workflows/{}#start", path_segment(&entry.name)),
        name: DisplayText::new(&entry.name),
    };
    let workflows = WorkflowCatalog::open(Some(&context.project)).active_entries().map(workflow).collect();
    let heading = PageHeading { title: "Start", nav: NavPage::Start, api: "/api/runs".to_owned() };
    Ok(render(&StartPage { frame: PageFrame::load(&request, heading).await?, agents, workflows }))
}
