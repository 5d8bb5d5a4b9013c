//! The routes of the API for its document: what each reads or does.
/// A value after the question mark of an address.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueryParameter {
    pub name: &'static str,
    /// `integer`, `string` or `boolean`.
    pub value_type: &'static str,
    pub description: &'static str,
}

/// The answer of a route if it succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    Json,
    JsonArray,
    /// JSON about something that was created.
    CreatedJson,
    EventStream,
    Svg,
}

/// A route of the API.
#[derive(Debug, Clone)]
pub(super) struct DocumentedRoute {
    pub path: &'static str,
    pub summary: &'static str,
    pub query: &'static [QueryParameter],
    /// The name of the schema of the body: it is an order. Reads have none.
    pub body: Option<&'static str>,
    pub answer: AnswerFormat,
    /// The name of the schema of the answer, or of the items of a list.
    pub schema: Option<&'static str>,
}

impl DocumentedRoute {
    /// Says which schema the answer has.
    fn answers(self, schema: &'static str) -> Self {
        Self { schema: Some(schema), ..self }
    }
}

const LIMIT: QueryParameter =
    QueryParameter { name: "limit", value_type: "integer", description: "At most this many, up to 500" };
const BEFORE: QueryParameter =
    QueryParameter { name: "before", value_type: "string", description: "The value of next of the page before" };
const ITERATION: QueryParameter =
    QueryParameter { name: "iteration", value_type: "integer", description: "Only this iteration" };
const AFTER_EVENT: QueryParameter =
    QueryParameter { name: "after", value_type: "integer", description: "Only events with a greater seq" };

const RUN_FILTERS: &[QueryParameter] = &[
    LIMIT,
    BEFORE,
    QueryParameter { name: "status", value_type: "string", description: "running, interrupted or an outcome" },
    QueryParameter { name: "kind", value_type: "string", description: "run, stage, plan, build, prompt or session" },
    QueryParameter {
        name: "verdict",
        value_type: "string",
        description: "Only runs with a claim that was accepted, rejected or could_not_evaluate",
    },
    QueryParameter {
        name: "method",
        value_type: "string",
        description: "With verdict: the verification method that decided, or none",
    },
];
const TASK_FILTERS: &[QueryParameter] = &[
    LIMIT,
    QueryParameter { name: "after", value_type: "string", description: "The value of next of the page before" },
    QueryParameter { name: "status", value_type: "string", description: "Statuses, separated by commas" },
    QueryParameter { name: "spec", value_type: "string", description: "Only tasks of this spec" },
    QueryParameter { name: "ready", value_type: "boolean", description: "Only tasks that can start" },
];
const STATS_FILTERS: &[QueryParameter] = &[
    QueryParameter { name: "by", value_type: "string", description: "role, agent, model, task, spec or iteration" },
    QueryParameter { name: "since", value_type: "string", description: "Only runs of this age, such as 7d" },
    LIMIT,
];

const fn read(path: &'static str, summary: &'static str, query: &'static [QueryParameter]) -> DocumentedRoute {
    DocumentedRoute { path, summary, query, body: None, answer: AnswerFormat::Json, schema: None }
}

const fn stream(path: &'static str, summary: &'static str) -> DocumentedRoute {
    DocumentedRoute { answer: AnswerFormat::EventStream, ..read(path, summary, &[]) }
}

const fn order(path: &'static str, summary: &'static str, body: &'static str) -> DocumentedRoute {
    let (answer, schema) = (AnswerFormat::Json, Some("ResultAnswer"));
    DocumentedRoute { path, summary, query: &[], body: Some(body), answer, schema }
}

const fn start(path: &'static str, summary: &'static str, body: &'static str) -> DocumentedRoute {
    let (answer, schema) = (AnswerFormat::CreatedJson, Some("CreatedAnswer"));
    DocumentedRoute { answer, schema, ..order(path, summary, body) }
}

/// Returns all routes, reads first.
pub(super) fn documented_routes() -> Vec<DocumentedRoute> {
    [reads(), loop_orders(), task_orders(), workflow_orders()].concat()
}

