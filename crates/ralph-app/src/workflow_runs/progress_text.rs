//! The words for the progress of a workflow run, for terminals and conversations.
use super::fact::WorkflowFact;
use crate::view::short_id;

/// Returns the line for an event, or `None` if it has none. The parent of a child run names its start.
#[must_use]
pub fn describe_progress(fact: &WorkflowFact, is_child: bool) -> Option<String> {
    Some(match fact {
        WorkflowFact::Started { .. } | WorkflowFact::Resumed if is_child => return None,
        WorkflowFact::Started { workflow, .. } => format!("workflow {workflow}"),
        WorkflowFact::Resumed => "resumed".to_owned(),
        WorkflowFact::NodeStarted { node, attempt: 1 } => format!("{node}  started"),
        WorkflowFact::NodeStarted { node, attempt } => format!("{node}  started, attempt {attempt}"),
        WorkflowFact::NodeCompleted { node, .. } => format!("{node}  completed"),
        WorkflowFact::NodeFailed { node, reason } => format!("{node}  failed: {reason}"),
        WorkflowFact::NodeSkipped { node, reason } => format!("{node}  skipped: {reason}"),
        WorkflowFact::NodeRetry { node, delay_ms, reason } => {
            format!("{node}  is repeated in {delay_ms} ms: {reason}")
        }
        WorkflowFact::ChildStarted { node, item, child, workflow } => {
            let item = item.map(|item| format!("[{item}]")).unwrap_or_default();
            format!("{node}{item}  workflow {workflow}, run {}", short_id(child))
        }
        WorkflowFact::QuestionAnswered { node, decision, person, .. } => format!("{node}  {decision}, by {person}"),
        WorkflowFact::Message { text } => text.clone(),
        // The result of the run shows them.
        WorkflowFact::Judged { .. }
        | WorkflowFact::Receipt { .. }
        | WorkflowFact::QuestionAsked { .. }
        | WorkflowFact::Waiting
        | WorkflowFact::Finished { .. } => return None,
    })
}
