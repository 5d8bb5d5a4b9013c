//! What people are told while a session loops: title, words, kind and how long it is shown.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::criterion::Criterion;
use crate::outcome::{Outcome, RunEnd};

/// A message for the host's toast or status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNotice {
    pub title: String,
    pub message: String,
    pub variant: NoticeVariant,
    /// Milliseconds; without it, as long as the host shows such messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeVariant {
    Info,
    Success,
    Warning,
}

impl SessionNotice {
    fn new(title: &str, message: String, variant: NoticeVariant, duration: Option<u32>) -> Self {
        Self { title: title.to_owned(), message, variant, duration }
    }

    #[must_use]
    pub fn loop_started(max_iterations: u32, promise: &str) -> Self {
        let message = format!("Max {max_iterations} iterations. Complete with <promise>{promise}</promise>");
        Self::new("Ralph Loop Started", message, NoticeVariant::Info, Some(3_000))
    }

    /// Names what a claim must survive, so that people see whether it was understood as they meant it.
    #[must_use]
    pub fn with_checks(self, criteria: &[Criterion]) -> Self {
        let shown: Vec<String> = criteria.iter().map(|check| format!("`{}`", check.display_name())).collect();
        if shown.is_empty() {
            return self;
        }
        Self { message: format!("{}, checked by {}", self.message, shown.join(" and ")), ..self }
    }

    /// A loop was begun in a session that had one.
    #[must_use]
    pub fn loop_replaced(iteration: u32, max_iterations: u32) -> Self {
        let message = format!("The loop at iteration {iteration}/{max_iterations} was replaced");
        Self::new("Ralph Loop Replaced", message, NoticeVariant::Warning, Some(3_000))
    }

    #[must_use]
    pub fn iteration_started(number: u32, max_iterations: u32) -> Self {
        Self::new("Ralph Loop", format!("Iteration {number}/{max_iterations}"), NoticeVariant::Info, Some(2_000))
    }

    #[must_use]
    pub fn loop_cancelled(iteration: u32) -> Self {
        let message = format!("Stopped at iteration {iteration}");
        Self::new("Ralph Loop Cancelled", message, NoticeVariant::Info, Some(2_000))
    }

    #[must_use]
    pub fn no_active_loop() -> Self {
        let message = "No Ralph Loop is currently running".to_owned();
        Self::new("No Active Loop", message, NoticeVariant::Info, None)
    }

    /// The host will not let the session be continued once more.
    #[must_use]
    pub fn host_cap_reached(cap: u32, is_lasting: bool) -> Self {
        let row = if is_lasting { "in a row" } else { "in a row without a tool call" };
        let message = format!(
            "This session was continued {cap} times {row}, which is all that its program allows: \
             if it stops now, the loop is not complete and stays active. Send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Warning, Some(5_000))
    }

    /// Somebody has asked about this stop before, or asks right now.
    #[must_use]
    pub fn already_answered(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "This stop is answered already. The loop is at iteration {iteration}/{max_iterations}, and stays active: \
             if the session rests, send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Info, Some(2_000))
    }

    /// The session may get over its error by itself.
    #[must_use]
    pub fn recovering_from_error(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "The session met an error just now, and is left alone to recover. The loop is at iteration {iteration}/{max_iterations}, \
             and stays active: if the session rests, send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Warning, Some(5_000))
    }

    /// Ralph itself could not answer.
    #[must_use]
    pub fn ralph_failed(reason: &str) -> Self {
        let message = format!(
            "This session may stop, but that is no completion: if it has a loop, that stays as it was. The reason: {reason}"
        );
        Self::new("Ralph Failed", message, NoticeVariant::Warning, Some(5_000))
    }

    /// Tells how a loop ended.
    #[must_use]
    pub fn loop_ended(ended: &RunEnd, iterations: u32, max_iterations: u32) -> Self {
        match ended.outcome {
            Outcome::Completed => {
                let message = format!("Task completed after {iterations} iteration(s)");
                Self::new("Ralph Loop Complete!", message, NoticeVariant::Success, Some(5_000))
            }
            Outcome::Exhausted => loop_stopped(format!("Max iterations ({max_iterations}) reached without completion")),
            Outcome::Cancelled => Self::loop_cancelled(iterations),
            Outcome::Failed | Outcome::Stalled | Outcome::OverBudget | Outcome::Blocked | Outcome::Interrupted => {
                loop_stopped(ended.reason.clone())
            }
        }
    }

    /// Returns it in one line.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mark = if self.title.ends_with('!') { "" } else { ":" };
        format!("{}{mark} {}", self.title, self.message)
    }
}

fn loop_stopped(message: String) -> SessionNotice {
    SessionNotice::new("Ralph Loop Stopped", message, NoticeVariant::Warning, Some(5_000))
}
