//! Command files (`commands/**/NAME.md`) and scripts (`scripts/NAME.ts`) that nodes name.
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::workflow::{Node, NodeKind, PromptText, ScriptRuntime, ScriptSource};
use ralph_util::suggest;
use ralph_util::yaml::{self, NodeContent};

use super::built_in::BUILT_IN_COMMANDS;
use super::file_name::command_name_problem;
use super::read_file::read_text_file;

/// The folders with commands and scripts, and the commands that are part of ralph.
#[derive(Debug)]
pub struct CommandLibrary {
    /// The highest precedence first.
    folders: Vec<PathBuf>,
    /// The command files of each folder by name.
    files: Vec<OnceCell<BTreeMap<String, PathBuf>>>,
}

/// A command: the text of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowCommand {
    pub name: String,
    /// `None`: it is built in.
    pub path: Option<PathBuf>,
    pub description: Option<String>,
    /// The prompt, without the front matter.
    pub text: String,
}

/// A script file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowScript {
    pub path: PathBuf,
    pub text: String,
}

/// Why a command or script cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    #[error("{name:?} is not the name of a command or script: {problem}")]
    InvalidName { name: String, problem: &'static str },
    #[error("there is no command named {name:?}")]
    UnknownCommand { name: String, hint: String },
    #[error("there is no script named {name:?}")]
    UnknownScript { name: String, hint: String },
    #[error("{}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
}

impl CommandError {
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::UnknownCommand { hint, .. } | Self::UnknownScript { hint, .. } => Some(hint),
            Self::InvalidName { .. } | Self::Unreadable { .. } => None,
        }
    }
}

const MAX_COMMAND_BYTES: usize = 4 << 20;
const MAX_DEPTH: usize = 16;
const MAX_FILES: usize = 10_000;

impl CommandLibrary {
    pub(super) fn new(folders: Vec<PathBuf>) -> Self {
        let files = folders.iter().map(|_| OnceCell::new()).collect();
        Self { folders, files }
    }

    /// Finds a command. `packages` are those of the workflow that names it: without any, the folders of the project and
    /// of the user are searched.
    pub fn find_command(&self, name: &str, packages: &[PathBuf]) -> Result<WorkflowCommand, CommandError> {
        check_name(name)?;
        for package in packages {
            let folder = package.join("commands");
            if let Some(path) = index_commands(&folder).get(name) {
                return read_command(name, path, &folder);
            }
        }
        for (folder, files) in self.folders.iter().zip(&self.files) {
            let folder = folder.join("commands");
            if let Some(path) = files.get_or_init(|| index_commands(&folder)).get(name) {
                return read_command(name, path, &folder);
            }
        }
        match BUILT_IN_COMMANDS.iter().find(|file| file.name == name) {
            Some(file) => Ok(parse_command(name, None, file.text)),
            None => Err(CommandError::UnknownCommand { name: name.to_owned(), hint: self.unknown_command_hint(name) }),
        }
    }

    fn unknown_command_hint(&self, name: &str) -> String {
        let known: Vec<&str> = self
            .files
            .iter()
            .filter_map(OnceCell::get)
            .flat_map(|files| files.keys().map(String::as_str))
            .chain(BUILT_IN_COMMANDS.iter().map(|file| file.name))
            .collect();
        let place = format!("write it to .ralph/commands/{name}.md");
        suggest::nearest_name(name, &known).map_or(place, |near| format!("did you mean {near}?"))
    }

    /// Finds a script for a runtime.
    pub fn find_script(
        &self,
        name: &str,
        runtime: ScriptRuntime,
        packages: &[PathBuf],
    ) -> Result<WorkflowScript, CommandError> {
        check_name(name)?;
        let endings: &[&str] = match runtime {
            ScriptRuntime::Bun => &["ts", "js"],
            ScriptRuntime::Uv => &["py"],
        };
        for folder in packages.iter().chain(&self.folders).map(|folder| folder.join("scripts")) {
            let candidates = endings.iter().map(|ending| folder.join(format!("{name}.{ending}")));
            if let Some(path) = candidates.into_iter().find(|path| path.is_file()) {
                let text = read_inside(&path, &folder)?;
                return Ok(WorkflowScript { path, text });
            }
        }
        let ending = endings.first().copied().unwrap_or_default();
        let hint = format!("write it to .ralph/scripts/{name}.{ending}");
        Err(CommandError::UnknownScript { name: name.to_owned(), hint })
    }

