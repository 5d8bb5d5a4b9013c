//! The open questions of a run: their texts, and the answers that people have stored.
use ralph_core::workflow::graph::{
    APPROVE_DECISION, COMPLETE_DECISION, CONTINUE_DECISION, Graph, GraphState, NodeIndex, PersonAnswer, PersonQuestion,
    REJECT_DECISION,
};
use ralph_core::workflow::{NodeKind, substitute_text};

use super::node_values::NodeValues;
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
    let values = NodeValues::collect(graph, state, node, &[&template])
        .with_inputs(services.spec.inputs.clone())
        .with_variables(services.variables());
    let text = values.with_text_values(|values| substitute_text(&template, values));
    let mut text = text.map_or(template, |substituted| substituted.text);
    if let PersonQuestion::Gate(gate) = question {
        text = format!("{text}\n\nThe output of iteration {}:\n\n{}", gate.iteration, gate.output.text());
    }
    QuestionText { text: text.trim().to_owned(), decisions }
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
