//! A file with tasks: which form it has, and what is in it.
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use ralph_core::task::VerificationConfig;

use super::{Read, TaskError, json, markdown, prd, read};
use ralph_util::yaml::{self, Content, Malformed, Node};

/// Larger files are mistakes.
const MOST_BYTES: u64 = 32 << 20;

/// So that ten thousand tasks go in at once.
const LIMITS: yaml::Limits = yaml::Limits { depth: 32, nodes: 2_000_000, aliases: 1_000 };

/// How tasks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Yaml,
    Json,
    Markdown,
}

/// What a file gives.
#[derive(Debug)]
pub struct Given {
    pub tasks: Vec<Read>,
    pub warnings: Vec<String>,
}

impl Form {
    /// Tells the form by the name, or else by how the text begins.
    #[must_use]
    pub fn of(path: &Path, text: &str) -> Self {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json") => Self::Json,
            Some("md" | "markdown") => Self::Markdown,
            Some(_) | None => Self::guess(text),
        }
    }

    fn guess(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let is_list =
            |line: &str| ["- [ ]", "- [x]", "* [ ]", "* [x]"].iter().any(|mark| line.starts_with(mark));
        match text.as_bytes().first() {
            Some(b'{' | b'[') => Self::Json,
            _ if text.lines().any(is_list) => Self::Markdown,
            _ => Self::Yaml,
        }
    }

    fn tree(self, text: &str) -> Result<Node, Malformed> {
        match self {
            Self::Json => json::parse(text),
            Self::Yaml | Self::Markdown => yaml::parse_within(text, &LIMITS),
        }
    }
}

/// Reads a text that is not endless.
pub fn bounded(from: impl io::Read, name: &str) -> Result<String, TaskError> {
    let mut bytes = Vec::new();
    let read = from.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| TaskError::new(name, &format!("it cannot be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(TaskError::new(name, &format!("it is larger than {} MB", MOST_BYTES >> 20)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let mut lines = valid.split(|byte| *byte == b'\n');
        let column = lines.next_back().map_or(0, |line| String::from_utf8_lossy(line).chars().count()) + 1;
        let line = lines.count() + 1;
        TaskError::new(format!("{name}:{line}:{column}"), "it is not UTF-8 text")
    })
}

/// Reads every task of a text. `name` stands in messages.
pub fn given(text: &str, form: Form, name: &str) -> Result<Given, TaskError> {
    if form == Form::Markdown {
        return markdown::tasks(text, name);
    }
    let root = tree(text, form, name)?;
    let list = |items: &[Node]| items.iter().map(|item| read::task(item, name)).collect::<Result<_, _>>();
    let tasks = match (&root.content, sole(&root)) {
        (Content::List(items), _) => list(items)?,
        (Content::Map(_), Some(("task", node))) => vec![read::task(node, name)?],
        (Content::Map(_), Some(("tasks", Node { content: Content::List(items), .. }))) => list(items)?,
        (Content::Map(entries), _) if entries.iter().any(|entry| entry.key == prd::STORIES) => {
            let stories = prd::stories(&root, name)?;
            if stories.tasks.is_empty() {
                return Err(nothing(&root, name));
            }
            return Ok(Given { tasks: stories.tasks, warnings: stories.warnings });
        }
        (Content::Map(_) | Content::Text(_) | Content::Nothing, _) => return Err(nothing(&root, name)),
    };
    if tasks.is_empty() {
        return Err(nothing(&root, name));
    }
    Ok(Given { tasks, warnings: Vec::new() })
}

/// Reads the one task of a text, of which id and title may be missing.
pub fn one(text: &str, form: Form, name: &str) -> Result<Read, TaskError> {
    let several =
        || TaskError::new(name, "one task is expected").hint("`ralph task import` reads files with several");
    if form == Form::Markdown {
        let [only] = <[Read; 1]>::try_from(markdown::tasks(text, name)?.tasks).map_err(|_| several())?;
        return Ok(only);
    }
    let root = tree(text, form, name)?;
    let only = match (&root.content, sole(&root)) {
        (Content::List(items), _) if items.len() == 1 => items.first(),
        (_, Some(("task", node))) => Some(node),
        (Content::Map(_), _) => Some(&root),
        (Content::List(_) | Content::Text(_) | Content::Nothing, _) => None,
    };
    read::draft(only.ok_or_else(several)?, name)
}

/// Reads how something is verified, from a text of JSON.
pub fn config_text(text: &str, name: &str) -> Result<VerificationConfig, TaskError> {
    read::verification_config(&tree(text, Form::Json, name)?, name, "verification_config")
}

/// Reads the same from a file of JSON or YAML.
pub fn config_file(path: &str) -> Result<VerificationConfig, TaskError> {
    let file = File::open(path).map_err(|error| TaskError::unreadable(path, &error))?;
    let text = bounded(file, path)?;
    let form = Form::of(Path::new(path), &text);
    read::verification_config(&tree(&text, form, path)?, path, "verification_config")
}

fn tree(text: &str, form: Form, name: &str) -> Result<Node, TaskError> {
    form.tree(text).map_err(|bad| {
        let kind = if form == Form::Json { "JSON" } else { "YAML" };
        let place = format!("{name}:{}:{}", bad.line, bad.column);
        TaskError::new(place, &format!("it is no {kind} that can be read: {}", bad.what))
    })
}

/// Returns the only entry of a table.
fn sole(root: &Node) -> Option<(&str, &Node)> {
    match &root.content {
        Content::Map(entries) => match entries.as_slice() {
            [entry] => Some((entry.key.as_str(), &entry.node)),
            [] | [_, ..] => None,
        },
        Content::Nothing | Content::Text(_) | Content::List(_) => None,
    }
}

fn nothing(root: &Node, name: &str) -> TaskError {
    let what = "no tasks are found here";
    TaskError::new(super::fields::place(name, root), what)
        .hint("a list of tasks, a single `task:`, or `userStories:` is expected; Markdown files end with .md")
}
