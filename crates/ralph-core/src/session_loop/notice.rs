//! Notices that the user sees while a session loops.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::criterion::Criterion;
use crate::outcome::{Outcome, RunEnd};
use crate::receipt::{Proof, ProofLevel};

/// A message for the host's toast or status line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNotice {
    pub title: String,
    pub message: String,
    pub variant: NoticeVariant,
    /// Milliseconds. Without it, the default of the host applies.
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

    /// Adds the names of the checks, so that the user sees whether ralph parsed them as intended.
    #[must_use]
    pub fn with_checks(self, criteria: &[Criterion]) -> Self {
        let names: Vec<String> = criteria.iter().map(|check| format!("`{}`", check.display_name())).collect();
        if names.is_empty() {
            return self;
        }
        Self { message: format!("{}, checked by {}", self.message, names.join(" and ")), ..self }
    }

    /// Adds the checks that could not be evaluated before the work.
    #[must_use]
    pub fn with_missing_baseline(self, checks: &[String]) -> Self {
        let names: Vec<String> = checks.iter().map(|check| format!("`{check}`")).collect();
        if names.is_empty() {
            return self;
        }
        let missing = format!(
            "No baseline was taken for {}, so that a pass is at most checked: it could not be evaluated before the work",
            names.join(" and ")
        );
        Self { message: format!("{}. {missing}", self.message), variant: NoticeVariant::Warning, ..self }
    }

    /// A loop was started in a session that already had one.
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

    /// The host does not allow another continuation of the session.
    #[must_use]
    pub fn host_cap_reached(cap: u32, is_lasting: bool) -> Self {
        let row = if is_lasting { "in a row" } else { "in a row without a tool call" };
        let message = format!(
            "This session was continued {cap} times {row}, which is the limit of its program: \
             if it stops now, the loop is not complete and stays active. Send any message to continue, or cancel it"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Warning, Some(5_000))
    }

    /// The same stop was reported before, or is being handled.
    #[must_use]
    pub fn already_answered(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "This stop was already handled. The loop is at iteration {iteration}/{max_iterations} and stays active: \
             if the session is idle, send any message to continue, or cancel the loop"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Info, Some(2_000))
    }

    /// The session had an error and may recover by itself.
    #[must_use]
    pub fn recovering_from_error(iteration: u32, max_iterations: u32) -> Self {
        let message = format!(
            "The session had an error and may recover by itself. The loop is at iteration {iteration}/{max_iterations} \
             and stays active: if the session is idle, send any message to continue, or cancel the loop"
        );
        Self::new("Ralph Loop", message, NoticeVariant::Warning, Some(5_000))
    }

    /// ralph itself failed.
    #[must_use]
    pub fn ralph_failed(reason: &str) -> Self {
        let message = format!(
            "This session may stop, but its task is not complete: if it has a loop, the loop is unchanged. Reason: {reason}"
        );
        Self::new("Ralph Failed", message, NoticeVariant::Warning, Some(5_000))
    }

    /// The loop has ended. `proof` is that of a completed loop.
    #[must_use]
    pub fn loop_ended(ended: &RunEnd, iterations: u32, max_iterations: u32, proof: Option<&Proof>) -> Self {
        match ended.outcome {
            Outcome::Completed => {
                let verified = describe_verification(ended, proof);
                let message = format!("Task completed after {iterations} iteration(s): {verified}");
                Self::new("Ralph Loop Complete!", message, NoticeVariant::Success, Some(5_000))
            }
            Outcome::Exhausted => loop_stopped(format!("Max iterations ({max_iterations}) reached without completion")),
            Outcome::Cancelled => Self::loop_cancelled(iterations),
            Outcome::Failed | Outcome::Stalled | Outcome::OverBudget | Outcome::Blocked | Outcome::Interrupted => {
                loop_stopped(ended.reason.clone())
            }
        }
    }

    /// Formats the notice as one line.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mark = if self.title.ends_with('!') { "" } else { ":" };
        format!("{}{mark} {}", self.title, self.message)
    }
}

/// Returns what was verified: `1 check passed (proven: …)`, or that nothing was.
fn describe_verification(ended: &RunEnd, proof: Option<&Proof>) -> String {
    match proof {
        Some(proof) if proof.level > ProofLevel::Unverified => format!("{} ({})", ended.reason, proof.describe()),
        Some(_) | None => "nothing was verified, only the agent's word supports it".to_owned(),
    }
}

fn loop_stopped(message: String) -> SessionNotice {
    SessionNotice::new("Ralph Loop Stopped", message, NoticeVariant::Warning, Some(5_000))
}
