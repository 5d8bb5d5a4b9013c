//! How nodes use the outputs of others: a default output must have the fields that they read.
use std::collections::BTreeMap;

use ralph_core::workflow::condition::{Comparison, ComparisonOperator};
use ralph_core::workflow::graph::{Graph, NodeIndex};
use ralph_core::workflow::{Node, NodeKind, TextReference, ValueReference, find_references};

use super::node_inputs::node_texts;

/// The type that a value must have, so that its reader can use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueUse {
    Text,
    Number,
    /// The items of a fan-out.
    List,
}

/// How the output of one node is used.
#[derive(Debug, Clone, Default)]
pub(super) struct OutputUse {
    pub whole: Option<ValueUse>,
    pub fields: BTreeMap<String, ValueUse>,
}

/// How the outputs of all nodes are used.
#[derive(Debug, Default)]
pub(super) struct OutputUses {
    by_node: BTreeMap<NodeIndex, OutputUse>,
}

impl OutputUses {
    /// Finds all references in the graph.
    pub fn find(graph: &Graph, commands: &BTreeMap<String, String>) -> Self {
        let mut uses = Self::default();
        for (reader, node) in graph.nodes() {
            for text in node_texts(&node.definition, commands) {
                uses.add_text(graph, reader, &text, ValueUse::Text);
            }
            if let Some(items) = fan_out_items(&node.definition) {
                uses.add_text(graph, reader, items, ValueUse::List);
            }
            let conditions = node.definition.when.iter().flat_map(|when| when.any_of.iter().flatten());
            for Comparison { left, operator, .. } in conditions {
                uses.add(graph, reader, left, use_of_operand(*operator));
            }
        }
        if let (Some(node), Some(field)) = (graph.returns(), graph.outcome_field()) {
            uses.by_node.entry(node).or_default().fields.entry(field.to_owned()).or_insert(ValueUse::Text);
        }
        uses
    }

    /// Adds how the output of the whole workflow is used: that of its result node, or of one of its last nodes.
    pub fn with_result_use(mut self, graph: &Graph, usage: &OutputUse) -> Self {
        let nodes = graph.returns().map_or_else(|| graph.top_level().sinks.clone(), |node| vec![node]);
        for node in nodes {
            let output = self.by_node.entry(node).or_default();
            output.whole = output.whole.max(usage.whole);
            for (field, usage) in &usage.fields {
                let known = output.fields.entry(field.clone()).or_insert(*usage);
                *known = (*known).max(*usage);
            }
        }
        self
    }

    pub fn of(&self, node: NodeIndex) -> OutputUse {
        self.by_node.get(&node).cloned().unwrap_or_default()
    }

    fn add_text(&mut self, graph: &Graph, reader: NodeIndex, text: &str, usage: ValueUse) {
        for found in find_references(text) {
            if let TextReference::Value(reference) = &found.reference {
                self.add(graph, reader, reference, usage);
            }
        }
    }

    fn add(&mut self, graph: &Graph, reader: NodeIndex, reference: &ValueReference, usage: ValueUse) {
        let (ValueReference::Output { node, field } | ValueReference::PreviousOutput { node, field }) = reference
        else {
            return;
        };
        let Some(producer) = graph.find_from(reader, node) else { return };
        let output = self.by_node.entry(producer).or_default();
        match field {
            Some(field) => {
                let known = output.fields.entry(field.clone()).or_insert(usage);
                *known = usage.max(*known);
            }
            None => output.whole = output.whole.max(Some(usage)),
        }
    }
}

fn fan_out_items(node: &Node) -> Option<&str> {
    let NodeKind::Workflow(child) = &node.kind else { return None };
    child.fan_out.as_ref().map(|fan_out| fan_out.items.as_str())
}

fn use_of_operand(operator: ComparisonOperator) -> ValueUse {
    match operator {
        ComparisonOperator::Equal | ComparisonOperator::NotEqual => ValueUse::Text,
        ComparisonOperator::Less
        | ComparisonOperator::LessOrEqual
        | ComparisonOperator::Greater
        | ComparisonOperator::GreaterOrEqual => ValueUse::Number,
    }
}
