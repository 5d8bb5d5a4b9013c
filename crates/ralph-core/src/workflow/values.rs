//! The values that the texts of a node can refer to, and the strict rules for access to them.
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};

use super::node::NodeId;
use super::output::{NodeOutput, OutputError};
use super::references::ValueReference;
use super::variables::{VariableValues, WorkflowVariable};

/// The values that a text of a node can refer to.
#[derive(Clone, Copy)]
pub struct TextValues<'a> {
    /// The output of each node of the graph, and of the graphs around it. `None`: the graph has no such node.
    pub output_of: &'a dyn Fn(&NodeId) -> Option<&'a NodeOutput>,
    /// The outputs of the previous iteration of the loop group. `None`: outside of a group, or in its first iteration.
    pub previous_outputs: Option<&'a BTreeMap<NodeId, NodeOutput>>,
    pub inputs: &'a BTreeMap<String, String>,
    pub variables: &'a VariableValues,
}

/// Why a reference has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    #[error("{reference}: {problem}")]
    Output { reference: String, problem: OutputError },
    #[error("{reference}: the workflow has no node `{node}`")]
    UnknownNode { reference: String, node: NodeId },
    #[error("$INPUTS.{name}: the workflow has no input `{name}`")]
    UnknownInput { name: String },
    #[error("${}: the value is not known for this run", .variable.name())]
    UnknownVariable { variable: WorkflowVariable },
    #[error("${}: the value has quotes or control characters, and the script uses it as program text", .variable.name())]
    NotPlain { variable: WorkflowVariable },
}

impl<'a> TextValues<'a> {
    /// The text of a value.
    pub fn value_of(&self, reference: &ValueReference) -> Result<Cow<'a, str>, ValueError> {
        match reference {
            ValueReference::Output { node, field } => match (self.output_of)(node) {
                Some(output) => read_output(reference, output, field.as_deref()),
                None => Err(ValueError::UnknownNode { reference: reference.to_string(), node: node.clone() }),
            },
            ValueReference::PreviousOutput { node, field } => {
                match self.previous_outputs.map(|outputs| outputs.get(node)) {
                    Some(Some(output)) => read_output(reference, output, field.as_deref()),
                    Some(None) => Err(ValueError::UnknownNode { reference: reference.to_string(), node: node.clone() }),
                    None => Ok(Cow::Borrowed("")),
                }
            }
            ValueReference::Input { name } => {
                let value = self.inputs.get(name).map(|value| Cow::Borrowed(value.as_str()));
                value.ok_or_else(|| ValueError::UnknownInput { name: name.clone() })
            }
        }
    }

    /// The value of a variable. Without one, it is empty, except for the base branch, which must be known.
    pub fn variable(&self, variable: WorkflowVariable) -> Result<&'a str, ValueError> {
        match (self.variables.get(&variable), variable) {
            (Some(value), _) => Ok(value),
            (None, WorkflowVariable::BaseBranch) => Err(ValueError::UnknownVariable { variable }),
            (None, _) => Ok(""),
        }
    }
}

fn read_output<'a>(
    reference: &ValueReference,
    output: &'a NodeOutput,
    field: Option<&str>,
) -> Result<Cow<'a, str>, ValueError> {
    output.read(field).map_err(|problem| ValueError::Output { reference: reference.to_string(), problem })
}
