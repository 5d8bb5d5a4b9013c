//! Formats errors and notes of workflow files.
use ralph_app::workflows::{WorkflowError, WorkflowProblem};
use ralph_core::outcome::exit_code;

use crate::error::CommandError;

/// Whether a problem keeps the workflow from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    Error,
    Note,
}

/// Formats a problem as `FILE:LINE:COLUMN: error: MESSAGE`, with its hint below.
pub fn format_problem(problem: &WorkflowProblem, severity: Severity) -> String {
    let WorkflowProblem { file, line, column, message, hint } = problem;
    let severity = match severity {
        Severity::Error => "error",
        Severity::Note => "note",
    };
    let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
    format!("{file}:{line}:{column}: {severity}: {message}{hint}")
}

/// Returns the error of a command that needs the workflow.
pub fn to_command_error(error: &WorkflowError) -> CommandError {
    match error {
        WorkflowError::Unknown { hint, .. } => CommandError::usage_error(error).with_hint(hint),
        WorkflowError::Broken { problems, .. } => {
            let failure = CommandError::from_message(exit_code::PREFLIGHT_FAILED, error);
            let failure = problems.iter().fold(failure, CommandError::with_cause);
            let hint = problems.iter().find_map(|problem| problem.hint.as_ref());
            hint.into_iter().fold(failure, CommandError::with_hint)
        }
    }
}
