//! Reads one workflow file into a draft: all keys and values are checked, includes and references are not resolved yet.
mod agent_options;
mod interaction;
mod loops;
mod node;
mod steps;
mod top;

use std::path::Path;

use ralph_core::criterion::Criterion;
use ralph_core::workflow::condition::Condition;
use ralph_core::workflow::{AgentDefaults, InputDefinition, Node, NodeId, TriggerRule, WorkflowForm, WorktreeUse};
use ralph_util::yaml::DocumentNode;
use serde_json::Value;
use std::collections::BTreeMap;

use super::problem::{Position, ProblemList};
use super::table::Table;
use crate::config::{TemplateLibrary, read_check_list};

pub(super) use top::read_workflow;

/// A workflow as written.
#[derive(Debug, Clone)]
pub(super) struct WorkflowDraft<'a> {
    pub name: String,
    pub description: String,
    pub form: WorkflowForm,
    pub agent: AgentDefaults,
    pub worktree: WorktreeUse,
    pub is_interactive: bool,
    pub mutates_checkout: bool,
    pub requires_evidence: bool,
    pub inputs: BTreeMap<String, InputDefinition>,
    pub returns: Option<NodeId>,
    pub outcome_field: Option<String>,
    pub nodes: Vec<DraftNode<'a>>,
}

/// A node as written, with its source for later messages.
#[derive(Debug, Clone)]
pub(super) struct DraftNode<'a> {
    pub content: DraftContent<'a>,
    pub source: &'a DocumentNode,
}

#[derive(Debug, Clone)]
pub(super) enum DraftContent<'a> {
    Node(Box<Node>),
    /// A loop group; `node` has no inner nodes yet.
    Group {
        node: Box<Node>,
        nodes: Vec<DraftNode<'a>>,
    },
    Include(Box<IncludeNode>),
}

/// Replaced by the nodes of another workflow.
#[derive(Debug, Clone)]
pub(super) struct IncludeNode {
    pub id: NodeId,
    pub workflow: String,
    pub with: BTreeMap<String, Value>,
    pub depends_on: Vec<NodeId>,
    pub when: Option<Condition>,
    pub trigger_rule: TriggerRule,
}

/// The context of the parser of a file.
pub(super) struct ParserContext<'a> {
    pub problems: &'a ProblemList,
    pub path: &'a Path,
    /// The templates of checks.
    pub templates: &'a TemplateLibrary,
}

impl ParserContext<'_> {
    /// Reads checks in the syntax of the configuration.
    fn read_checks(&self, table: &Table<'_>, key: &str) -> Option<Vec<Criterion>> {
        let node = table.get(key)?;
        match read_check_list(node, self.path, self.templates) {
            Ok(checks) => Some(checks.into_iter().map(|check| check.criterion).collect()),
            Err(error) => {
                let at = position_in_place(&error.place).unwrap_or(table.value_position(key));
                let hint = error.hint.as_ref().and_then(|hint| hint.text()).map(str::to_owned);
                self.problems.add_error(at, &format!("{}: {}", table.child_scope(key), error.message), hint);
                None
            }
        }
    }
}

/// Returns the position at the end of `FILE:LINE:COLUMN`.
fn position_in_place(place: &str) -> Option<Position> {
    let mut parts = place.rsplitn(3, ':');
    let (column, line) = (parts.next()?, parts.next()?);
    Some(Position { line: line.parse().ok()?, column: column.parse().ok()? })
}
