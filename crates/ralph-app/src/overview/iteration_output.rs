//! The words and tool calls of the agent in one iteration, folded by tool call.
use std::time::Duration;

use ralph_agents::AgentEvent;
use ralph_core::fact::Fact;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{JournalPosition, RunObserver};

use crate::control::{FollowUntil, ReaderStatus};
use crate::error::AppResult;
use crate::run::{FollowedRun, ReplayScope};

/// Later output is left out.
const MAX_ENTRIES: usize = 2_000;
/// Longer texts of the agent are cut.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The output of an iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IterationOutput {
    pub entries: Vec<OutputEntry>,
    /// How many entries are left out.
    pub skipped: usize,
}

/// A part of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputEntry {
    Text(String),
    Thinking(String),
    /// A tool call with its result, if there is one.
    ToolCall {
        name: String,
        detail: String,
        result: Option<ToolResultExcerpt>,
    },
    Denied(String),
    Failure(String),
    /// An attempt began.
    Attempt(u32),
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolResultExcerpt {
    pub ok: bool,
    pub excerpt: String,
}

/// Returns the output of an iteration of the run whose id starts or ends with `part`, as far as its log is kept.
pub async fn load_iteration_output(project: &Project, part: &str, iteration: u32) -> AppResult<IterationOutput> {
    let run = FollowedRun::find_newest(project.clone(), Some(part)).await?;
    let mut collector = OutputCollector::default();
    let scope = ReplayScope::Complete { iteration: Some(iteration) };
    run.replay_part(scope, FollowUntil::Now, &mut collector, || ReaderStatus::Gone).await?;
    Ok(collector.into_output())
}

/// Collects entries instead of displaying them.
#[derive(Default)]
struct OutputCollector {
    entries: Vec<OutputEntry>,
    skipped: usize,
    text_bytes: usize,
    /// The number of the message that the last text belongs to.
    open_message: Option<u64>,
}

impl OutputCollector {
    fn into_output(self) -> IterationOutput {
        IterationOutput { entries: self.entries, skipped: self.skipped }
    }

    fn push(&mut self, entry: OutputEntry) {
        self.open_message = None;
        if self.entries.len() < MAX_ENTRIES { self.entries.push(entry) } else { self.skipped += 1 }
    }

    fn push_text(&mut self, message: u64, text: &str) {
        self.text_bytes += text.len();
        if self.text_bytes > MAX_TEXT_BYTES {
            self.skipped += 1;
            return;
        }
        match self.entries.last_mut() {
            Some(OutputEntry::Text(open)) if self.open_message == Some(message) => open.push_str(text),
            _ => {
                self.push(OutputEntry::Text(text.to_owned()));
                self.open_message = Some(message);
            }
        }
    }

    fn push_result(&mut self, ok: bool, excerpt: &str) {
        let found = ToolResultExcerpt { ok, excerpt: excerpt.to_owned() };
        let open = self.entries.iter_mut().find_map(|entry| match entry {
            OutputEntry::ToolCall { result: result @ None, .. } => Some(result),
            OutputEntry::ToolCall { .. }
            | OutputEntry::Text(_)
            | OutputEntry::Thinking(_)
            | OutputEntry::Denied(_)
            | OutputEntry::Failure(_)
            | OutputEntry::Attempt(_) => None,
        });
        match open {
            Some(result) => *result = Some(found),
            None => {
                let (name, detail) = ("result".to_owned(), String::new());
                self.push(OutputEntry::ToolCall { name, detail, result: Some(found) });
            }
        }
    }
}

impl RunObserver for OutputCollector {
    fn on_fact(&mut self, _position: JournalPosition<'_>, fact: &Fact) {
        if let Fact::AttemptStarted { attempt, .. } = fact {
            self.push(OutputEntry::Attempt(*attempt));
        }
    }

    fn on_agent_event(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Text { message, text } => self.push_text(*message, text),
            AgentEvent::Thinking { text } if text.is_empty() => {}
            AgentEvent::Thinking { text } => self.push(OutputEntry::Thinking(text.clone())),
            AgentEvent::ToolCall { name, detail } => {
                self.push(OutputEntry::ToolCall { name: name.clone(), detail: detail.clone(), result: None });
            }
            AgentEvent::ToolResult { ok, excerpt } => self.push_result(*ok, excerpt),
            AgentEvent::PermissionDenied { action } => self.push(OutputEntry::Denied(action.clone())),
            AgentEvent::Error { message, .. } | AgentEvent::RateLimit { message, .. } => {
                self.push(OutputEntry::Failure(message.clone()));
            }
            AgentEvent::Unread => self.push(OutputEntry::Failure("a record was too long, and was skipped".to_owned())),
            AgentEvent::Started { .. }
            | AgentEvent::AtWork
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn on_display_line(&mut self, _line: &str) {}

    fn on_stop_grace(&mut self, _grace: Duration) {}

    fn on_limit_wait(&mut self, _left: Duration) {}

    fn on_warning(&mut self, _text: &str) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(events: &[AgentEvent]) -> IterationOutput {
        let mut collector = OutputCollector::default();
        events.iter().for_each(|event| collector.on_agent_event(event));
        collector.into_output()
    }

    fn tool_call(name: &str) -> AgentEvent {
        AgentEvent::ToolCall { name: name.to_owned(), detail: "src".to_owned() }
    }

    fn text(message: u64, text: &str) -> AgentEvent {
        AgentEvent::Text { message, text: text.to_owned() }
    }

    // spec: U5
    #[test]
    fn results_belong_to_the_tool_calls_in_their_order() {
        let result = |excerpt: &str| AgentEvent::ToolResult { ok: true, excerpt: excerpt.to_owned() };
        let output = collect(&[tool_call("Read"), tool_call("Edit"), result("first"), result("second")]);
        let excerpts: Vec<(String, String)> = output
            .entries
            .into_iter()
            .filter_map(|entry| match entry {
                OutputEntry::ToolCall { name, result: Some(result), .. } => Some((name, result.excerpt)),
                _ => None,
            })
            .collect();
        assert_eq!(excerpts, [("Read".into(), "first".into()), ("Edit".into(), "second".into())]);
    }

    // spec: U5
    #[test]
    fn parts_of_one_message_are_one_text() {
        let output = collect(&[text(1, "one "), text(1, "message"), text(2, "another")]);
        let expected = ["one message", "another"].map(|text| OutputEntry::Text(text.to_owned()));
        assert_eq!(output.entries, expected);
    }

    // spec: U5
    #[test]
    fn a_flood_of_output_is_cut_and_counted() {
        let flood: Vec<AgentEvent> = (0..MAX_ENTRIES + 5).map(|_| tool_call("Bash")).collect();
        let output = collect(&flood);
        assert_eq!((output.entries.len(), output.skipped), (MAX_ENTRIES, 5));
    }
}
