//! Problems of workflow files: errors, and notes about keys that have no effect.
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::source_file::SourceFile;
use ralph_util::sanitize::sanitize_text;

/// An error or a note, with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowProblem {
    pub file: String,
    pub line: u64,
    pub column: u64,
    pub message: String,
    pub hint: Option<String>,
}

impl fmt::Display for WorkflowProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

/// A position in a file; both numbers begin at 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub line: u64,
    pub column: u64,
}

impl Position {
    pub(super) const START: Self = Self { line: 1, column: 1 };
}

/// The problems of one file while it is read.
#[derive(Debug)]
pub(super) struct ProblemList {
    file: Arc<SourceFile>,
    found: RefCell<FoundProblems>,
}

/// The `errors` of a file, and the `notes` for its author.
#[derive(Debug, Default)]
pub(super) struct FoundProblems {
    pub errors: Vec<WorkflowProblem>,
    pub notes: Vec<WorkflowProblem>,
    /// The subjects that have a note: each gets only one.
    noted: BTreeSet<String>,
}

/// Maximum length of a message. Longer ones consist mostly of the quoted value.
const MAX_MESSAGE_CHARS: usize = 400;
/// Maximum number of errors, and of notes, that are kept for a file.
const MAX_PROBLEMS: usize = 200;

impl ProblemList {
    pub(super) fn new(file: Arc<SourceFile>) -> Self {
        Self { file, found: RefCell::default() }
    }

    pub(super) fn file(&self) -> &SourceFile {
        &self.file
    }

    pub(super) fn add_error(&self, at: Position, message: &str, hint: Option<String>) {
        push_problem(&mut self.found.borrow_mut().errors, self.problem(at, message, hint));
    }

    pub(super) fn add_note(&self, at: Position, message: &str, hint: Option<String>) {
        push_problem(&mut self.found.borrow_mut().notes, self.problem(at, message, hint));
    }

    /// Adds a note, unless the file already has one about this subject.
    pub(super) fn add_note_once(&self, at: Position, subject: &str, message: &str) {
        if self.found.borrow_mut().noted.insert(subject.to_owned()) {
            self.add_note(at, message, None);
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        !self.found.borrow().errors.is_empty()
    }

    /// Returns all problems in the order of the file.
    pub(super) fn into_found(self) -> FoundProblems {
        let mut found = self.found.into_inner();
        found.errors.sort_by_key(|problem| (problem.line, problem.column));
        found.notes.sort_by_key(|problem| (problem.line, problem.column));
        found
    }

    fn problem(&self, at: Position, message: &str, hint: Option<String>) -> WorkflowProblem {
        let Position { line, column } = at;
        WorkflowProblem { file: self.file.name.clone(), line, column, message: shorten_message(message), hint }
    }
}

fn push_problem(list: &mut Vec<WorkflowProblem>, problem: WorkflowProblem) {
    if list.len() < MAX_PROBLEMS && !list.contains(&problem) {
        list.push(problem);
    }
}

/// Makes a message safe to print: it may quote arbitrary input.
fn shorten_message(message: &str) -> String {
    let line = sanitize_text(message).replace('\n', " ");
    match line.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((end, _)) => format!("{} …", line.get(..end).unwrap_or_default()),
        None => line,
    }
}
