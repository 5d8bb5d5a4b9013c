//! The problems of a graph.
use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::workflow::node::NodeId;

/// A problem, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphProblem {
    /// The position of the node in the list of nodes, and for nodes of loop groups in the lists inside. Empty: the workflow.
    pub path: Vec<usize>,
    /// The keys that lead to the value, joined by dots.
    pub field: Cow<'static, str>,
    /// The part of the value that is wrong, as written.
    pub part: Option<String>,
    pub kind: GraphProblemKind,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphProblemKind {
    #[error("another node has the id {0}")]
    DuplicateId(NodeId),
    #[error("the id {0} is reserved for `${0}.NAME`")]
    ReservedId(NodeId),
    #[error("there is no node {id}")]
    UnknownDependency { id: NodeId, similar: Option<NodeId> },
    #[error("{0} is inside a loop group, so that only nodes of that group can depend on it")]
    DependencyInGroup(NodeId),
    #[error("circular dependency: {}", join_cycle(.0))]
    Cycle(Vec<NodeId>),
    #[error("{reference}: there is no node {id}")]
    UnknownReference { reference: String, id: NodeId, similar: Option<NodeId> },
    /// The same in a prompt or in a comment of a script, where it may be an explanation.
    #[error("{reference} stays as it is: there is no node {id}")]
    LiteralReference { reference: String, id: NodeId },
    #[error("{reference} fails this node: the output_format of {id} does not declare the field {field}")]
    UndeclaredField { reference: String, id: NodeId, field: String },
    #[error("{reference}: there is no input {name}")]
    UnknownInput { reference: String, name: String },
    #[error("{reference} has a value only inside a loop group that contains {id}")]
    NotInLoopGroup { reference: String, id: NodeId },
    #[error("{reference}: {id} does not run before this node")]
    NotUpstream { reference: String, id: NodeId },
    #[error("compares the whole answer of the agent {id}, which is seldom exactly one word")]
    WholeAnswerCompared { id: NodeId },
    #[error("{reference} inside code would become part of the program: the node will be refused when it runs")]
    ReferenceInCode { reference: String },
    #[error("bash does not expand {variable} in single quotes")]
    NotExpanded { variable: String },
    #[error("bash would evaluate {part} as code: a value may be a part of the name of a variable")]
    ValueAsName { part: String },
    #[error("{part} becomes a part of a program that a shell runs")]
    ValueAsProgram { part: String },
    #[error("max_iterations is 0")]
    NoIterations,
    #[error("the loop has no way to complete")]
    NoCompletion,
    #[error("{0} is not a required boolean field of output_format")]
    CompletionFieldNotDeclared(String),
    #[error("context: {0} is not an agent node")]
    NotAnAgent(NodeId),
    #[error("a child workflow cannot run inside a loop group")]
    ChildInGroup,
    #[error("the loop group has no nodes")]
    EmptyGroup,
    #[error("the workflow has no nodes")]
    EmptyGraph,
    #[error("returns: there is no node {0}")]
    UnknownResult(NodeId),
    #[error("outcome_field: {0} is not a boolean field of the output_format of the result")]
    OutcomeNotDeclared(String),
}

impl GraphProblem {
    /// Returns whether the workflow can run all the same.
    #[must_use]
    pub fn is_note(&self) -> bool {
        match self.kind {
            GraphProblemKind::LiteralReference { .. }
            | GraphProblemKind::NotUpstream { .. }
            | GraphProblemKind::WholeAnswerCompared { .. }
            | GraphProblemKind::ReferenceInCode { .. }
            | GraphProblemKind::NotExpanded { .. }
            // Only the node that reads the field fails, and only if it runs.
            | GraphProblemKind::UndeclaredField { .. } => true,
            // A prompt may explain the format; elsewhere the value is needed.
            GraphProblemKind::UnknownInput { .. }
            | GraphProblemKind::NotInLoopGroup { .. } => is_prompt_field(&self.field),
            GraphProblemKind::DuplicateId(_)
            | GraphProblemKind::ReservedId(_)
            | GraphProblemKind::UnknownDependency { .. }
            | GraphProblemKind::DependencyInGroup(_)
            | GraphProblemKind::Cycle(_)
            | GraphProblemKind::UnknownReference { .. }
            | GraphProblemKind::ValueAsName { .. }
            | GraphProblemKind::ValueAsProgram { .. }
            | GraphProblemKind::NoIterations
            | GraphProblemKind::NoCompletion
            | GraphProblemKind::CompletionFieldNotDeclared(_)
            | GraphProblemKind::NotAnAgent(_)
            | GraphProblemKind::ChildInGroup
            | GraphProblemKind::EmptyGroup
            | GraphProblemKind::EmptyGraph
            | GraphProblemKind::UnknownResult(_)
            | GraphProblemKind::OutcomeNotDeclared(_) => false,
        }
    }

