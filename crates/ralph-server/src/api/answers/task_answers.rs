//! Answers about tasks.
#![expect(dead_code, reason = "the types describe what the handlers format; nothing reads their fields")]
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(super) struct TaskListAnswer {
    tasks: Vec<TaskItemAnswer>,
    /// The value of `after` for the next page.
    next: Option<String>,
    total: u64,
}

/// A task in a list.
#[derive(ToSchema)]
pub(super) struct TaskItemAnswer {
    id: String,
    status: String,
    proof: Option<String>,
    title: String,
    spec_id: Option<String>,
    priority: u32,
    dependencies: Vec<String>,
    ready: bool,
    approved: bool,
    assignee: Option<String>,
    iteration: i64,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
    run: Option<StageItemAnswer>,
}

/// The newest run of a task.
#[derive(ToSchema)]
pub(super) struct StageItemAnswer {
    id: String,
    role: String,
    status: String,
    iterations: i64,
    max_iterations: i64,
}

#[derive(ToSchema)]
pub(super) struct TaskAnswer {
    id: String,
    status: String,
    title: String,
    description: Option<String>,
    proof: Option<String>,
    spec_id: Option<String>,
    priority: u32,
    dependencies: Vec<String>,
    approved: bool,
    assignee: Option<String>,
    #[schema(value_type = Option<Object>)]
    completion: Option<()>,
    /// The runs of the task, as `/api/runs/ID` has them.
    #[schema(value_type = Vec<Object>)]
    runs: Vec<()>,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    updated_at: String,
}
