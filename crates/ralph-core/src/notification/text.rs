//! The words of a message: what, where, why, and since when it waits.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::event::NotificationEvent;
use crate::outcome::AGENT_BLOCKED_PREFIX;

/// A longer reason is cut: a message is read on a phone.
const MAX_REASON_CHARS: usize = 200;
/// A digest has at most so many lines.
const MAX_DIGEST_LINES: usize = 20;

/// The parts of the line that says what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotificationLine<'a> {
    /// The task, else the title of the run.
    pub subject: &'a str,
    /// The stage of a task.
    pub role: Option<&'a str>,
    pub event: NotificationEvent,
    /// The reason, without the name of the event.
    pub reason: &'a str,
}

impl NotificationLine<'_> {
    /// Returns the line, such as `billing-42 · coder · blocked: "needs STRIPE_KEY"`.
    #[must_use]
    pub fn to_text(&self) -> String {
        let event = self.event.as_str().replace('_', " ");
        let mut parts = Vec::from([cut_line(self.subject)]);
        parts.extend(self.role.map(cut_line));
        // The name of the event says it already.
        let reason = cut_line(self.reason.strip_prefix(AGENT_BLOCKED_PREFIX).unwrap_or(self.reason));
        parts.push(match (self.event, reason.is_empty()) {
            (_, true) => event,
            // These are the words of an agent or of the author of a workflow.
            (NotificationEvent::Blocked | NotificationEvent::Waiting, false) => format!("{event}: \"{reason}\""),
            (
                NotificationEvent::Completed
                | NotificationEvent::Failed
                | NotificationEvent::OverBudget
                | NotificationEvent::Stalled
                | NotificationEvent::Exhausted
                | NotificationEvent::Died,
                false,
            ) => format!("{event}: {reason}"),
        });
        parts.join(" · ")
    }
}

/// Returns how long something has been waiting, such as `waiting 3 min`; `None` in the first minute.
#[must_use]
pub fn format_waiting_time(waited_ms: u64) -> Option<String> {
    let minutes = waited_ms / 60_000;
    match minutes {
        0 => None,
        1..=119 => Some(format!("waiting {minutes} min")),
        120..=2879 => Some(format!("waiting {} h", minutes / 60)),
        _ => Some(format!("waiting {} days", minutes / (24 * 60))),
    }
}

/// Several messages as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestText<'a> {
    /// The project, for a person with several.
    pub project: &'a str,
    pub lines: &'a [String],
}

impl DigestText<'_> {
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = match self.lines.len() {
            1 => format!("1 message of {}", self.project),
            count => format!("{count} messages of {}", self.project),
        };
        for line in self.lines.iter().take(MAX_DIGEST_LINES) {
            text.push_str("\n- ");
            text.push_str(&line.replace('\n', "\n  "));
        }
        if let Some(more) = self.lines.len().checked_sub(MAX_DIGEST_LINES).filter(|more| *more > 0) {
            text.push_str(&format!("\n- and {more} more"));
        }
        text
    }
}

/// Returns the first line of a text that has words, cut to the length of a message.
fn cut_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    if line.chars().count() <= MAX_REASON_CHARS {
        return line.to_owned();
    }
    line.chars().take(MAX_REASON_CHARS - 1).chain(['…']).collect::<String>().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: Option<&str>, event: NotificationEvent, reason: &str) -> String {
        NotificationLine { subject: "billing-42", role, event, reason }.to_text()
    }

    // spec: U7
    #[test]
    fn a_message_says_what_where_and_why() {
        assert_eq!(
            line(Some("coder"), NotificationEvent::Blocked, "the agent is blocked: needs STRIPE_KEY"),
            "billing-42 · coder · blocked: \"needs STRIPE_KEY\""
        );
        assert_eq!(
            line(None, NotificationEvent::OverBudget, "spent $5.10 of $5.00 (max_cost_usd)"),
            "billing-42 · over budget: spent $5.10 of $5.00 (max_cost_usd)"
        );
        assert_eq!(line(None, NotificationEvent::Completed, ""), "billing-42 · completed");
    }

    // spec: U7
    #[test]
    fn a_message_is_one_short_line_whatever_the_agent_writes() {
        let long = "x".repeat(10_000);
        let text = line(None, NotificationEvent::Blocked, &format!("\n\n  first {long}\nsecond"));
        assert_eq!(text.lines().count(), 1);
        assert!(text.chars().count() < 300, "{text}");
        assert!(text.contains("blocked: \"first xxx"), "{text}");
    }

    // spec: U7
    #[test]
    fn the_waiting_time_is_rounded_down() {
        assert_eq!(format_waiting_time(59_999), None);
        assert_eq!(format_waiting_time(200_000).as_deref(), Some("waiting 3 min"));
        assert_eq!(format_waiting_time(119 * 60_000).as_deref(), Some("waiting 119 min"));
        assert_eq!(format_waiting_time(9 * 3_600_000).as_deref(), Some("waiting 9 h"));
        assert_eq!(format_waiting_time(3 * 86_400_000).as_deref(), Some("waiting 3 days"));
    }

    // spec: U7
    #[test]
    fn a_digest_lists_its_messages_up_to_a_limit_and_counts_the_rest() {
        let lines: Vec<String> = (1..=23).map(|number| format!("task {number}")).collect();
        let text = DigestText { project: "shop", lines: &lines }.to_text();
        assert!(text.starts_with("23 messages of shop\n- task 1\n- task 2\n"), "{text}");
        assert!(text.ends_with("- task 20\n- and 3 more"), "{text}");
        let one = DigestText { project: "shop", lines: &["task 1".to_owned()] }.to_text();
        assert_eq!(one, "1 message of shop\n- task 1");
    }
}
