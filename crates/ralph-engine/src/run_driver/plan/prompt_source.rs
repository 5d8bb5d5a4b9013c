//! Where the prompt of a run comes from.
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ralph_core::prompt::CompletionInstructions;
use ralph_core::prompt_variables::ExpandedPrompt;
use ralph_core::task::{StagePrompt, TaskGenerationPrompt};
use ralph_core::text::prompt_title;
use serde::{Deserialize, Serialize};

use super::prompt_template::{PromptTemplate, read_text_file};
use super::stored_path;

/// A longer prompt is refused as a mistake.
const MAX_PROMPT_BYTES: u64 = 64 * 1024 * 1024;

/// Where the prompt comes from. A file is read again in every iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSource {
    Text(String),
    File(#[serde(with = "stored_path")] PathBuf),
    /// A complete prompt: its variables are expanded, and nothing is added.
    Template(PromptTemplate),
    /// The complete prompt of a workflow node. Nothing in it is expanded, and nothing is added.
    Complete(String),
    /// The stage of a task.
    Stage(Box<StagePrompt>),
    /// A spec from which tasks are created.
    Generate(Box<TaskGenerationPrompt>),
}

impl PromptSource {
    /// Returns the text for an iteration, and the variables without a value.
    pub fn read_prompt(&self, iteration: u32, max_iterations: u32) -> io::Result<ExpandedPrompt> {
        let plain_text = |text| ExpandedPrompt { text, unknown_variables: Vec::new() };
        match self {
            Self::Text(text) | Self::Complete(text) => Ok(plain_text(text.clone())),
            Self::File(path) => read_text_file(path).map(plain_text),
            Self::Template(template) => template.expand_variables(iteration, max_iterations),
            Self::Stage(stage) => Ok(plain_text(stage.render(iteration, max_iterations))),
            Self::Generate(prompt) => Ok(plain_text(prompt.render())),
        }
    }

    /// Returns the line that identifies the prompt for people: its first line, or the title of its task.
    #[must_use]
    pub fn title(&self) -> String {
        let file_title = |path: &Path| {
            let title = read_text_file(path).map(|text| prompt_title(&text)).unwrap_or_default();
            if title.is_empty() { path.display().to_string() } else { title }
        };
        match self {
            Self::Text(text) | Self::Complete(text) => prompt_title(text),
            Self::File(path) => file_title(path),
            Self::Template(template) => file_title(&template.path),
            Self::Stage(stage) => stage.task.title.clone(),
            Self::Generate(prompt) => format!("create the tasks of {}", prompt.spec_id),
        }
    }

    /// Returns the prompt file, if there is one.
    #[must_use]
    pub fn file_path(&self) -> Option<&Path> {
        match self {
            Self::Text(_) | Self::Complete(_) | Self::Stage(_) | Self::Generate(_) => None,
            Self::File(path) => Some(path),
            Self::Template(template) => Some(&template.path),
        }
    }

    pub(in crate::run_driver) fn completion_style(&self) -> CompletionInstructions {
        match self {
            Self::Text(_) | Self::File(_) | Self::Stage(_) | Self::Generate(_) => CompletionInstructions::Appended,
            Self::Template(_) | Self::Complete(_) => CompletionInstructions::InTask,
        }
    }
}

/// Reads a prompt. Fails if it is empty or too long.
pub fn read_bounded_prompt(source: impl Read) -> io::Result<Vec<u8>> {
    let invalid_data = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut bytes = Vec::new();
    source.take(MAX_PROMPT_BYTES + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        0 => Err(invalid_data("it is empty")),
        length if length > MAX_PROMPT_BYTES => Err(invalid_data("it is longer than 64 MB")),
        _ => Ok(bytes),
    }
}
