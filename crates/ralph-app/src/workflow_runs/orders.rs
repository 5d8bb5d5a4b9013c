//! Orders of people to a workflow run: pause, guidance and a new spending limit. They are stored beside the answers, so that a
//! run without a process gets them when it is resumed.
use ralph_core::limit_change::{LimitChange, LimitChanges};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{Clock, RunSpec, new_run_id};
use ralph_store::{NewWorkflowAnswer, Store, WorkflowAnswerRow, WorkflowRunRow};

use super::lookup::{FoundWorkflowRun, find_root_run, find_workflow_run};
use super::opened_run::load_spec;
use crate::control::{GuideResult, send_guidance, user_name};
use crate::error::{AppError, AppResult};
use crate::run::{is_orphaned, refuse_command_by_agent};
use crate::view::short_id;

/// The names of orders begin with this. No question has such a name.
const ORDER_PREFIX: &str = "order:";
const PAUSE: &str = "pause";
const PAUSE_NOW: &str = "pause_now";
const GUIDE: &str = "guide";
const LIMIT: &str = "limit";

/// An order that the driver has not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpenOrder {
    /// Names it among the answers of the run.
    pub name: String,
    pub order: WorkflowOrder,
    pub person: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WorkflowOrder {
    Pause(WorkflowPause),
    Guide {
        text: String,
    },
    /// A new total, in millionths of a dollar.
    Limit {
        max_cost_micros: u64,
    },
}

/// When a workflow run pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowPause {
    /// When the nodes that run have ended.
    AfterNodes,
    /// At once: the nodes are stopped, and run again.
    Now,
}

/// The result of guidance for a workflow run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowGuidance {
    /// The loops of these runs add it to their next prompt.
    Delivered { runs: Vec<String> },
    /// The next agent that starts gets it.
    Stored,
}

/// Reads the orders of a run that are not applied.
pub(super) async fn open_orders(store: &Store, run: &str) -> AppResult<Vec<OpenOrder>> {
    let answers = store.workflow_answers(run).await?;
    Ok(answers.into_iter().filter(|answer| answer.taken_at.is_none()).filter_map(OpenOrder::read).collect())
}

/// Returns the newest spending limit that a person has ordered for a run, applied or not.
pub(super) async fn ordered_limit(store: &Store, run: &str) -> AppResult<Option<u64>> {
    let answers = store.workflow_answers(run).await?;
    let mut limits = answers.into_iter().filter_map(OpenOrder::read).filter_map(|found| match found.order {
        WorkflowOrder::Limit { max_cost_micros } => Some(max_cost_micros),
        WorkflowOrder::Pause(_) | WorkflowOrder::Guide { .. } => None,
    });
    Ok(limits.next_back())
}

impl OpenOrder {
    fn read(answer: WorkflowAnswerRow) -> Option<Self> {
        let WorkflowAnswerRow { question, decision, text, person, .. } = answer;
        if !question.starts_with(ORDER_PREFIX) {
            return None;
        }
        let text = text.unwrap_or_default();
        let order = match decision.as_str() {
            PAUSE => WorkflowOrder::Pause(WorkflowPause::AfterNodes),
            PAUSE_NOW => WorkflowOrder::Pause(WorkflowPause::Now),
            GUIDE => WorkflowOrder::Guide { text },
            LIMIT => WorkflowOrder::Limit { max_cost_micros: text.parse().ok()? },
            _ => return None,
        };
        Some(Self { name: question, order, person })
    }
}

/// Pauses a run that a process drives: it ends, and `ralph resume` continues it.
pub async fn pause_workflow_run(
    project: &Project,
    part: Option<&str>,
    when: WorkflowPause,
) -> AppResult<WorkflowRunRow> {
    refuse_command_by_agent(project, "pause a workflow run of the project that it works on")?;
    let (store, run) = find_open_run(project, part).await?;
    if is_orphaned(project, &run.id) {
        return Err(AppError::preflight(format!("workflow run {} is not running: {}", short_id(&run.id), run.status))
            .with_advice("it has stopped already; resume it to continue"));
    }
    let decision = match when {
        WorkflowPause::AfterNodes => PAUSE,
        WorkflowPause::Now => PAUSE_NOW,
    };
    store_order(&store, &run.id, decision, None).await?;
    store.close().await;
    Ok(run)
}

