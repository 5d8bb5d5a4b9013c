//! Resolves the texts of a node against the outputs of a dry run, as a real run does before the node starts: a reference
//! without a value fails the node.
use std::collections::BTreeMap;

use ralph_core::workflow::graph::{CompiledNode, Graph, GraphState, NodeIndex};
use ralph_core::workflow::script_code::substitute_script_code;
use ralph_core::workflow::shell::rewrite_script;
use ralph_core::workflow::{
    Node, NodeKind, PromptText, TextRole, VariableValues, WorkflowVariable, substitute_prompt, substitute_text,
};

use crate::workflow_runs::node_values::NodeValues;
use crate::workflow_runs::ready::resolve_with;

/// The graph with its state, and what is the same for all nodes.
pub(super) struct NodeInputs<'a> {
    pub graph: &'a Graph,
    pub state: &'a GraphState,
    pub commands: &'a BTreeMap<String, String>,
    pub inputs: &'a BTreeMap<String, String>,
    pub message: &'a str,
}

/// Returns all texts of a node, with that of its command file.
pub(super) fn node_texts(node: &Node, commands: &BTreeMap<String, String>) -> Vec<String> {
    let mut texts: Vec<String> = node.texts().into_iter().map(|text| text.text.to_owned()).collect();
    texts.extend(command_of(node).and_then(|(name, _)| commands.get(name)).cloned());
    texts
}

/// Returns the names of the commands of all nodes.
pub(super) fn command_names(nodes: &[Node]) -> Vec<&str> {
    let mut names = Vec::new();
    for node in nodes {
        names.extend(command_of(node).map(|(name, _)| name));
        if let NodeKind::LoopGroup(group) = &node.kind {
            names.extend(command_names(&group.nodes));
        }
    }
    names
}

fn command_of(node: &Node) -> Option<(&str, &BTreeMap<String, serde_json::Value>)> {
    match node.kind.agent_work()?.prompt {
        PromptText::Command { name, with } => Some((name, with)),
        PromptText::Inline(_) => None,
    }
}

impl NodeInputs<'_> {
    /// Resolves all texts of a node. The error is the reason why it fails.
    pub fn check_texts(&self, index: NodeIndex, node: &CompiledNode) -> Result<(), String> {
        let values = self.values(index, node)?;
        for text in node.definition.texts() {
            // Questions to people show references without a value as they are written.
            let is_question = text.field == "approval.message" || text.field.ends_with("gate_message");
            if !is_question {
                resolve_text(text.text, text.role, &values).map_err(|reason| format!("{}: {reason}", text.field))?;
            }
        }
        let command = command_of(&node.definition).and_then(|(name, _)| self.commands.get(name));
        command.map_or(Ok(()), |text| resolve_text(text, TextRole::Prompt, &values))
    }

    /// Resolves the list of a fan-out.
    pub fn resolve_items(&self, index: NodeIndex, node: &CompiledNode, items: &str) -> Result<String, String> {
        let values = self.values(index, node)?;
        let resolved = values.with_text_values(|values| substitute_text(items, values));
        resolved.map(|resolved| resolved.text).map_err(|error| error.to_string())
    }

    pub fn values(&self, index: NodeIndex, node: &CompiledNode) -> Result<NodeValues, String> {
        let texts = node_texts(&node.definition, self.commands);
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let values = NodeValues::collect(self.graph, self.state, index, &texts)
            .with_inputs(self.inputs.clone())
            .with_variables(self.variables(node));
        let mut inputs = self.inputs.clone();
        inputs.extend(resolve_with(&node.definition.inputs, &values)?);
        let values = values.with_inputs(inputs.clone());
        let Some((_, with)) = command_of(&node.definition) else { return Ok(values) };
        inputs.extend(resolve_with(with, &values)?);
        Ok(values.with_inputs(inputs))
    }

    /// The variables of a run that has no files.
    fn variables(&self, node: &CompiledNode) -> VariableValues {
        let text = |text: &str| text.to_owned();
        let mut values = BTreeMap::from([
            (WorkflowVariable::Arguments, text(self.message)),
            (WorkflowVariable::ArtifactsDir, text("/dry-run/artifacts")),
            (WorkflowVariable::StateDir, text("/dry-run/state")),
            (WorkflowVariable::WorkflowId, text("dry-run")),
            (WorkflowVariable::BaseBranch, text("main")),
        ]);
        if let Some(progress) = node.group.and_then(|group| self.state.group_progress(group)) {
            values.insert(WorkflowVariable::LoopUserInput, progress.user_input.clone());
            values.insert(WorkflowVariable::LoopPrevOutput, text(progress.previous_output.text()));
        }
        values
    }
}

fn resolve_text(text: &str, role: TextRole, values: &NodeValues) -> Result<(), String> {
    values.with_text_values(|values| match role {
        TextRole::Prompt => substitute_prompt(text, values).map(drop).map_err(|error| error.to_string()),
        TextRole::Value => substitute_text(text, values).map(drop).map_err(|error| error.to_string()),
        TextRole::Shell => {
            rewrite_script(text).bind(values, "/dry-run/values").map(drop).map_err(|error| error.to_string())
        }
        TextRole::Code(runtime) => {
            substitute_script_code(text, runtime, values).map(drop).map_err(|error| error.to_string())
        }
    })
}
