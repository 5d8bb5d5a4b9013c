//! Where a task was written, and each of its fields, for whoever finds something wrong with it later.
use ralph_core::task::Problem;

use super::TaskError;
use super::fields::place;
use ralph_util::yaml::{Content, Node, Written};

#[derive(Debug, Clone)]
pub enum Origin {
    /// In a file; the fields of the task stand below the node.
    File { name: String, node: Node },
    /// On the command line of this command.
    Command(&'static str),
}

impl Origin {
    pub(super) fn of(name: &str, node: &Node) -> Self {
        Self::File { name: name.to_owned(), node: node.clone() }
    }

    /// A line of a file that has no fields.
    pub(super) fn line(name: &str, line: u64) -> Self {
        let node = Node { line, column: 1, written: Written::Plain, content: Content::Nothing };
        Self::File { name: name.to_owned(), node }
    }

    /// Returns the place of the task as a whole.
    #[must_use]
    pub fn place(&self) -> String {
        self.place_of("")
    }

    /// Returns the place of a field, or of what is nearest above it.
    #[must_use]
    pub fn place_of(&self, field: &str) -> String {
        match self {
            Self::File { name, node } => place(name, node.nearest(field)),
            Self::Command(name) => (*name).to_owned(),
        }
    }

    /// Says of a problem where its field stands.
    #[must_use]
    pub fn refuse(&self, problem: &Problem) -> TaskError {
        TaskError::new(self.place_of(&problem.field), &problem.to_string()).hint(problem.hint.clone())
    }
}
