//! The JSONL log of a workflow run: its events, and the text and tool calls of its agents. A write error is reported once
//! and never stops the run.
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ralph_agents::AgentEvent;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;
use ralph_util::{private_files, redact};
use serde::Serialize;
use serde_json::{Value, json};

pub struct WorkflowLog {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl WorkflowLog {
    /// Returns the path of the log of a run.
    #[must_use]
    pub fn path_of(project: &Project, run: &str) -> PathBuf {
        project.session_logs_folder().join(format!("workflow-{run}.jsonl"))
    }

    /// Opens the log for appending.
    pub fn open(project: &Project, run: &str) -> io::Result<Self> {
        let path = Self::path_of(project, run);
        let folder = private_files::ensure_folder(path.parent().unwrap_or(Path::new(".")))?;
        folder.write_gitignore()?;
        Ok(Self { file: Mutex::new(Some(private_files::open_for_append(&path)?)), path })
    }

    /// Returns a log that keeps nothing, for a run whose log cannot be opened.
    #[must_use]
    pub fn disabled() -> Self {
        Self { path: PathBuf::new(), file: Mutex::new(None) }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn write_fact(&self, fact: &impl Serialize) {
        if let Ok(Value::Object(fields)) = serde_json::to_value(fact) {
            self.write_line(Value::Object(fields));
        }
    }

    /// Writes the text and the tool calls of an agent.
    pub fn write_agent_event(&self, node: &str, event: &AgentEvent) {
        match event {
            AgentEvent::Text { text, .. } => {
                self.write_line(json!({ "event": "assistant", "node": node, "text": text }));
            }
            AgentEvent::ToolCall { name, detail } => {
                self.write_line(json!({ "event": "tool", "node": node, "name": name, "detail": detail }));
            }
            AgentEvent::Error { message, .. } => {
                self.write_line(json!({ "event": "error", "node": node, "text": message }));
            }
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

    fn write_line(&self, mut line: Value) {
        if let Some(fields) = line.as_object_mut() {
            fields.insert("at".to_owned(), json!(Clock::wall_now().0));
        }
        let text = redact::redact_text(&line.to_string()).into_owned();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.as_mut().map(|file| file.write_all(format!("{text}\n").as_bytes()));
        if let Some(Err(error)) = written {
            tracing_failure(&self.path, &error);
            *file = None;
        }
    }
}

fn tracing_failure(path: &Path, error: &io::Error) {
    // The run does not need its log, and its journal has every event.
    let _ = (path, error);
}
