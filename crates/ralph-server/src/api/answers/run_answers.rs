//! Answers about runs.
#![expect(dead_code, reason = "the types describe what the handlers format; nothing reads their fields")]
use utoipa::ToSchema;

#[derive(ToSchema)]
pub(super) struct RunListAnswer {
    runs: Vec<RunItemAnswer>,
    /// The value of `before` for the next page.
    next: Option<String>,
}

/// A run in a list.
#[derive(ToSchema)]
pub(super) struct RunItemAnswer {
    id: String,
    /// `running`, `interrupted` or an outcome.
    status: String,
    kind: String,
    task: Option<String>,
    role: Option<String>,
    session_id: Option<String>,
    /// The first line of the prompt, or the title of the task.
    prompt: String,
    reason: Option<String>,
    proof: Option<String>,
    judged: bool,
    #[schema(value_type = Option<Object>)]
    accepted_by: Option<()>,
    exit_code: Option<i64>,
    agent: String,
    promise: String,
    iterations: i64,
    max_iterations: i64,
    #[schema(format = DateTime)]
    started_at: String,
    #[schema(format = DateTime)]
    ended_at: Option<String>,
    cost_usd: Option<f64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    now: Option<RunActivityAnswer>,
}

/// What an active run does.
#[derive(ToSchema)]
pub(super) struct RunActivityAnswer {
    activity: String,
    iteration: Option<i64>,
    max_iterations: Option<i64>,
    wait_reason: Option<String>,
    until: Option<String>,
}

#[derive(ToSchema)]
pub(super) struct RunAnswer {
    id: String,
    kind: String,
    task: Option<String>,
    role: Option<String>,
    session_id: Option<String>,
    prompt: String,
    description: Option<String>,
    status: String,
    outcome: Option<String>,
    reason: Option<String>,
    /// The first line of the explanation.
    headline: String,
    proof: Option<String>,
    proof_reason: Option<String>,
    judged: bool,
    #[schema(value_type = Option<Object>)]
    accepted_by: Option<()>,
    exit_code: Option<i64>,
    agent: String,
    promise: String,
    max_iterations: i64,
    cost_usd: Option<f64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    iterations: Vec<IterationAnswer>,
}

#[derive(ToSchema)]
pub(super) struct IterationAnswer {
    number: i64,
    status: String,
    attempts: i64,
    /// Whether the agent claimed to be done; null before the end.
    claim: Option<bool>,
    claim_why: Option<String>,
    verdict: Option<String>,
    verdict_why: Option<String>,
    duration_ms: Option<i64>,
    cost_usd: Option<f64>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    checks: Vec<CheckAnswer>,
    #[schema(value_type = Vec<Object>)]
    waits: Vec<()>,
    #[schema(value_type = Vec<Object>)]
    agent_changes: Vec<()>,
}

/// A check of a claim, with the checks that it consists of.
#[derive(ToSchema)]
pub(super) struct CheckAnswer {
    method: String,
    name: Option<String>,
    command: Option<String>,
    verdict: String,
    reason: Option<String>,
    exit_code: Option<i64>,
    duration_ms: Option<i64>,
    required: bool,
    tries: i64,
    cached: bool,
    output_sha256: Option<String>,
    #[schema(value_type = Vec<Object>)]
    stages: Vec<()>,
}

#[derive(ToSchema)]
pub(super) struct IterationPageAnswer {
    run: String,
    iteration: IterationAnswer,
}

/// A prompt as it was sent.
#[derive(ToSchema)]
pub(super) struct PromptAnswer {
    run: String,
    iteration: i64,
    attempt: i64,
    text: String,
}

#[derive(ToSchema)]
pub(super) struct LogAnswer {
    run: String,
    iteration: Option<i64>,
    /// How many of the oldest entries are left out.
    omitted_entries: u64,
    entries: Vec<LogEntryAnswer>,
}

/// An entry, with more fields for each type.
#[derive(ToSchema)]
pub(super) struct LogEntryAnswer {
    /// `journal`, `agent`, `line` or `warning`.
    #[schema(rename = "type")]
    entry_type: String,
}

#[derive(ToSchema)]
pub(super) struct DiffAnswer {
    run: String,
    /// `run_end` or `now`.
    until: String,
    text: String,
}

/// Which rule decided, and on what evidence. The subject has more fields.
#[derive(ToSchema)]
pub(super) struct ExplanationAnswer {
    /// `run`, `iteration`, `task` or `workflow`.
    kind: String,
    id: String,
    headline: String,
    rule: String,
    sentence: String,
    evidence: Vec<EvidenceAnswer>,
    #[schema(value_type = Vec<Object>)]
    numbers: Vec<()>,
    #[schema(value_type = Vec<Object>)]
    not_applied: Vec<()>,
}

#[derive(ToSchema)]
pub(super) struct EvidenceAnswer {
    /// The event of the journal.
    seq: Option<i64>,
    text: String,
}

#[derive(ToSchema)]
pub(super) struct ReceiptAnswer {
    run: String,
    verified: bool,
    sha256: String,
    #[schema(value_type = Object)]
    receipt: (),
}
