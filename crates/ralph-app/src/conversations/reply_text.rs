//! The replies of ralph to messages.
use ralph_core::conversation::WorkflowPhrases;

use crate::error::AppError;

/// Lists the workflows with the phrases that start them.
pub(super) fn list_workflows(workflows: &[WorkflowPhrases]) -> String {
    let lines = workflows.iter().map(|workflow| {
        let triggers: Vec<String> = workflow.triggers.iter().map(|trigger| format!("\"{trigger}\"")).collect();
        match triggers.is_empty() {
            true => format!("- {}", workflow.name),
            false => format!("- {}: {}", workflow.name, triggers.join(", ")),
        }
    });
    let lines: Vec<String> = lines.collect();
    format!(
        "Workflows:\n{}\n\nName one or write one of its phrases to start it. Commands: /ralph MESSAGE, /workflow run NAME \
         MESSAGE, /status, /cancel-ralph.",
        lines.join("\n")
    )
}

/// Says that the message names no workflow, and what there is.
pub(super) fn unknown_message(workflows: &[WorkflowPhrases]) -> String {
    format!("This message names no workflow.\n\n{}", list_workflows(workflows))
}

pub(super) fn ambiguous_message(names: &[String]) -> String {
    format!("This message names several workflows: {}. Write /workflow run NAME MESSAGE.", names.join(", "))
}

/// Describes a failure with its advice.
pub(super) fn failure(error: &AppError, hints: &[String]) -> String {
    let hints = hints.iter().map(|hint| format!("\nhint: {hint}"));
    std::iter::once(format!("error: {error}")).chain(hints).collect()
}
