//! Follows the output of a task or run in a separate thread, and fills the buffer of the output view.
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_app::control::{FollowResult, FollowUntil, ReaderStatus};
use ralph_app::error::AppResult;
use ralph_app::run::{FollowedRun, ReplayScope};
use ralph_app::view::{format_wait_end, short_id};
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{JournalPosition, RunObserver};
use ralph_store::RunRow;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use crate::model::output_pane::{BlockKind, SharedOutput};

/// Follows an output until it is dropped.
pub(crate) struct OutputFollower {
    is_stopped: Arc<AtomicBool>,
}

impl OutputFollower {
    /// Starts to fill the buffer with the output of the runs of a task, or of one run.
    pub(crate) fn start(project: Project, id: String, output: SharedOutput) -> io::Result<Self> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&is_stopped);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let follow = move || {
            let ended = runtime.block_on(follow_runs(&project, &id, &output, &stopped));
            let text = ended.unwrap_or_else(|error| error.to_string());
            output.lock().end = Some(redact_text(&text).into_owned());
        };
        std::thread::Builder::new().name("board-output".to_owned()).spawn(follow)?;
        Ok(Self { is_stopped })
    }
}

impl Drop for OutputFollower {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Shows the earlier runs of a task, and follows the newest one. Returns why it ended.
async fn follow_runs(project: &Project, id: &str, output: &SharedOutput, stopped: &AtomicBool) -> AppResult<String> {
    let runs = FollowedRun::find_all(project, Some(id)).await?;
    let reader = || if stopped.load(Ordering::Relaxed) { ReaderStatus::Gone } else { ReaderStatus::Reading };
    let mut end = String::new();
    for (at, run) in runs.iter().enumerate() {
        if stopped.load(Ordering::Relaxed) {
            break;
        }
        let until = if at + 1 == runs.len() { FollowUntil::RunEnd } else { FollowUntil::Now };
        let mut writer = OutputWriter::new(output.clone(), run.row());
        let result = run.replay_part(ReplayScope::Complete { iteration: None }, until, &mut writer, reader).await?;
        end = match result {
            FollowResult::Finished => "ended".to_owned(),
            FollowResult::Interrupted => "its ralph died".to_owned(),
            FollowResult::StoppedReading => String::new(),
        };
    }
    Ok(end)
}

/// Writes the facts and the events of a run into the buffer.
struct OutputWriter {
    output: SharedOutput,
    /// The message that the last block of words belongs to.
    message: Option<u64>,
}

impl OutputWriter {
    fn new(output: SharedOutput, run: &RunRow) -> Self {
        let role = run.role.as_deref().unwrap_or(&run.kind);
        let mut buffer = output.lock();
        buffer.begin_run(role);
        buffer.push(BlockKind::Event, &format!("{role} · run {} · {}", short_id(&run.id), run.agent));
        drop(buffer);
        Self { output, message: None }
    }

    fn push(&mut self, kind: BlockKind, text: &str) {
        self.message = None;
        let text = clean(text);
        let mut lines = text.trim_end().lines();
        let mut buffer = self.output.lock();
        buffer.push(kind, lines.next().unwrap_or_default());
        buffer.add_lines(lines);
    }

    /// Adds text of the agent to the block of its message.
    fn add_words(&mut self, message: u64, text: &str) {
        if self.message == Some(message) {
            return self.output.lock().continue_text(&clean(text));
        }
        let text = clean(text);
        let mut buffer = self.output.lock();
        buffer.push(BlockKind::Words, "");
        buffer.continue_text(text.trim_start_matches('\n'));
        drop(buffer);
        self.message = Some(message);
    }

    /// Adds the result of a tool call to its block.
    fn add_result(&mut self, is_ok: bool, excerpt: &str) {
        let text = clean(excerpt);
        let mut buffer = self.output.lock();
        if buffer.last_kind() != Some(BlockKind::Tool) {
            buffer.push(BlockKind::Tool, "result");
        }
        let failed = (!is_ok).then_some("failed:");
        buffer.add_lines(failed.into_iter().chain(text.trim_end().lines()));
        drop(buffer);
        self.message = None;
    }
}

fn clean(text: &str) -> String {
    sanitize_text(&redact_text(text))
}

impl RunObserver for OutputWriter {
    fn on_fact(&mut self, position: JournalPosition<'_>, fact: &Fact) {
        if let Fact::IterationStarted { iteration } = fact {
            self.output.lock().iteration = *iteration;
        }
        if let Some(text) = fact_text(fact, position.at) {
            self.push(BlockKind::Event, &text);
        }
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { message, text } => self.add_words(*message, text),
            AgentEvent::Thinking { text } if !text.is_empty() => {
                self.push(BlockKind::Thinking, &format!("thinking\n{text}"));
            }
            AgentEvent::ToolCall { name, detail } => self.push(BlockKind::Tool, &format!("{name} {detail}")),
            AgentEvent::ToolResult { ok, excerpt } => self.add_result(*ok, excerpt),
            AgentEvent::PermissionDenied { action } => self.push(BlockKind::Event, &format!("not allowed: {action}")),
            AgentEvent::RateLimit { message, .. } => self.push(BlockKind::Event, &format!("rate limit: {message}")),
            AgentEvent::Error { message, .. } => self.push(BlockKind::Event, &format!("error: {message}")),
            AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn on_display_line(&mut self, line: &str) {
        self.push(BlockKind::Words, line);
    }

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, text: &str) {
        self.push(BlockKind::Event, text);
    }
}

/// Returns what a fact says in the output; `None` for facts that other views show.
fn fact_text(fact: &Fact, at: UnixMillis) -> Option<String> {
    Some(match fact {
        Fact::IterationStarted { iteration } => format!("iteration {iteration}"),
        Fact::RunGuided { words } => format!("guided: {words}"),
        Fact::AgentReported { kind, words, .. } => format!("{}: {words}", kind.as_str()),
        Fact::LimitsChanged { limits } => format!("new limits: {}", limits.describe()),
        Fact::RunPaused { .. } => "paused".to_owned(),
        Fact::RunResumed { .. } => "resumed".to_owned(),
        Fact::RetryScheduled { attempt, reason, .. } => format!("attempt {attempt} failed: {reason}"),
        Fact::LimitWaiting { agent, delay_ms, .. } => {
            format!("{agent}: rate limit until {}, not counted", format_wait_end(at, *delay_ms))
        }
        Fact::AgentWaiting { delay_ms, reason, .. } => {
            format!("waits until {}, not counted: {reason}", format_wait_end(at, *delay_ms))
        }
        Fact::AgentChanged { agent, reason, .. } => format!("{agent} takes over: {reason}"),
        Fact::Claim { claim, .. } if claim.claimed => format!("claimed: {}", claim.why),
        Fact::Verdict { verdict, reason, .. } => format!("{}: {reason}", verdict.as_str().replace('_', " ")),
        Fact::StopRequested { reason } => format!("stop requested: {reason}"),
        Fact::RunFinished { outcome, reason, .. } => format!("{}: {reason}", outcome.as_str()),
        Fact::RunStarted { .. }
        | Fact::RunSealed { .. }
        | Fact::Baseline { .. }
        | Fact::StandingGuidance { .. }
        | Fact::AttemptStarted { .. }
        | Fact::AttemptEnded { .. }
        | Fact::SessionFresh { .. }
        | Fact::Claim { .. }
        | Fact::IterationEnded { .. }
        | Fact::RunAccepted { .. }
        | Fact::RunRejected { .. }
        | Fact::Receipt { .. } => return None,
    })
}
