//! Reads files with tasks: detects the format and parses it.
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use ralph_core::task::VerificationConfig;

use super::{ParsedTask, TaskError, json, markdown, parser, prd};
use crate::advice::Advice;
use ralph_util::sanitize::sanitize_text;
use ralph_util::yaml::{self, DocumentError, DocumentNode, NodeContent};

/// Maximum size of a file. A larger one is a mistake.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// Large enough to import ten thousand tasks at once.
const TASK_FILE_LIMITS: yaml::DocumentLimits = yaml::DocumentLimits { depth: 32, nodes: 2_000_000, aliases: 1_000 };

/// The format of a task file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskFileFormat {
    Yaml,
    Json,
    Markdown,
}

/// The tasks of a file, with warnings.
#[derive(Debug)]
pub struct ParsedTasks {
    pub tasks: Vec<ParsedTask>,
    pub warnings: Vec<String>,
}

impl TaskFileFormat {
    /// Detects the format by the file extension, otherwise by the beginning of the text.
    #[must_use]
    pub fn detect(path: &Path, text: &str) -> Self {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json") => Self::Json,
            Some("md" | "markdown") => Self::Markdown,
            Some(_) | None => Self::guess_from_text(text),
        }
    }

    fn guess_from_text(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let is_list = |line: &str| ["- [ ]", "- [x]", "* [ ]", "* [x]"].iter().any(|mark| line.starts_with(mark));
        match text.as_bytes().first() {
            Some(b'{' | b'[') => Self::Json,
            _ if text.lines().any(is_list) => Self::Markdown,
            _ => Self::Yaml,
        }
    }

    fn parse_tree(self, text: &str) -> Result<DocumentNode, DocumentError> {
        match self {
            Self::Json => json::parse_json(text),
            Self::Yaml | Self::Markdown => yaml::parse_with_limits(text, &TASK_FILE_LIMITS),
        }
    }
}

/// The text of a file, and its name for messages.
pub struct TaskText {
    pub text: String,
    pub name: String,
}

/// Reads a file with tasks or with a spec.
pub fn read_task_text(path: &Path) -> Result<TaskText, TaskError> {
    let name = sanitize_text(&path.display().to_string());
    let file = File::open(path).map_err(|error| TaskError::unreadable_file(&name, &error))?;
    Ok(TaskText { text: read_bounded(file, &name)?, name })
}

/// Reads UTF-8 text of bounded size.
pub fn read_bounded(reader: impl io::Read, name: &str) -> Result<String, TaskError> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| TaskError::new(name, &format!("cannot read the file: {error}")))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(TaskError::new(name, &format!("file is larger than {} MB", MAX_FILE_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let mut lines = valid.split(|byte| *byte == b'\n');
        let column = lines.next_back().map_or(0, |line| String::from_utf8_lossy(line).chars().count()) + 1;
        let line = lines.count() + 1;
        TaskError::new(format!("{name}:{line}:{column}"), "not UTF-8 text")
    })
}

/// Parses all tasks of a text. `name` is used in messages.
pub fn parse_tasks(text: &str, format: TaskFileFormat, name: &str) -> Result<ParsedTasks, TaskError> {
    if format == TaskFileFormat::Markdown {
        return markdown::parse_checklist(text, name);
    }
    let root = parse_document(text, format, name)?;
    let list =
        |items: &[DocumentNode]| items.iter().map(|item| parser::parse_task(item, name)).collect::<Result<_, _>>();
    let tasks = match (&root.content, single_entry(&root)) {
        (NodeContent::List(items), _) => list(items)?,
        (NodeContent::Map(_), Some(("task", node))) => vec![parser::parse_task(node, name)?],
        (NodeContent::Map(_), Some(("tasks", DocumentNode { content: NodeContent::List(items), .. }))) => list(items)?,
        (NodeContent::Map(entries), _) if entries.iter().any(|entry| entry.key == prd::STORIES_KEY) => {
            let stories = prd::parse_stories(&root, name)?;
            if stories.tasks.is_empty() {
                return Err(no_tasks_error(&root, name));
            }
            return Ok(ParsedTasks { tasks: stories.tasks, warnings: stories.warnings });
        }
        (NodeContent::Map(_) | NodeContent::Text(_) | NodeContent::Null, _) => {
            return Err(no_tasks_error(&root, name));
        }
    };
    if tasks.is_empty() {
        return Err(no_tasks_error(&root, name));
    }
    Ok(ParsedTasks { tasks, warnings: Vec::new() })
}

/// Parses a text with a single task. Its id and title may be missing.
pub fn parse_single_task(text: &str, format: TaskFileFormat, name: &str) -> Result<ParsedTask, TaskError> {
    let not_one_task = || TaskError::new(name, "expected a single task").with_hint(Advice::ImportTasks);
    if format == TaskFileFormat::Markdown {
        let [only] =
            <[ParsedTask; 1]>::try_from(markdown::parse_checklist(text, name)?.tasks).map_err(|_| not_one_task())?;
        return Ok(only);
    }
    let root = parse_document(text, format, name)?;
    let only = match (&root.content, single_entry(&root)) {
        (NodeContent::List(items), _) if items.len() == 1 => items.first(),
        (_, Some(("task", node))) => Some(node),
        (NodeContent::Map(_), _) => Some(&root),
        (NodeContent::List(_) | NodeContent::Text(_) | NodeContent::Null, _) => None,
    };
    parser::parse_draft(only.ok_or_else(not_one_task)?, name)
}

/// Parses a verification config from JSON text.
pub fn parse_verification_json(text: &str, name: &str) -> Result<VerificationConfig, TaskError> {
    parser::parse_verification_config(&parse_document(text, TaskFileFormat::Json, name)?, name, "verification_config")
}

/// Reads a verification config from a JSON or YAML file.
pub fn read_verification_file(path: &str) -> Result<VerificationConfig, TaskError> {
    let file = File::open(path).map_err(|error| TaskError::unreadable_file(path, &error))?;
    let text = read_bounded(file, path)?;
    let format = TaskFileFormat::detect(Path::new(path), &text);
    parser::parse_verification_config(&parse_document(&text, format, path)?, path, "verification_config")
}

fn parse_document(text: &str, format: TaskFileFormat, name: &str) -> Result<DocumentNode, TaskError> {
    format.parse_tree(text).map_err(|bad| {
        let kind = if format == TaskFileFormat::Json { "JSON" } else { "YAML" };
        let place = format!("{name}:{}:{}", bad.line, bad.column);
        TaskError::new(place, &format!("not valid {kind}: {}", bad.message))
    })
}

/// Returns the entry of a table that has exactly one.
fn single_entry(root: &DocumentNode) -> Option<(&str, &DocumentNode)> {
    match &root.content {
        NodeContent::Map(entries) => match entries.as_slice() {
            [entry] => Some((entry.key.as_str(), &entry.node)),
            [] | [_, ..] => None,
        },
        NodeContent::Null | NodeContent::Text(_) | NodeContent::List(_) => None,
    }
}

fn no_tasks_error(root: &DocumentNode, name: &str) -> TaskError {
    let message = "no tasks found";
    TaskError::new(super::fields::format_place(name, root), message)
        .with_hint("write a list of tasks, a single `task:`, or `userStories:`; name Markdown files *.md")
}
