//! Where a task was written, and each of its fields, for whoever finds something wrong with it later.
use ralph_core::task::TaskProblem;

use super::TaskError;
use super::fields::format_place;
use ralph_util::yaml::{DocumentNode, NodeContent, ScalarStyle};

#[derive(Debug, Clone)]
pub enum TaskOrigin {
    /// In a file; the fields of the task stand below the node.
    File { name: String, node: DocumentNode },
    /// On the command line of this command.
    Command(&'static str),
}

impl TaskOrigin {
    pub(super) fn from_node(name: &str, node: &DocumentNode) -> Self {
        Self::File { name: name.to_owned(), node: node.clone() }
    }

    /// A line of a file that has no fields.
    pub(super) fn from_line(name: &str, line: u64) -> Self {
        let node = DocumentNode { line, column: 1, style: ScalarStyle::Plain, content: NodeContent::Null };
        Self::File { name: name.to_owned(), node }
    }

    /// Returns the place of the task as a whole.
    #[must_use]
    pub fn task_place(&self) -> String {
        self.field_place("")
    }

    /// Returns the place of a field, or of what is nearest above it.
    #[must_use]
    pub fn field_place(&self, field: &str) -> String {
        match self {
            Self::File { name, node } => format_place(name, node.nearest_node(field)),
            Self::Command(name) => (*name).to_owned(),
        }
    }

    /// Says of a problem where its field stands.
    #[must_use]
    pub fn locate_problem(&self, problem: &TaskProblem) -> TaskError {
        TaskError::new(self.field_place(&problem.field), &problem.to_string()).with_hint(problem.hint.clone())
    }
}
