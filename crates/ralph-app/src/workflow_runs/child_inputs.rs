//! The message and the inputs of a child run, and its name in the run that starts it.
use std::collections::BTreeMap;

use ralph_core::workflow::graph::{ActivityId, Graph, GraphState};
use ralph_core::workflow::{ChildWorkflowNode, Workflow, substitute_text, value_text};
use serde_json::Value;

use super::node_values::NodeValues;
use super::prepare::resolve_inputs;
use super::ready::resolve_with;

/// The message and the inputs of a child run, with the defaults.
pub(super) struct ChildInputs {
    pub message: String,
    pub inputs: BTreeMap<String, String>,
}

/// Resolves what a child run gets. The item of a fan-out is one of its inputs, or its message.
pub(super) fn resolve_child_inputs(
    child: &ChildWorkflowNode,
    target: &Workflow,
    item: Option<&Value>,
    values: &NodeValues,
) -> Result<ChildInputs, String> {
    let mut inputs = resolve_with(&child.with, values)?;
    let input = child.input.as_deref().unwrap_or_default();
    let input = values.with_text_values(|values| substitute_text(input, values));
    let mut message = input.map_err(|error| format!("input: {error}"))?.text;
    if let (Some(fan_out), Some(item)) = (&child.fan_out, item) {
        let text = value_text(item).into_owned();
        match target.inputs.contains_key(&fan_out.item_name) {
            true => drop(inputs.insert(fan_out.item_name.clone(), text)),
            false => message = text,
        }
    }
    let inputs = resolve_inputs(target, &inputs).map_err(|error| error.to_string())?;
    Ok(ChildInputs { message, inputs })
}

/// Names the node, the iteration of its group and the item: that of at most one child run that is still open.
pub(super) fn name_in_parent(graph: &Graph, state: &GraphState, activity: ActivityId) -> String {
    let Some(node) = graph.node(activity.node) else { return String::new() };
    let progress = node.group.and_then(|group| state.group_progress(group));
    let generation = progress.map(|progress| format!("@{}", progress.generation)).unwrap_or_default();
    let item = activity.item.map(|item| format!("[{item}]")).unwrap_or_default();
    format!("{}{generation}{item}", node.key)
}
