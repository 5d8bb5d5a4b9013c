//! The open questions of a run: their texts, and the answers that people have stored.
use ralph_core::workflow::graph::{
    APPROVE_DECISION, COMPLETE_DECISION, CONTINUE_DECISION, CompiledNode, Graph, GraphCancelCause, GraphEnd,
    GraphState, NodeIndex, PersonAnswer, PersonQuestion, REJECT_DECISION,
};
use ralph_core::workflow::{NodeId, NodeKind, substitute_text};

use super::node_values::NodeValues;
use super::ready::resolve_with;
use super::services::RunServices;

/// A question that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// The workflow run that asks: the run itself, or a child.
    pub run: String,
    /// Names it in the run.
    pub name: String,
    pub node: String,
    pub text: String,
    /// The decisions that answer it.
    pub decisions: Vec<String>,
}

/// The text of a question, and the decisions that answer it.
pub struct QuestionText {
    pub text: String,
    pub decisions: Vec<String>,
}

/// Describes a question for a person.
pub fn describe_question(
    graph: &Graph,
    state: &GraphState,
    services: &RunServices,
    node: NodeIndex,
    question: &PersonQuestion,
) -> QuestionText {
    let Some(compiled) = graph.node(node) else {
        return QuestionText { text: String::new(), decisions: Vec::new() };
    };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let (template, decisions) = match (&compiled.definition.kind, question) {
        (NodeKind::Approval(approval), _) if !approval.decisions.is_empty() => {
            let ids = approval.decisions.iter().map(|decision| decision.id.clone()).collect();
            (approval.message.clone(), ids)
        }
        (NodeKind::Approval(approval), _) => (approval.message.clone(), names(&[APPROVE_DECISION, REJECT_DECISION])),
        (NodeKind::Loop(node), PersonQuestion::Gate(_)) => {
            let message = node.control.gate_message.clone().unwrap_or_default();
            (message, names(&[COMPLETE_DECISION, CONTINUE_DECISION, REJECT_DECISION]))
        }
        (NodeKind::LoopGroup(node), PersonQuestion::Gate(_)) => {
            let message = node.control.gate_message.clone().unwrap_or_default();
            (message, names(&[COMPLETE_DECISION, CONTINUE_DECISION, REJECT_DECISION]))
        }
        (_, _) => (String::new(), names(&[APPROVE_DECISION, REJECT_DECISION])),
    };
    let mut text = text_for_people(graph, state, services, node, &template);
    if let PersonQuestion::Gate(gate) = question {
        text = format!("{text}\n\nThe output of iteration {}:\n\n{}", gate.iteration, gate.output.text());
    }
    QuestionText { text: text.trim().to_owned(), decisions }
}

/// Replaces the references in a text of a node that a person reads. A text with a reference that has no value stays as it
/// is written.
fn text_for_people(
    graph: &Graph,
    state: &GraphState,
    services: &RunServices,
    node: NodeIndex,
    template: &str,
) -> String {
    let mut inputs = services.spec.inputs.clone();
    let values = NodeValues::collect(graph, state, node, &[template])
        .with_inputs(inputs.clone())
        .with_variables(services.variables());
    let included = graph.node(node).and_then(|node| resolve_with(&node.definition.inputs, &values).ok());
    inputs.extend(included.unwrap_or_default());
    substitute_for_people(template, &values.with_inputs(inputs))
}

/// Replaces the references in a text that a person reads, unless one has no value.
pub(super) fn substitute_for_people(template: &str, values: &NodeValues) -> String {
    let text = values.with_text_values(|values| substitute_text(template, values));
    text.map_or_else(|_| template.to_owned(), |substituted| substituted.text)
}

/// Returns the end of a run, with the values in the reason of a `cancel` node.
pub(super) fn describe_cancellation(
    graph: &Graph,
    state: &GraphState,
    services: &RunServices,
    end: &GraphEnd,
) -> GraphEnd {
    match end {
        GraphEnd::Cancelled { cause: cause @ GraphCancelCause::Node(id), reason } => {
            let node = find_cancel_node(graph, id);
            let reason =
                node.map_or_else(|| reason.clone(), |node| text_for_people(graph, state, services, node, reason));
            GraphEnd::Cancelled { cause: cause.clone(), reason }
        }
        GraphEnd::Completed { .. }
        | GraphEnd::Failed(_)
        | GraphEnd::Cancelled { .. }
        | GraphEnd::OverBudget { .. }
        | GraphEnd::Interrupted { .. } => end.clone(),
    }
}

/// Returns the `cancel` node with this id, in a loop group or not.
pub(super) fn find_cancel_node(graph: &Graph, id: &NodeId) -> Option<NodeIndex> {
    let is_meant = |node: &CompiledNode| node.id() == id && matches!(node.definition.kind, NodeKind::Cancel { .. });
    graph.nodes().find(|(_, node)| is_meant(node)).map(|(index, _)| index)
}

/// Reads a stored answer.
#[must_use]
pub fn read_answer(decision: &str, text: &str) -> PersonAnswer {
    let text = text.to_owned();
    match decision {
        APPROVE_DECISION => PersonAnswer::Approve { text },
        REJECT_DECISION => PersonAnswer::Reject { text },
        other => PersonAnswer::Decide { decision: other.to_owned(), text },
    }
}
