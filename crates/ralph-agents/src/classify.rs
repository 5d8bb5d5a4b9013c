//! Reads the kind of a failure from an HTTP status or from the words of an error record. Never used on an
//! agent's prose: people write about rate limits too.
use super::event::ErrorKind;

/// Words and what they mean, the most particular first. Codes match only as whole numbers.
const WORDS: &[(&str, ErrorKind)] = &[
    ("daily quota", ErrorKind::RateLimit),
    ("maximum budget", ErrorKind::Budget),
    ("maximum number of turns", ErrorKind::Budget),
    ("quota exceeded", ErrorKind::Budget),
    ("current quota", ErrorKind::Budget),
    ("insufficient_quota", ErrorKind::Budget),
    ("insufficient credit", ErrorKind::Budget),
    ("credit balance", ErrorKind::Budget),
    ("billing", ErrorKind::Budget),
    ("payment required", ErrorKind::Budget),
    ("prompt is too long", ErrorKind::Context),
    ("context window", ErrorKind::Context),
    ("context length", ErrorKind::Context),
    ("context_length", ErrorKind::Context),
    ("maximum context", ErrorKind::Context),
    ("too many tokens", ErrorKind::Context),
    ("rate limit", ErrorKind::RateLimit),
    ("rate_limit", ErrorKind::RateLimit),
    ("ratelimit", ErrorKind::RateLimit),
    ("too many requests", ErrorKind::RateLimit),
    ("resource_exhausted", ErrorKind::RateLimit),
    ("exhausted your capacity", ErrorKind::RateLimit),
    ("usage limit", ErrorKind::RateLimit),
    ("hit your limit", ErrorKind::RateLimit),
    ("hour limit", ErrorKind::RateLimit),
    ("weekly limit", ErrorKind::RateLimit),
    ("429", ErrorKind::RateLimit),
    ("unauthorized", ErrorKind::Auth),
    ("authentication", ErrorKind::Auth),
    ("api key", ErrorKind::Auth),
    ("api_key", ErrorKind::Auth),
    ("api-key", ErrorKind::Auth),
    ("bearer token", ErrorKind::Auth),
    ("not logged in", ErrorKind::Auth),
    ("no auth type", ErrorKind::Auth),
    ("no provider configured", ErrorKind::Auth),
    ("please run /login", ErrorKind::Auth),
    ("please log in", ErrorKind::Auth),
    ("token has expired", ErrorKind::Auth),
    ("forbidden", ErrorKind::Auth),
    ("401", ErrorKind::Auth),
    ("403", ErrorKind::Auth),
    ("overloaded", ErrorKind::Overloaded),
    ("at capacity", ErrorKind::Overloaded),
    ("high demand", ErrorKind::Overloaded),
    ("internal server error", ErrorKind::Overloaded),
    ("internal error", ErrorKind::Overloaded),
    ("service unavailable", ErrorKind::Overloaded),
    ("bad gateway", ErrorKind::Overloaded),
    ("500", ErrorKind::Overloaded),
    ("502", ErrorKind::Overloaded),
    ("503", ErrorKind::Overloaded),
    ("529", ErrorKind::Overloaded),
    ("selected model", ErrorKind::Model),
    ("model metadata", ErrorKind::Model),
    ("model not found", ErrorKind::Model),
    ("model_not_found", ErrorKind::Model),
    ("unknown model", ErrorKind::Model),
    ("no such model", ErrorKind::Model),
    ("timed out", ErrorKind::Network),
    ("timeout", ErrorKind::Network),
    ("disconnected", ErrorKind::Network),
    ("connection", ErrorKind::Network),
    ("network", ErrorKind::Network),
    ("econn", ErrorKind::Network),
    ("enotfound", ErrorKind::Network),
    ("socket", ErrorKind::Network),
    ("error sending request", ErrorKind::Network),
    ("504", ErrorKind::Network),
];

/// Returns the kind of a failure that only words describe.
pub(super) fn by_words(message: &str) -> ErrorKind {
    let message = message.to_lowercase();
    WORDS.iter().find(|(word, _)| contains(&message, word)).map_or(ErrorKind::Unknown, |(_, kind)| *kind)
}

/// Returns the kind of a failure that a line of stderr tells of.
pub fn error_kind(line: &str) -> ErrorKind {
    by_words(line)
}

/// Returns the kind of a failure with an HTTP status. Where the status says little, the words decide.
pub(super) fn by_status(status: Option<u64>, message: &str) -> ErrorKind {
    match (status, by_words(message)) {
        (Some(400 | 413 | 422), kind @ (ErrorKind::Context | ErrorKind::Budget | ErrorKind::Model)) => kind,
        (Some(429), ErrorKind::Budget) | (Some(402), _) => ErrorKind::Budget,
        (Some(401 | 403), _) => ErrorKind::Auth,
        (Some(404), _) => ErrorKind::Model,
        (Some(408 | 504), _) => ErrorKind::Network,
        (Some(429), _) => ErrorKind::RateLimit,
        (Some(500..), _) => ErrorKind::Overloaded,
        (Some(400 | 413 | 422), _) => ErrorKind::Unknown,
        (Some(_) | None, kind) => kind,
    }
}

