//! The values that the texts of a node refer to, taken from the state of the graph when the node starts.
use std::collections::BTreeMap;

use ralph_core::workflow::graph::{CompiledNode, Graph, GraphState, NodeIndex};
use ralph_core::workflow::{
    NodeId, NodeOutput, TextReference, TextValues, ValueReference, VariableValues, WorkflowVariable, find_references,
};

/// Values for one node. They do not change while it runs.
#[derive(Debug, Clone, Default)]
pub struct NodeValues {
    outputs: BTreeMap<NodeId, NodeOutput>,
    previous: Option<BTreeMap<NodeId, NodeOutput>>,
    pub inputs: BTreeMap<String, String>,
    pub variables: VariableValues,
}

impl NodeValues {
    /// Collects the outputs that the texts refer to.
    #[must_use]
    pub fn collect(graph: &Graph, state: &GraphState, node: NodeIndex, texts: &[&str]) -> Self {
        let references = texts.iter().flat_map(|text| find_references(text));
        let named = references.filter_map(|found| match found.reference {
            TextReference::Value(ValueReference::Output { node, .. }) => Some(node),
            TextReference::Value(ValueReference::PreviousOutput { .. } | ValueReference::Input { .. })
            | TextReference::Variable(_) => None,
        });
        let mut outputs = BTreeMap::new();
        let own = graph.node(node).map(CompiledNode::id);
        for id in named {
            match state.output_from(graph, node, &id) {
                // The prompt of a loop may read its own output, which is empty before the loop has ended.
                Some(NodeOutput::NotRun) if own == Some(&id) => drop(outputs.insert(id, NodeOutput::Skipped)),
                Some(output) => drop(outputs.insert(id, output.clone())),
                None => {}
            }
        }
        Self { outputs, previous: state.previous_outputs(graph, node), ..Self::default() }
    }

    #[must_use]
    pub fn with_inputs(self, inputs: BTreeMap<String, String>) -> Self {
        Self { inputs, ..self }
    }

    #[must_use]
    pub fn with_variables(self, variables: VariableValues) -> Self {
        Self { variables, ..self }
    }

    pub fn set_variable(&mut self, variable: WorkflowVariable, value: String) {
        self.variables.insert(variable, value);
    }

    /// Calls `read` with the values as the text functions take them.
    pub fn with_text_values<T>(&self, read: impl FnOnce(&TextValues<'_>) -> T) -> T {
        let output_of = |id: &NodeId| self.outputs.get(id);
        read(&TextValues {
            output_of: &output_of,
            previous_outputs: self.previous.as_ref(),
            inputs: &self.inputs,
            variables: &self.variables,
        })
    }
}
