//! Answers about the project: its state, its inbox, its journal and its conversations.
#![expect(dead_code, reason = "the types describe what the handlers format; nothing reads their fields")]
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(super) struct HealthAnswer {
    #[schema(example = "ok")]
    status: String,
    api_version: u32,
}

#[derive(ToSchema)]
pub(super) struct StatusAnswer {
    api_version: u32,
    /// Active loops, workers, and tasks that are being set up.
    #[schema(value_type = Vec<Object>)]
    loops: Vec<()>,
    workflow_runs: Vec<super::workflow_answers::WorkflowRunItemAnswer>,
    inbox_count: u64,
    /// The tasks that the worker of this server could not start.
    deferred_tasks: Vec<DeferredTaskAnswer>,
    /// The folder of the project.
    project: String,
}

#[derive(ToSchema)]
pub(super) struct DeferredTaskAnswer {
    task: String,
    reason: String,
    #[schema(format = DateTime)]
    since: String,
}

#[derive(ToSchema)]
pub(super) struct InboxListAnswer {
    items: Vec<InboxItemAnswer>,
}

/// Something that waits for a person.
#[derive(ToSchema)]
pub(super) struct InboxItemAnswer {
    /// The id of a task, else the short id of a run, else `project`.
    id: String,
    kind: String,
    task: Option<String>,
    run: Option<String>,
    title: String,
    reason: String,
    since: Option<String>,
    /// Whether a process is kept waiting.
    holds_slot: bool,
    blocked_tasks: u64,
    /// The commands that answer it.
    commands: Vec<String>,
}

#[derive(ToSchema)]
pub(super) struct StatsAnswer {
    by: String,
    #[schema(value_type = Object)]
    total: (),
    #[schema(value_type = Vec<Object>)]
    groups: Vec<()>,
}

/// A text that a person decides on.
#[derive(ToSchema)]
pub(super) struct ShownTextAnswer {
    text: String,
    /// What a decision on this text must carry.
    seen: String,
    /// The task whose checks these are.
    task: Option<String>,
    /// Whether the commands are approved.
    approved: Option<bool>,
}

#[derive(ToSchema)]
pub(super) struct CreatedAnswer {
    id: String,
}

/// What an order has done.
#[derive(ToSchema)]
pub(super) struct ResultAnswer {
    /// A stable word.
    result: String,
}

/// A part of a journal.
#[derive(ToSchema)]
pub(super) struct EventListAnswer {
    run: String,
    events: Vec<EventAnswer>,
    /// The greatest number in this part; null if it is empty.
    last_seq: Option<i64>,
    run_has_ended: bool,
}

/// An event, with more fields for each kind.
#[derive(ToSchema)]
pub(super) struct EventAnswer {
    event: String,
    seq: i64,
    #[schema(format = DateTime)]
    at: String,
    run: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct ConversationAnswer {
    conversation_id: String,
    messages: Vec<MessageAnswer>,
}

/// A message of ralph.
#[derive(ToSchema)]
pub(super) struct MessageAnswer {
    message: String,
    #[schema(format = DateTime)]
    timestamp: String,
}

#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
pub(super) struct ConversationListItemAnswer {
    platform: String,
    conversation_id: String,
}