    /// Returns the problems of all commands and scripts that nodes name.
    #[must_use]
    pub fn find_missing(&self, nodes: &[Node], packages: &[PathBuf]) -> Vec<CommandError> {
        let mut missing = Vec::new();
        self.collect_missing(nodes, packages, &mut missing);
        missing
    }

    fn collect_missing(&self, nodes: &[Node], packages: &[PathBuf], missing: &mut Vec<CommandError>) {
        for node in nodes {
            let found = match &node.kind {
                NodeKind::Agent(agent) => self.check_prompt(&agent.prompt, packages),
                NodeKind::Loop(looping) => self.check_prompt(&looping.prompt, packages),
                NodeKind::Script(script) => match &script.source {
                    ScriptSource::Named(name) => self.find_script(name, script.runtime, packages).map(drop),
                    ScriptSource::Code(_) => Ok(()),
                },
                NodeKind::LoopGroup(group) => {
                    self.collect_missing(&group.nodes, packages, missing);
                    Ok(())
                }
                NodeKind::Bash(_)
                | NodeKind::Approval(_)
                | NodeKind::Cancel { .. }
                | NodeKind::Workflow(_)
                | NodeKind::Checks(_) => Ok(()),
            };
            missing.extend(found.err().filter(|error| !missing.contains(error)));
        }
    }

    fn check_prompt(&self, prompt: &PromptText, packages: &[PathBuf]) -> Result<(), CommandError> {
        match prompt {
            PromptText::Inline(_) => Ok(()),
            PromptText::Command { name, .. } => self.find_command(name, packages).map(drop),
        }
    }
}

fn check_name(name: &str) -> Result<(), CommandError> {
    match command_name_problem(name) {
        None => Ok(()),
        Some(problem) => Err(CommandError::InvalidName { name: name.to_owned(), problem }),
    }
}

/// Finds the command files of a folder. Of two with the same name, the one in the upper folder is used.
fn index_commands(folder: &Path) -> BTreeMap<String, PathBuf> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    for _ in 0..MAX_DEPTH {
        let mut below = Vec::new();
        for folder in open {
            let mut paths: Vec<PathBuf> =
                std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
                if path.is_dir() && !is_link {
                    below.push(path);
                } else if let Some(name) = command_name(&path)
                    && files.len() < MAX_FILES
                {
                    files.entry(name).or_insert(path);
                }
            }
        }
        open = below;
    }
    files
}

fn command_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".md")?;
    command_name_problem(name).is_none().then(|| name.to_owned())
}

fn read_command(name: &str, path: &Path, folder: &Path) -> Result<WorkflowCommand, CommandError> {
    let text = read_inside(path, folder)?;
    let command = parse_command(name, Some(path.to_path_buf()), &text);
    if command.text.trim().is_empty() {
        let reason = "the command is empty".to_owned();
        return Err(CommandError::Unreadable { path: path.to_path_buf(), reason });
    }
    Ok(command)
}

/// Reads a file that must lie in a folder after links are followed.
fn read_inside(path: &Path, folder: &Path) -> Result<String, CommandError> {
    let refuse = |reason: &str| CommandError::Unreadable { path: path.to_path_buf(), reason: reason.to_owned() };
    let resolve = |path: &Path| path.canonicalize().map_err(|error| refuse(&format!("cannot read the file: {error}")));
    if !resolve(path)?.starts_with(resolve(folder)?) {
        return Err(refuse("the link leads out of its folder"));
    }
    read_text_file(path, MAX_COMMAND_BYTES).map_err(|reason| refuse(&reason))
}

fn parse_command(name: &str, path: Option<PathBuf>, text: &str) -> WorkflowCommand {
    let (front_matter, body) = split_front_matter(text);
    let description = front_matter.and_then(read_description);
    WorkflowCommand { name: name.to_owned(), path, description, text: body.to_owned() }
}

/// Splits a text into its front matter, if it begins with one, and the rest.
fn split_front_matter(text: &str) -> (Option<&str>, &str) {
    const FENCE: &str = "---";
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == FENCE) else { return (None, text) };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == FENCE {
            let body = text.get(end + line.len()..).unwrap_or_default();
            return (text.get(first.len()..end), body);
        }
        end += line.len();
    }
    (None, text)
}

/// Reads the description. Other keys are for other programs.
fn read_description(front_matter: &str) -> Option<String> {
    let root = yaml::parse(front_matter).ok()?;
    match &root.nearest_node("description").content {
        NodeContent::Text(text) => Some(text.clone()),
        NodeContent::Null | NodeContent::List(_) | NodeContent::Map(_) => None,
    }
}
