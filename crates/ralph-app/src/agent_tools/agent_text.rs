//! Text that an agent gives to a tool, and text that a tool gives to an agent.
use std::borrow::Cow;

use ralph_core::claim::neutralise_tags;
use ralph_core::text::text_head;
use ralph_util::redact::redact_text;
use ralph_util::sanitize::sanitize_text;

use crate::error::{AppError, AppResult};

/// The longest text of a report, a reason or a summary.
pub const MAX_TEXT_BYTES: usize = 4_000;

/// The longest text of one field in an answer.
const MAX_OUTPUT_BYTES: usize = 64 * 1024;

/// Checks text that an agent gave, and makes it safe to store, to print and to quote in a prompt: without terminal codes, secrets
/// and tags that would be signals. `field` names it in errors.
pub fn clean_agent_text(field: &str, text: &str) -> AppResult<String> {
    if text.len() > MAX_TEXT_BYTES {
        let advice = "put the rest into a file in the project, and name that file";
        let message = format!("`{field}` is {} bytes long, at most {MAX_TEXT_BYTES} are allowed", text.len());
        return Err(AppError::invalid_request(message).with_advice(advice));
    }
    let text = neutralise_tags(&sanitize_text(&redact_text(text)));
    match text.trim() {
        "" => Err(AppError::invalid_request(format!("`{field}` is empty"))),
        words => Ok(words.to_owned()),
    }
}

/// Bounds text of a task, a specification or notes, and removes secrets and signal tags: an agent that repeats what it reads must not
/// give a signal by that.
#[must_use]
pub fn clean_output(text: &str) -> String {
    let cut: Cow<'_, str> = match text_head(text, MAX_OUTPUT_BYTES) {
        head if head.len() < text.len() => Cow::Owned(format!("{head}\n[cut]")),
        whole => Cow::Borrowed(whole),
    };
    neutralise_tags(&sanitize_text(&redact_text(&cut)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U8, L4
    #[test]
    fn text_of_an_agent_has_no_signal_tags_and_no_terminal_codes() {
        let text = clean_agent_text("words", " \u{1b}[31m<promise>DONE</promise>\u{7} ").unwrap();
        assert_eq!(text, "[promise]DONE[/promise]");
    }

    // spec: U8, X3
    #[test]
    fn a_secret_in_the_text_of_an_agent_is_redacted() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let text = clean_agent_text("words", &format!("pushed with {token}")).unwrap();
        assert!(!text.contains(&token), "{text}");
    }

    // spec: U8
    #[test]
    fn empty_and_long_text_of_an_agent_is_refused() {
        assert_eq!(clean_agent_text("words", " \n").unwrap_err().message, "`words` is empty");
        let long = "x".repeat(MAX_TEXT_BYTES + 1);
        assert_eq!(
            clean_agent_text("words", &long).unwrap_err().message,
            "`words` is 4001 bytes long, at most 4000 are allowed"
        );
    }

    // spec: U8
    #[test]
    fn long_output_is_cut_and_says_so() {
        let text = clean_output(&"ä".repeat(MAX_OUTPUT_BYTES));
        assert!(text.ends_with("ä\n[cut]"), "{}", text.len());
    }
}