fn reads() -> Vec<DocumentedRoute> {
    vec![
        read("/healthz", "Whether the server answers", &[]).answers("HealthAnswer"),
        read("/openapi.json", "This document", &[]),
        read("/api/session", "The CSRF value of the browser's session", &[]),
        read("/api/status", "The loops and workflow runs that are active", &[]).answers("StatusAnswer"),
        read("/api/inbox", "What waits for a person, with the commands that answer", &[]).answers("InboxListAnswer"),
        read("/api/stats", "Success, iterations, cost, tokens and time of runs", STATS_FILTERS).answers("StatsAnswer"),
        stream("/api/changes/stream", "Which runs and tasks have changed, as server-sent events"),
        read("/api/runs", "Runs, newest first, with what each active one does now", RUN_FILTERS)
            .answers("RunListAnswer"),
        read("/api/runs/{id}", "A run with its iterations, claims, verdicts and checks", &[]).answers("RunAnswer"),
        read("/api/runs/{id}/iterations/{iteration}", "One iteration", &[]).answers("IterationPageAnswer"),
        read("/api/runs/{id}/iterations/{iteration}/prompt", "The prompt as it was sent", &[]).answers("PromptAnswer"),
        read("/api/runs/{id}/log", "What the agent said and did", &[ITERATION]).answers("LogAnswer"),
        read("/api/runs/{id}/diff", "The file changes of a run", &[]).answers("DiffAnswer"),
        read("/api/runs/{id}/why", "Which rule decided, on what evidence", &[ITERATION]).answers("ExplanationAnswer"),
        read("/api/runs/{id}/receipt", "The receipt of a completed run", &[]).answers("ReceiptAnswer"),
        read("/api/runs/{id}/events", "The journal of a run", &[AFTER_EVENT, LIMIT]).answers("EventListAnswer"),
        stream("/api/runs/{id}/events/stream", "The journal of a run as server-sent events"),
        read("/api/tasks", "Tasks, the most urgent first", TASK_FILTERS).answers("TaskListAnswer"),
        read("/api/tasks/{id}", "A task with its runs", &[]).answers("TaskAnswer"),
        read("/api/tasks/{id}/approval", "The checks of a task that wait for approval", &[]).answers("ShownTextAnswer"),
        read("/api/commands", "The commands and workflow files of the project that need approval", &[])
            .answers("ShownTextAnswer"),
        read("/api/tasks/{id}/why", "Why a task is where it is", &[ITERATION]).answers("ExplanationAnswer"),
        read("/api/workflows", "The workflows that can be started", &[]).answers("WorkflowListAnswer"),
        read("/api/workflows/{name}", "A workflow with its nodes", &[]).answers("WorkflowAnswer"),
        DocumentedRoute {
            answer: AnswerFormat::Svg,
            ..read("/api/workflows/{name}/graph.svg", "The graph of a workflow as a picture", &[])
        },
        read("/api/workflow-runs", "Workflow runs, newest first, with the nodes that run now", &[LIMIT, BEFORE])
            .answers("WorkflowRunListAnswer"),
        read("/api/workflow-runs/{id}", "A workflow run with its nodes and questions", &[])
            .answers("WorkflowRunAnswer"),
        DocumentedRoute {
            answer: AnswerFormat::JsonArray,
            schema: Some("ConversationListItemAnswer"),
            ..read("/api/conversations", "The conversations with their last messages", &[])
        },
        read("/api/conversations/messages/{id}", "The messages of a conversation", &[]).answers("ConversationAnswer"),
        read("/api/workflow-runs/{id}/events", "The journal of a workflow run", &[AFTER_EVENT, LIMIT])
            .answers("EventListAnswer"),
        stream("/api/workflow-runs/{id}/events/stream", "The journal of a workflow run as server-sent events"),
    ]
}

/// The orders that runs and tasks share.
fn loop_orders() -> Vec<DocumentedRoute> {
    vec![
        start("/api/runs", "Starts a run", "StartRunOrder"),
        order("/api/commands/approve", "Approves the commands and workflow files of the project", "ApprovalOrder"),
        start("/api/work", "Starts a worker that runs the ready tasks", "WorkOrder").answers("ResultAnswer"),
        order("/api/runs/{id}/pause", "Pauses a run", "PauseOrder"),
        order("/api/runs/{id}/resume", "Resumes or continues a run", "ResumeOrder"),
        order("/api/runs/{id}/cancel", "Cancels a run for good", "EmptyOrder"),
        order("/api/runs/{id}/guide", "Sends guidance for the next prompt", "GuideOrder"),
        order("/api/runs/{id}/limits", "Changes the limits of an active run", "LimitsOrder"),
        order("/api/runs/{id}/accept", "Accepts the claim of a blocked run", "DecisionOrder"),
        order("/api/runs/{id}/reject", "Rejects the claim of a blocked run", "DecisionOrder"),
        order("/api/tasks/{id}/pause", "Pauses the loop of a task", "PauseOrder"),
        order("/api/tasks/{id}/resume", "Resumes the loop of a task", "ResumeOrder"),
        order("/api/tasks/{id}/cancel", "Cancels a task", "EmptyOrder"),
        order("/api/tasks/{id}/guide", "Sends guidance for the next prompt", "GuideOrder"),
        order("/api/tasks/{id}/limits", "Changes the limits of the active loop", "LimitsOrder"),
        order("/api/tasks/{id}/accept", "Accepts the claim of the stage", "DecisionOrder"),
        order("/api/tasks/{id}/reject", "Rejects the claim of the stage", "DecisionOrder"),
    ]
}

fn task_orders() -> Vec<DocumentedRoute> {
    vec![
        order("/api/tasks/{id}/retry", "Makes a task ready again", "EmptyOrder"),
        order("/api/tasks/{id}/approve", "Approves checks that an agent wrote", "ApprovalOrder"),
        order("/api/tasks/{id}/land", "Merges the accepted work of a task", "EmptyOrder"),
    ]
}

fn workflow_orders() -> Vec<DocumentedRoute> {
    vec![
        start("/api/workflow-runs", "Starts a workflow", "StartWorkflowOrder"),
        order("/api/workflow-runs/{id}/pause", "Pauses a workflow run", "PauseOrder"),
        order("/api/workflow-runs/{id}/resume", "Resumes a workflow run", "EmptyOrder"),
        order("/api/workflow-runs/{id}/cancel", "Cancels a workflow run", "EmptyOrder"),
        order("/api/workflow-runs/{id}/guide", "Sends guidance to its agents", "GuideOrder"),
        order("/api/workflow-runs/{id}/limits", "Changes its spending limit", "LimitsOrder"),
        order("/api/workflow-runs/{id}/answers", "Answers a question", "AnswerOrder"),
        start("/api/workflow-runs/{id}/rerun", "Runs it again from a node", "RerunOrder"),
    ]
}
