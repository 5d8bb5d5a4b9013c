//! Prints the progress of a workflow run: lines for people on stderr, or every event as a line of JSON.
use std::sync::Mutex;

use ralph_agents::AgentEvent;
use ralph_app::workflow_runs::{WorkflowFact, WorkflowObserver};
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

use crate::commands::args::output_args::OutputArgs;
use crate::commands::out;

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

    fn print(&self, text: &str) {
        out::print_note(&sanitize_text(text));
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

    fn print_fact(&self, fact: &WorkflowFact) {
        if let Ok(mut open) = self.open_line.lock() {
            self.flush(&mut open);
        }
        match fact {
            WorkflowFact::Started { workflow, .. } => self.print(&format!("workflow {workflow}")),
            WorkflowFact::Resumed => self.print("resumed"),
            WorkflowFact::NodeStarted { node, attempt: 1 } => self.print(&format!("{node}  started")),
            WorkflowFact::NodeStarted { node, attempt } => self.print(&format!("{node}  started, attempt {attempt}")),
            WorkflowFact::NodeCompleted { node, .. } => self.print(&format!("{node}  completed")),
            WorkflowFact::NodeFailed { node, reason } => self.print(&format!("{node}  failed: {reason}")),
            WorkflowFact::NodeSkipped { node, reason } => self.print(&format!("{node}  skipped: {reason}")),
            WorkflowFact::NodeRetry { node, delay_ms, reason } => {
                self.print(&format!("{node}  is repeated in {delay_ms} ms: {reason}"));
            }
            WorkflowFact::QuestionAnswered { node, decision, person, .. } => {
                self.print(&format!("{node}  {decision}, by {person}"));
            }
            WorkflowFact::Message { text } => self.print(text),
            // The result of the command shows them.
            WorkflowFact::Judged { .. }
            | WorkflowFact::QuestionAsked { .. }
            | WorkflowFact::Waiting
            | WorkflowFact::Finished { .. } => {}
        }
    }
}

impl WorkflowObserver for WorkflowReporter {
    fn on_fact(&self, run: &str, fact: &WorkflowFact) {
        if !self.is_json {
            return self.print_fact(fact);
        }
        if let Ok(Value::Object(mut line)) = serde_json::to_value(fact) {
            line.insert("run".to_owned(), json!(run));
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
