//! Classifies a failure by its HTTP status or by the message of an error record. Never applied to agent text, which may
//! mention rate limits without being an error.
use crate::stream::event::AgentErrorKind;

/// Message patterns and the error kind that they indicate, the most specific first. Codes match only as whole numbers.
const MESSAGE_PATTERNS: &[(&str, AgentErrorKind)] = &[
    ("daily quota", AgentErrorKind::RateLimit),
    ("maximum budget", AgentErrorKind::Budget),
    ("maximum number of turns", AgentErrorKind::Budget),
    ("quota exceeded", AgentErrorKind::Budget),
    ("current quota", AgentErrorKind::Budget),
    ("insufficient_quota", AgentErrorKind::Budget),
    ("insufficient credit", AgentErrorKind::Budget),
    ("credit balance", AgentErrorKind::Budget),
    ("billing", AgentErrorKind::Budget),
    ("payment required", AgentErrorKind::Budget),
    ("prompt is too long", AgentErrorKind::Context),
    ("context window", AgentErrorKind::Context),
    ("context length", AgentErrorKind::Context),
    ("context_length", AgentErrorKind::Context),
    ("maximum context", AgentErrorKind::Context),
    ("too many tokens", AgentErrorKind::Context),
    ("rate limit", AgentErrorKind::RateLimit),
    ("rate_limit", AgentErrorKind::RateLimit),
    ("ratelimit", AgentErrorKind::RateLimit),
    ("too many requests", AgentErrorKind::RateLimit),
    ("resource_exhausted", AgentErrorKind::RateLimit),
    ("exhausted your capacity", AgentErrorKind::RateLimit),
    ("usage limit", AgentErrorKind::RateLimit),
    ("hit your limit", AgentErrorKind::RateLimit),
    ("hour limit", AgentErrorKind::RateLimit),
    ("weekly limit", AgentErrorKind::RateLimit),
    ("429", AgentErrorKind::RateLimit),
    ("unauthorized", AgentErrorKind::Auth),
    ("authentication", AgentErrorKind::Auth),
    ("api key", AgentErrorKind::Auth),
    ("api_key", AgentErrorKind::Auth),
    ("api-key", AgentErrorKind::Auth),
    ("bearer token", AgentErrorKind::Auth),
    ("not logged in", AgentErrorKind::Auth),
    ("no auth type", AgentErrorKind::Auth),
    ("no provider configured", AgentErrorKind::Auth),
    ("please run /login", AgentErrorKind::Auth),
    ("please log in", AgentErrorKind::Auth),
    ("token has expired", AgentErrorKind::Auth),
    ("forbidden", AgentErrorKind::Auth),
    ("401", AgentErrorKind::Auth),
    ("403", AgentErrorKind::Auth),
    ("overloaded", AgentErrorKind::Overloaded),
    ("at capacity", AgentErrorKind::Overloaded),
    ("high demand", AgentErrorKind::Overloaded),
    ("internal server error", AgentErrorKind::Overloaded),
    ("internal error", AgentErrorKind::Overloaded),
    ("service unavailable", AgentErrorKind::Overloaded),
    ("bad gateway", AgentErrorKind::Overloaded),
    ("500", AgentErrorKind::Overloaded),
    ("502", AgentErrorKind::Overloaded),
    ("503", AgentErrorKind::Overloaded),
    ("529", AgentErrorKind::Overloaded),
    ("selected model", AgentErrorKind::Model),
    ("model metadata", AgentErrorKind::Model),
    ("model not found", AgentErrorKind::Model),
    ("model_not_found", AgentErrorKind::Model),
    ("unknown model", AgentErrorKind::Model),
    ("no such model", AgentErrorKind::Model),
    ("timed out", AgentErrorKind::Network),
    ("timeout", AgentErrorKind::Network),
    ("disconnected", AgentErrorKind::Network),
    ("connection", AgentErrorKind::Network),
    ("network", AgentErrorKind::Network),
    ("econn", AgentErrorKind::Network),
    ("enotfound", AgentErrorKind::Network),
    ("socket", AgentErrorKind::Network),
    ("error sending request", AgentErrorKind::Network),
    ("504", AgentErrorKind::Network),
];

/// Returns the error kind for a message without a status.
pub(crate) fn kind_from_message(message: &str) -> AgentErrorKind {
    let message = message.to_lowercase();
    MESSAGE_PATTERNS
        .iter()
        .find(|(pattern, _)| contains_pattern(&message, pattern))
        .map_or(AgentErrorKind::Unknown, |(_, kind)| *kind)
}

/// Returns the error kind for a line of stderr.
pub fn kind_from_stderr_line(line: &str) -> AgentErrorKind {
    kind_from_message(line)
}

