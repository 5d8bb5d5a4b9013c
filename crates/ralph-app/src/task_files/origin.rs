//! The source positions of a task and its fields, for later error messages.
use ralph_core::task::TaskProblem;

use super::TaskError;
use super::fields::format_place;
use ralph_util::yaml::{DocumentNode, NodeContent, ScalarStyle};

#[derive(Debug, Clone)]
pub enum TaskOrigin {
    /// In a file; `node` is the table of the task.
    File { name: String, node: DocumentNode },
    /// On the command line; the name of the command.
    Command(&'static str),
}

impl TaskOrigin {
    pub(super) fn from_node(name: &str, node: &DocumentNode) -> Self {
        Self::File { name: name.to_owned(), node: node.clone() }
    }

    /// Returns the origin of a task in a single line, without fields.
    pub(super) fn from_line(name: &str, line: u64) -> Self {
        let node = DocumentNode { line, column: 1, style: ScalarStyle::Plain, content: NodeContent::Null };
        Self::File { name: name.to_owned(), node }
    }

    /// Returns the position of the task.
    #[must_use]
    pub fn task_place(&self) -> String {
        self.field_place("")
    }

    /// Returns the position of a field, or of its nearest existing parent.
    #[must_use]
    pub fn field_place(&self, field: &str) -> String {
        match self {
            Self::File { name, node } => format_place(name, node.nearest_node(field)),
            Self::Command(name) => (*name).to_owned(),
        }
    }

    /// Converts a problem to an error with the position of its field.
    #[must_use]
    pub fn locate_problem(&self, problem: &TaskProblem) -> TaskError {
        TaskError::new(self.field_place(&problem.field), &problem.to_string()).with_hint(problem.hint.clone())
    }
}
