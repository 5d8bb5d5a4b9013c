//! Prints the progress of a workflow run: lines for people on stderr, or every event as a line of JSON.
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ralph_agents::AgentEvent;
use ralph_app::workflow_runs::{EventSource, WorkflowFact, WorkflowObserver, describe_progress};
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

use crate::commands::args::output_args::OutputArgs;
use crate::commands::out;

/// How often the output of a message is tried.
const MAX_PRINT_ATTEMPTS: u32 = 3;

/// The messages of this process that could not be printed.
static LOST_MESSAGES: AtomicU64 = AtomicU64::new(0);

/// Returns how many messages of workflow runs could not be printed.
pub fn lost_messages() -> u64 {
    LOST_MESSAGES.load(Ordering::Relaxed)
}

pub struct WorkflowReporter {
    is_json: bool,
    is_quiet: bool,
    /// Text of an agent that has no line end yet, with its node.
    open_line: Mutex<(String, String)>,
}

impl WorkflowReporter {
    pub fn new(output: &OutputArgs) -> Self {
        Self { is_json: output.is_json(), is_quiet: output.is_quiet(), open_line: Mutex::default() }
    }

    /// A lost message never stops the run. The end of the command says how many were lost.
    fn print(&self, text: &str) {
        let text = sanitize_text(text);
        if (0..MAX_PRINT_ATTEMPTS).all(|_| out::try_print_note(&text).is_err()) {
            LOST_MESSAGES.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Prints the complete lines of an agent's text, with its node before each.
    fn print_text(&self, node: &str, text: &str) {
        let Ok(mut open) = self.open_line.lock() else { return };
        if open.0 != node {
            self.flush(&mut open);
            open.0 = node.to_owned();
        }
        open.1.push_str(text);
        while let Some(end) = open.1.find('\n') {
            let line: String = open.1.drain(..=end).collect();
            self.print(&format!("{node}  {}", line.trim_end()));
        }
    }

    fn flush(&self, open: &mut (String, String)) {
        let rest = std::mem::take(&mut open.1);
        if !rest.trim().is_empty() {
            self.print(&format!("{}  {}", open.0, rest.trim_end()));
        }
    }

    fn print_fact(&self, fact: &WorkflowFact, is_child: bool) {
        if let Ok(mut open) = self.open_line.lock() {
            self.flush(&mut open);
        }
        describe_progress(fact, is_child).iter().for_each(|line| self.print(line));
    }
}

impl WorkflowObserver for WorkflowReporter {
    fn on_fact(&self, source: EventSource<'_>, fact: &WorkflowFact) {
        if !self.is_json {
            return self.print_fact(&fact.clone().with_node_prefix(source.path), !source.path.is_empty());
        }
        if let Ok(Value::Object(mut line)) = serde_json::to_value(fact) {
            line.insert("run".to_owned(), json!(source.run));
            out::print_line(&Value::Object(line).to_string());
        }
    }

    fn on_agent_event(&self, node: &str, event: &AgentEvent) {
        if self.is_json || self.is_quiet {
            return;
        }
        match event {
            AgentEvent::Text { text, .. } => self.print_text(node, text),
            AgentEvent::ToolCall { name, detail } => self.print(&format!("{node}  > {name} {detail}")),
            AgentEvent::Error { message, .. } => self.print(&format!("{node}  error: {message}")),
            AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::PermissionDenied { .. }
            | AgentEvent::AtWork
            | AgentEvent::Unread
            | AgentEvent::Prompted
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    fn on_warning(&self, text: &str) {
        match self.is_json {
            true => out::print_line(&json!({ "event": "warning", "message": text }).to_string()),
            false => self.print(&format!("warning: {text}")),
        }
    }
}