/// Returns the kind of a failure after which the agent asks again. A quota that is worth it is a limit, and what is not
/// known was no answer at all.
pub(super) fn of_repeat(message: &str) -> ErrorKind {
    match by_words(message) {
        ErrorKind::RateLimit | ErrorKind::Budget => ErrorKind::RateLimit,
        ErrorKind::Overloaded => ErrorKind::Overloaded,
        _ => ErrorKind::Network,
    }
}

/// Returns whether a failure means that the session to resume is gone.
pub fn session_is_lost(message: &str) -> bool {
    let message = message.to_lowercase();
    LOST.iter().any(|words| message.contains(words))
}

/// What agents say, each in its own words, of a session that is not there.
const LOST: &[&str] = &[
    "no conversation found",
    "session not found",
    "no rollout found",
    "no previous sessions",
    "invalid session identifier",
    "no saved session found",
    "no session, task, or name matched",
    "no session found",
];

fn contains(message: &str, word: &str) -> bool {
    if !word.bytes().all(|byte| byte.is_ascii_digit()) {
        return message.contains(word);
    }
    message.split(|character: char| !character.is_ascii_alphanumeric()).any(|token| token == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L6, A8
    fn real_messages_are_told_apart() {
        let table = [
            ("exceeded retry limit, last status: 429 Too Many Requests", ErrorKind::RateLimit),
            ("You’ve hit your usage limit. Visit … or try again at Nov 16th, 2026", ErrorKind::RateLimit),
            ("You've hit your limit · resets 3pm (Asia/Tokyo)", ErrorKind::RateLimit),
            ("You've hit your 5-hour limit · resets 12:46am (UTC)", ErrorKind::RateLimit),
            ("Quota exceeded. Check your plan and billing details.", ErrorKind::Budget),
            ("[API Error: You have exhausted your daily quota on this model.]", ErrorKind::RateLimit),
            ("Credit balance is too low", ErrorKind::Budget),
            ("Reached maximum number of turns (2)", ErrorKind::Budget),
            ("unexpected status 401 Unauthorized: Incorrect API key", ErrorKind::Auth),
            ("Invalid API key · Fix external API key", ErrorKind::Auth),
            ("invalid x-api-key", ErrorKind::Auth),
            ("error: No provider configured. Run 'goose configure' first.", ErrorKind::Auth),
            ("No auth type is selected. Please configure an auth type", ErrorKind::Auth),
            ("Error: No authentication information found.", ErrorKind::Auth),
            ("Codex ran out of room in the model's context window.", ErrorKind::Context),
            ("Selected model is at capacity. Please try a different model.", ErrorKind::Overloaded),
            ("We’re currently experiencing high demand", ErrorKind::Overloaded),
            ("There's an issue with the selected model (x)", ErrorKind::Model),
            ("stream disconnected before completion: Transport error", ErrorKind::Network),
            ("Request timed out", ErrorKind::Network),
            ("500 internal error", ErrorKind::Overloaded),
            ("line 4291 has 15000 bytes", ErrorKind::Unknown),
            ("", ErrorKind::Unknown),
        ];
        for (message, kind) in table {
            assert_eq!(by_words(message), kind, "{message}");
        }
    }

    #[test] // spec: A8
    fn a_status_says_more_than_words() {
        assert_eq!(by_status(Some(429), "slow down"), ErrorKind::RateLimit);
        assert_eq!(by_status(Some(429), "insufficient_quota"), ErrorKind::Budget);
        assert_eq!(by_status(Some(400), "prompt is too long"), ErrorKind::Context);
        assert_eq!(by_status(Some(400), "messages: bad"), ErrorKind::Unknown);
        assert_eq!(by_status(Some(529), "Overloaded"), ErrorKind::Overloaded);
        assert_eq!(by_status(None, "Connection refused"), ErrorKind::Network);
    }

    #[test] // spec: L10
    fn a_lost_session_is_recognised() {
        let lost = [
            "No conversation found with session ID: 9999",
            "Error: thread/resume failed: no rollout found for thread id 01a1 (code -32600)",
            "Error: Session not found",
            "Error resuming session: Invalid session identifier \"9999\".",
            "No saved session found with ID 9999. Run `qwen --resume` without an ID",
            "Error: No session, task, or name matched '9999'.",
        ];
        for words in lost {
            assert!(session_is_lost(words), "{words}");
        }
        assert!(!session_is_lost("Reached maximum number of turns (2)"));
    }
}
