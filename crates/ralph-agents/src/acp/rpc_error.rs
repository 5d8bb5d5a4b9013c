//! Classifies failures that agents report: JSON-RPC errors, or error text in place of an answer.
use super::message::{AcpErrorDetails, AcpRpcError};
use crate::failure::classify;
use crate::stream::event::{AgentErrorKind, AgentFailure};
use ralph_util::json::{self, MalformedJson, RawJson};

/// The protocol's error code for an agent that is not logged in.
const AUTH_REQUIRED_CODE: i64 = -32000;

/// The prefix that JSON-RPC libraries add to error messages.
const INTERNAL_ERROR_PREFIX: &str = "Internal error";

/// Prefixes of error text that agents send in place of an answer, in one piece.
const ERROR_TEXT_PREFIXES: &[&str] = &["Error: ", "Ran into this error: ", "API Error: ", "[API Error: "];

/// Returns the kind and the message of a JSON-RPC error.
pub(crate) fn classify_rpc_error(raw: RawJson<'_>) -> Result<AgentFailure, MalformedJson> {
    let failure = AcpRpcError::of(Some(raw))?;
    let data = AcpErrorDetails::of(failure.data)?;
    let message = rpc_error_message(&failure, &data);
    Ok(AgentFailure { kind: rpc_error_kind(&failure, &data, &message), message })
}

fn rpc_error_message(failure: &AcpRpcError<'_>, data: &AcpErrorDetails<'_>) -> String {
    let message = json::decode_string(failure.message).unwrap_or_default();
    let bare = message
        .strip_prefix(INTERNAL_ERROR_PREFIX)
        .map_or(message.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    let details = json::decode_string(data.details).or_else(|| json::decode_string(data.message));
    match details.or_else(|| json::decode_string(failure.data)).filter(|details| !bare.contains(details.as_str())) {
        Some(details) if bare.is_empty() => details,
        Some(details) => format!("{bare}: {details}"),
        None if bare.is_empty() => message,
        None => bare.to_owned(),
    }
}

fn rpc_error_kind(failure: &AcpRpcError<'_>, data: &AcpErrorDetails<'_>, message: &str) -> AgentErrorKind {
    let by_name = match json::as_name(data.name) {
        "ProviderAuthError" => AgentErrorKind::Auth,
        "ContextOverflowError" => AgentErrorKind::Context,
        "ProviderModelNotFoundError" => AgentErrorKind::Model,
        "MessageAbortedError" | "AbortError" => AgentErrorKind::Crash,
        _ => classify::kind_from_message(json::as_name(data.kind)),
    };
    let code = json::parse_i64(failure.code).unwrap_or_default();
    match (by_name, code, u64::try_from(code)) {
        (AgentErrorKind::Unknown, AUTH_REQUIRED_CODE, _) => AgentErrorKind::Auth,
        (AgentErrorKind::Unknown, _, Ok(status @ 100..=599)) => classify::kind_from_status(Some(status), message),
        (AgentErrorKind::Unknown, _, _) => classify::kind_from_message(message),
        (known, _, _) => known,
    }
}

/// Returns the failure if an answer is error text. The caller must know that no model has answered.
pub(crate) fn classify_error_text(text: &str) -> Option<AgentFailure> {
    let is_error = ERROR_TEXT_PREFIXES.iter().any(|start| text.starts_with(start));
    is_error.then(|| AgentFailure::new(classify::kind_from_message(text), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A5, A8
    fn an_error_is_classified_by_its_code_data_or_message() {
        let table = [
            (r#"{"code":401,"message":"no"}"#, AgentErrorKind::Auth, "no"),
            (r#"{"code":429,"message":"slow down"}"#, AgentErrorKind::RateLimit, "slow down"),
            (r#"{"code":-32000,"message":"Authentication required"}"#, AgentErrorKind::Auth, "Authentication required"),
            (
                r#"{"code":-32603,"message":"Internal error: it","data":{"errorKind":"rate_limit"}}"#,
                AgentErrorKind::RateLimit,
                "it",
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"Incorrect API key"}}"#,
                AgentErrorKind::Auth,
                "Incorrect API key",
            ),
            (
                r#"{"code":-32603,"message":"x","data":{"errorName":"ContextOverflowError"}}"#,
                AgentErrorKind::Context,
                "x",
            ),
            (r#"{"code":-32603,"message":"Internal error"}"#, AgentErrorKind::Overloaded, "Internal error"),
            (r#"{"code":-32602,"message":"Bad","data":"why"}"#, AgentErrorKind::Unknown, "Bad: why"),
        ];
        for (raw, kind, message) in table {
            assert_eq!(classify_rpc_error(raw.as_bytes()).unwrap(), AgentFailure::new(kind, message), "{raw}");
        }
    }

    #[test] // spec: A5
    fn only_text_that_starts_like_an_error_is_an_error() {
        assert_eq!(
            classify_error_text("Error: 429 Rate limit reached").map(|failure| failure.kind),
            Some(AgentErrorKind::RateLimit)
        );
        assert_eq!(classify_error_text("There was an Error: 429"), None);
    }
}