/// Returns the error kind for an HTTP status. If the status is ambiguous or missing, the message decides.
pub(crate) fn kind_from_status(status: Option<u64>, message: &str) -> AgentErrorKind {
    match (status, kind_from_message(message)) {
        (Some(400 | 413 | 422), kind @ (AgentErrorKind::Context | AgentErrorKind::Budget | AgentErrorKind::Model)) => {
            kind
        }
        (Some(429), AgentErrorKind::Budget) | (Some(402), _) => AgentErrorKind::Budget,
        (Some(401 | 403), _) => AgentErrorKind::Auth,
        (Some(404), _) => AgentErrorKind::Model,
        (Some(408 | 504), _) => AgentErrorKind::Network,
        (Some(429), _) => AgentErrorKind::RateLimit,
        (Some(500..), _) => AgentErrorKind::Overloaded,
        (Some(400 | 413 | 422), _) => AgentErrorKind::Unknown,
        (Some(_) | None, kind) => kind,
    }
}

/// Returns the error kind of a failed request that the agent retries. A quota that is retried is a rate limit; an
/// unknown failure counts as a network error.
pub(crate) fn kind_of_retried_failure(message: &str) -> AgentErrorKind {
    match kind_from_message(message) {
        AgentErrorKind::RateLimit | AgentErrorKind::Budget => AgentErrorKind::RateLimit,
        kind @ (AgentErrorKind::Overloaded | AgentErrorKind::Auth) => kind,
        _ => AgentErrorKind::Network,
    }
}

/// Returns whether a failure means that the session to resume is gone.
pub fn is_lost_session_message(message: &str) -> bool {
    let message = message.to_lowercase();
    LOST_SESSION_PATTERNS.iter().any(|pattern| message.contains(pattern))
}

/// How the agents report a session that does not exist.
const LOST_SESSION_PATTERNS: &[&str] = &[
    "no conversation found",
    "session not found",
    "no rollout found",
    "no previous sessions",
    "invalid session identifier",
    "no saved session found",
    "no session, task, or name matched",
    "no session found",
];

fn contains_pattern(message: &str, pattern: &str) -> bool {
    if !pattern.bytes().all(|byte| byte.is_ascii_digit()) {
        return message.contains(pattern);
    }
    message.split(|character: char| !character.is_ascii_alphanumeric()).any(|token| token == pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: L6, A8
    fn real_messages_are_classified() {
        let table = [
            ("exceeded retry limit, last status: 429 Too Many Requests", AgentErrorKind::RateLimit),
            ("You’ve hit your usage limit. Visit … or try again at Nov 16th, 2026", AgentErrorKind::RateLimit),
            ("You've hit your limit · resets 3pm (Asia/Tokyo)", AgentErrorKind::RateLimit),
            ("You've hit your 5-hour limit · resets 12:46am (UTC)", AgentErrorKind::RateLimit),
            ("Quota exceeded. Check your plan and billing details.", AgentErrorKind::Budget),
            ("[API Error: You have exhausted your daily quota on this model.]", AgentErrorKind::RateLimit),
            ("Credit balance is too low", AgentErrorKind::Budget),
            ("Reached maximum number of turns (2)", AgentErrorKind::Budget),
            ("unexpected status 401 Unauthorized: Incorrect API key", AgentErrorKind::Auth),
            ("Invalid API key · Fix external API key", AgentErrorKind::Auth),
            ("invalid x-api-key", AgentErrorKind::Auth),
            ("error: No provider configured. Run 'goose configure' first.", AgentErrorKind::Auth),
            ("No auth type is selected. Please configure an auth type", AgentErrorKind::Auth),
            ("Error: No authentication information found.", AgentErrorKind::Auth),
            ("Codex ran out of room in the model's context window.", AgentErrorKind::Context),
            ("Selected model is at capacity. Please try a different model.", AgentErrorKind::Overloaded),
            ("We’re currently experiencing high demand", AgentErrorKind::Overloaded),
            ("There's an issue with the selected model (x)", AgentErrorKind::Model),
            ("stream disconnected before completion: Transport error", AgentErrorKind::Network),
            ("Request timed out", AgentErrorKind::Network),
            ("500 internal error", AgentErrorKind::Overloaded),
            ("line 4291 has 15000 bytes", AgentErrorKind::Unknown),
            ("", AgentErrorKind::Unknown),
        ];
        for (message, kind) in table {
            assert_eq!(kind_from_message(message), kind, "{message}");
        }
    }

    #[test] // spec: A8
    fn a_status_takes_precedence_over_the_message() {
        assert_eq!(kind_from_status(Some(429), "slow down"), AgentErrorKind::RateLimit);
        assert_eq!(kind_from_status(Some(429), "insufficient_quota"), AgentErrorKind::Budget);
        assert_eq!(kind_from_status(Some(400), "prompt is too long"), AgentErrorKind::Context);
        assert_eq!(kind_from_status(Some(400), "messages: bad"), AgentErrorKind::Unknown);
        assert_eq!(kind_from_status(Some(529), "Overloaded"), AgentErrorKind::Overloaded);
        assert_eq!(kind_from_status(None, "Connection refused"), AgentErrorKind::Network);
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
        for message in lost {
            assert!(is_lost_session_message(message), "{message}");
        }
        assert!(!is_lost_session_message("Reached maximum number of turns (2)"));
    }
}
