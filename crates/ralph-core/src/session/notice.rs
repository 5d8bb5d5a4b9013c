//! What people are told while a session loops: title, words, kind and how long it is shown.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::criterion::Criterion;
use crate::outcome::{Ended, Outcome};

/// A message for the host's toast or status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub title: String,
    pub message: String,
    pub variant: Variant,
    /// Milliseconds; without it, as long as the host shows such messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    Info,
    Success,
    Warning,
}

impl Notice {
    fn new(title: &str, message: String, variant: Variant, duration: Option<u32>) -> Self {
        Self { title: title.to_owned(), message, variant, duration }
    }

    #[must_use]
    pub fn started(max_iterations: u32, promise: &str) -> Self {
        let message = format!("Max {max_iterations} iterations. Complete with <promise>{promise}</promise>");
        Self::new("Ralph Loop Started", message, Variant::Info, Some(3_000))
    }

    /// Names what a claim must survive, so that people see whether it was understood as they meant it.
    #[must_use]
    pub fn checked_by(self, criteria: &[Criterion]) -> Self {
        let shown: Vec<String> = criteria.iter().map(|check| format!("`{}`", check.called())).collect();
        if shown.is_empty() {
            return self;
        }
        Self { message: format!("{}, checked by {}", self.message, shown.join(" and ")), ..self }
    }

    /// A loop was begun in a session that had one.
    #[must_use]
    pub fn replaced(iteration: u32, max_iterations: u32) -> Self {
        let message = format!("The loop at iteration {iteration}/{max_iterations} was replaced");
        Self::new("Ralph Loop Replaced", message, Variant::Warning, Some(3_000))
    }

    #[must_use]
    pub fn iteration(number: u32, max_iterations: u32) -> Self {
        Self::new("Ralph Loop", format!("Iteration {number}/{max_iterations}"), Variant::Info, Some(2_000))
    }

    #[must_use]
    pub fn cancelled(iteration: u32) -> Self {
        let message = format!("Stopped at iteration {iteration}");
        Self::new("Ralph Loop Cancelled", message, Variant::Info, Some(2_000))
    }

    #[must_use]
    pub fn none_active() -> Self {
        let message = "No Ralph Loop is currently running".to_owned();
        Self::new("No Active Loop", message, Variant::Info, None)
    }

    /// The host will not let the session be continued once more.
    #[must_use]
    pub fn host_cap(cap: u32, is_lasting: bool) -> Self {
        let row = if is_lasting { "in a row" } else { "in a row without a tool call" };
        let message = format!(
            "This session was continued {cap} times {row}, which is all that its program allows: \
             if it stops now, the loop is not complete and stays active. Send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, Variant::Warning, Some(5_000))
    }

    /// Somebody has asked about this stop before, or asks right now.
    #[must_use]
    pub fn answered(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "This stop is answered already. The loop is at iteration {iteration}/{max_iterations}, and stays active: \
             if the session rests, send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, Variant::Info, Some(2_000))
    }

    /// The session may get over its error by itself.
    #[must_use]
    pub fn recovering(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "The session met an error just now, and is left alone to recover. The loop is at iteration {iteration}/{max_iterations}, \
             and stays active: if the session rests, send any message to go on, or cancel it"
        );
        Self::new("Ralph Loop", message, Variant::Warning, Some(5_000))
    }

    /// Ralph itself could not answer.
    #[must_use]
    pub fn helpless(why: &str) -> Self {
        let message = format!(
            "This session may stop, but that is no completion: if it has a loop, that stays as it was. The reason: {why}"
        );
        Self::new("Ralph Failed", message, Variant::Warning, Some(5_000))
    }

    /// Tells how a loop ended.
    #[must_use]
    pub fn ended(ended: &Ended, iterations: u32, max_iterations: u32) -> Self {
        match ended.outcome {
            Outcome::Completed => {
                let message = format!("Task completed after {iterations} iteration(s)");
                Self::new("Ralph Loop Complete!", message, Variant::Success, Some(5_000))
            }
            Outcome::Exhausted => {
                stopped(format!("Max iterations ({max_iterations}) reached without completion"))
            }
            Outcome::Cancelled => Self::cancelled(iterations),
            Outcome::Failed
            | Outcome::Stalled
            | Outcome::OverBudget
            | Outcome::Blocked
            | Outcome::Interrupted => stopped(ended.reason.clone()),
        }
    }

    /// Returns it in one line.
    #[must_use]
    pub fn line(&self) -> String {
        let mark = if self.title.ends_with('!') { "" } else { ":" };
        format!("{}{mark} {}", self.title, self.message)
    }
}

fn stopped(message: String) -> Notice {
    Notice::new("Ralph Loop Stopped", message, Variant::Warning, Some(5_000))
}
