//! Answers about workflows and their runs.
#![expect(dead_code, reason = "the types describe what the handlers format; nothing reads their fields")]
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(super) struct WorkflowListAnswer {
    workflows: Vec<WorkflowItemAnswer>,
}

/// A workflow that can be started, unless it has an error.
#[derive(ToSchema)]
pub(super) struct WorkflowItemAnswer {
    name: String,
    origin: String,
    file: Option<String>,
}

#[derive(ToSchema)]
pub(super) struct WorkflowAnswer {
    name: String,
    origin: String,
    file: Option<String>,
    #[schema(value_type = Object)]
    workflow: (),
    triggers: Vec<String>,
    #[schema(value_type = Vec<Object>)]
    notes: Vec<()>,
    #[schema(value_type = Vec<Object>)]
    graph: Vec<()>,
}

#[derive(ToSchema)]
pub(super) struct WorkflowRunListAnswer {
    workflow_runs: Vec<WorkflowRunItemAnswer>,
    /// The value of `before` for the next page.
    next: Option<String>,
}

/// A workflow run in a list. Times are in milliseconds since 1970.
#[derive(ToSchema)]
pub(super) struct WorkflowRunItemAnswer {
    id: String,
    status: String,
    workflow: String,
    /// The message that it was started with.
    prompt: String,
    reason: Option<String>,
    exit_code: Option<i64>,
    proof: Option<String>,
    current_step_index: i64,
    #[schema(value_type = Object)]
    metadata: (),
    rerun_of: Option<String>,
    parent: Option<String>,
    parent_node: Option<String>,
    started_at: i64,
    ended_at: Option<i64>,
    /// In lists: the nodes that run now.
    active_nodes: Option<Vec<String>>,
}

#[derive(ToSchema)]
pub(super) struct WorkflowRunAnswer {
    id: String,
    status: String,
    workflow: String,
    message: String,
    reason: Option<String>,
    exit_code: Option<i64>,
    proof: Option<String>,
    cost_micros: Option<i64>,
    nodes: Vec<NodeAnswer>,
    /// What it asks a person.
    questions: Vec<QuestionAnswer>,
    children: Vec<WorkflowRunItemAnswer>,
    reruns: Vec<String>,
    started_at: i64,
    ended_at: Option<i64>,
}

#[derive(ToSchema)]
pub(super) struct NodeAnswer {
    node: String,
    iteration: i64,
    status: String,
    output: Option<String>,
    proof: Option<String>,
    runs: Vec<String>,
    started_at: Option<i64>,
    ended_at: Option<i64>,
}

#[derive(ToSchema)]
pub(super) struct QuestionAnswer {
    /// The run that asks: this one or a child.
    run: String,
    node: String,
    text: String,
    decisions: Vec<String>,
    /// What an answer to this question must carry.
    seen: String,
}