    /// Returns how to fix it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        self.kind.similar_id().map_or_else(
            || self.kind.fixed_hint().map(ToOwned::to_owned),
            |similar| Some(format!("did you mean {similar}?")),
        )
    }
}

impl GraphProblemKind {
    /// Returns the id that was probably meant.
    fn similar_id(&self) -> Option<&NodeId> {
        if let Self::UnknownDependency { similar, .. } | Self::UnknownReference { similar, .. } = self {
            similar.as_ref()
        } else {
            None
        }
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        match self {
            Self::DuplicateId(_) => Some("give each node an id of its own, also inside loop groups"),
            Self::ReservedId(_) => Some("choose another id"),
            Self::DependencyInGroup(_) => Some("depend on the loop group"),
            Self::Cycle(_) => Some("remove one of these dependencies, or use a loop or loop_group node to repeat work"),
            Self::UndeclaredField { .. } => Some("add the field to `properties`, or read a declared one"),
            Self::UnknownInput { .. } => Some("declare it below `inputs:`"),
            Self::NotInLoopGroup { .. } => Some("use $ID.output for the output of this run"),
            Self::NotUpstream { .. } => Some("add it to depends_on, directly or through other nodes"),
            Self::WholeAnswerCompared { .. } => Some("give the node an output_format and compare a field"),
            Self::ReferenceInCode { .. } => Some("pass the value by `with:` and read it from the environment"),
            Self::NotExpanded { .. } => Some("use double quotes, or leave and re-enter the single quotes"),
            Self::ValueAsName { .. } => {
                Some("write the name itself, or use an associative array and read ${ARRAY[$KEY]}")
            }
            Self::ValueAsProgram { .. } => Some("pass the value as an argument: bash -c 'echo \"$1\"' _ VALUE"),
            Self::NoIterations => Some("write a whole number of at least 1"),
            Self::NoCompletion => Some("add until, until_bash, until_field or checks"),
            Self::CompletionFieldNotDeclared(_) => {
                Some("add it to `properties` with `type: boolean`, and to `required`")
            }
            Self::NotAnAgent(_) => Some("name a command, prompt or loop node"),
            Self::ChildInGroup => Some("use include instead, or put the loop into the child workflow"),
            Self::EmptyGroup | Self::EmptyGraph => Some("add at least one node"),
            Self::UnknownResult(_) | Self::UnknownDependency { .. } | Self::UnknownReference { .. } => {
                Some("name the id of a node of this file")
            }
            Self::OutcomeNotDeclared(_) => Some("add it to `properties` with `type: boolean`"),
            Self::LiteralReference { .. } => None,
        }
    }
}

/// Returns whether a field is a prompt or a message.
pub(super) fn is_prompt_field(field: &str) -> bool {
    matches!(
        field,
        "prompt" | "loop.prompt" | "systemPrompt" | "approval.message" | "approval.on_reject.prompt" | "cancel"
    ) || field.ends_with("gate_message")
}

fn join_cycle(ids: &[NodeId]) -> String {
    const MAX_SHOWN: usize = 8;
    let mut text = String::new();
    for id in ids.iter().take(MAX_SHOWN) {
        text.push_str(id.as_str());
        text.push_str(" -> ");
    }
    if ids.len() > MAX_SHOWN {
        text.push_str("… -> ");
    }
    text.push_str(ids.first().map_or("", NodeId::as_str));
    text
}
