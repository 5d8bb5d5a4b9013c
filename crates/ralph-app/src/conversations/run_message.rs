//! Which events of a workflow run become messages of a conversation. The words are those of the terminal.
use ralph_core::conversation::MessagePriority;

use crate::config::MessageMode;
use crate::workflow_runs::{WorkflowFact, describe_progress};

/// A message about a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunMessage {
    pub text: String,
    pub priority: MessagePriority,
}

impl RunMessage {
    pub(super) fn normal(text: String) -> Self {
        Self { text, priority: MessagePriority::Normal }
    }

    fn critical(text: String) -> Self {
        Self { text, priority: MessagePriority::Critical }
    }

    /// Returns the message of an event, if it has one.
    pub(super) fn from_fact(fact: &WorkflowFact, mode: MessageMode) -> Option<Self> {
        match fact {
            WorkflowFact::Message { text } if text.starts_with("**Loop ") => Some(Self::critical(text.clone())),
            WorkflowFact::Message { text } => Some(Self::normal(text.clone())),
            WorkflowFact::QuestionAsked { node, text, decisions, .. } => {
                Some(Self::critical(question_text(node, text, decisions)))
            }
            WorkflowFact::Finished { status, reason, .. } => {
                Some(Self::critical(format!("Workflow {status}: {reason}")))
            }
            // The reply to the message that started the run says so.
            WorkflowFact::Started { .. } => None,
            WorkflowFact::Resumed
            | WorkflowFact::NodeStarted { .. }
            | WorkflowFact::NodeCompleted { .. }
            | WorkflowFact::NodeFailed { .. }
            | WorkflowFact::NodeSkipped { .. }
            | WorkflowFact::NodeRetry { .. }
            | WorkflowFact::ChildStarted { .. }
            | WorkflowFact::QuestionAnswered { .. }
            | WorkflowFact::Judged { .. }
            | WorkflowFact::Receipt { .. }
            | WorkflowFact::Waiting => match mode {
                MessageMode::Stream => describe_progress(fact, false).map(Self::normal),
                MessageMode::Batch => None,
            },
        }
    }
}

/// Returns the output of a run that has completed.
pub(super) fn output_of(fact: &WorkflowFact) -> Option<&str> {
    match fact {
        WorkflowFact::Finished { output, .. } => output.as_deref().map(str::trim).filter(|output| !output.is_empty()),
        _ => None,
    }
}

/// Returns the message that asks a question.
pub(super) fn question_text(node: &str, text: &str, decisions: &[String]) -> String {
    format!("{node} asks:\n{text}\n\n{}", describe_answers(decisions))
}

fn describe_answers(decisions: &[String]) -> String {
    let command = |decision: &String| match decision.as_str() {
        "approve" | "reject" => format!("/workflow {decision}"),
        other => format!("/workflow respond {other}"),
    };
    let commands: Vec<String> = decisions.iter().map(command).collect();
    format!("Answer with {}, then your words.", commands.join(" or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W8
    #[test]
    fn the_end_of_a_loop_a_question_and_the_end_of_the_run_are_critical() {
        let message = |text: &str| WorkflowFact::Message { text: text.to_owned() };
        let priority =
            |fact: &WorkflowFact| RunMessage::from_fact(fact, MessageMode::Batch).map(|found| found.priority);
        assert_eq!(priority(&message("**Iteration 1/3**")), Some(MessagePriority::Normal));
        assert_eq!(priority(&message("**Loop complete**: ralph (2 iterations)")), Some(MessagePriority::Critical));
        let asked = WorkflowFact::QuestionAsked {
            node: "gate".to_owned(),
            question: "gate/1".to_owned(),
            text: "Continue?".to_owned(),
            decisions: vec!["approve".to_owned(), "later".to_owned()],
        };
        let asked = RunMessage::from_fact(&asked, MessageMode::Batch).unwrap();
        let answers = "Answer with /workflow approve or /workflow respond later, then your words.";
        assert_eq!(asked, RunMessage::critical(format!("gate asks:\nContinue?\n\n{answers}")));
        assert_eq!(priority(&WorkflowFact::Resumed), None, "only the stream has it");
    }
}