/// Sends guidance to the loops that work for a run, or else to the next agent that starts.
pub async fn guide_workflow_run(
    project: &Project,
    part: Option<&str>,
    guidance: String,
) -> AppResult<WorkflowGuidance> {
    refuse_command_by_agent(project, "guide a workflow run of the project that it works on")?;
    let (store, run) = find_open_run(project, part).await?;
    let mut runs = Vec::new();
    for pass in store.passes_of_workflow_tree(&run.id).await? {
        let is_loop = RunSpec::parse(&pass.settings).is_ok_and(|spec| spec.policy.max_iterations > 1);
        if is_loop
            && pass.status == "running"
            && !is_orphaned(project, &pass.id)
            // It may have just ended.
            && let Ok(GuideResult::Delivered(_)) = send_guidance(project, Some(&pass.id), guidance.clone()).await
        {
            runs.push(pass.id);
        }
    }
    if runs.is_empty() {
        store_order(&store, &run.id, GUIDE, Some(&guidance)).await?;
    }
    store.close().await;
    Ok(if runs.is_empty() { WorkflowGuidance::Stored } else { WorkflowGuidance::Delivered { runs } })
}

/// Changes the spending limit of a run. Returns the new total, in millionths of a dollar.
pub async fn limit_workflow_run(project: &Project, part: Option<&str>, changes: LimitChanges) -> AppResult<u64> {
    refuse_command_by_agent(project, "change the limits of a workflow run of the project that it works on")?;
    let LimitChanges { max_iterations, max_cost_micros, max_tokens, max_duration_ms } = changes;
    let change = max_cost_micros.filter(|_| max_iterations.or(max_tokens).or(max_duration_ms).is_none());
    let change = change.ok_or_else(|| {
        AppError::invalid_request("a workflow run has only a spending limit")
            .with_advice("the other limits are those of its loops: change them with the id of the run of the agent")
    })?;
    let (store, run) = find_open_run(project, part).await?;
    let present = match ordered_limit(&store, &run.id).await? {
        Some(limit) => Some(limit),
        None => load_spec(&store, &run.id).await?.max_cost_micros,
    };
    let limit = match (change, present) {
        (LimitChange::Total(total), _) => total,
        (LimitChange::Added(added), Some(present)) => present.saturating_add(added),
        (LimitChange::Added(_), None) => {
            return Err(AppError::invalid_request("the workflow run has no spending limit to add to")
                .with_advice("give a total, without the plus sign"));
        }
    };
    store_order(&store, &run.id, LIMIT, Some(&limit.to_string())).await?;
    store.close().await;
    Ok(limit)
}

/// Returns the run without a parent, which has not ended.
pub(super) async fn find_open_run(project: &Project, part: Option<&str>) -> AppResult<(Store, WorkflowRunRow)> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    let run = find_root_run(&store, run).await?;
    if run.ended_at.is_some() {
        return Err(AppError::preflight(format!("workflow run {} has ended: {}", short_id(&run.id), run.status)));
    }
    Ok((store, run))
}

async fn store_order(store: &Store, run: &str, decision: &str, text: Option<&str>) -> AppResult<()> {
    let name = format!("{ORDER_PREFIX}{}", new_run_id());
    let person = user_name();
    let order = NewWorkflowAnswer { run, question: &name, decision, text, person: &person, at: Clock::wall_now() };
    match store.answer_workflow_question(&order).await? {
        true => Ok(()),
        false => Err(AppError::preflight(format!("workflow run {} has just ended", short_id(run)))),
    }
}
