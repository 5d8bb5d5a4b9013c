//! Classifies the failures that Claude reports.
use crate::failure::classify;
use crate::stream::event::{AgentErrorKind, AgentFailure};
use ralph_util::json::{self, RawJson};

/// Returns the kind of an API failure. Claude reports every unreachable or failing server as `server_error`; only if
/// there is an HTTP status was the server reached.
pub(crate) fn api_error_kind(category: &str, status: Option<u64>, message: &str) -> AgentErrorKind {
    match category {
        "rate_limit" => AgentErrorKind::RateLimit,
        "authentication_failed" | "oauth_org_not_allowed" => AgentErrorKind::Auth,
        "billing_error" => AgentErrorKind::Budget,
        "model_not_found" => AgentErrorKind::Model,
        "overloaded" => AgentErrorKind::Overloaded,
        "server_error" => match (status, classify::kind_from_message(message)) {
            (Some(_), _) | (None, AgentErrorKind::Overloaded) => AgentErrorKind::Overloaded,
            (None, _) => AgentErrorKind::Network,
        },
        _ => classify::kind_from_status(status, message),
    }
}

/// Reads a failed `result` record. `known` is the kind of a preceding API failure, which is more specific.
pub(crate) fn failure_from_result(line: &[u8], known: Option<AgentErrorKind>) -> AgentFailure {
    let keys = ["result", "errors", "error", "subtype", "terminal_reason", "api_error_status"];
    let [result, errors, error, subtype, reason, status] = json::pick_members_or_none(Some(line), keys);
    let aborted = json::as_name(reason)
        .starts_with("aborted")
        .then(|| format!("the agent was stopped ({})", json::as_name(reason)));
    let message = aborted
        .or_else(|| json::decode_string(result))
        .or_else(|| first_string_element(errors))
        .or_else(|| json::decode_string(error))
        .or_else(|| {
            let [message] = json::pick_members_or_none(error, ["message"]);
            json::decode_string(message)
        })
        .unwrap_or_else(|| json::as_name(subtype).to_owned());
    let kind = match (json::as_name(subtype), json::as_name(reason)) {
        ("error_max_turns" | "error_max_budget_usd", _) => AgentErrorKind::Budget,
        (_, "prompt_too_long") => AgentErrorKind::Context,
        (_, "aborted_streaming" | "aborted_tools") => AgentErrorKind::Crash,
        _ => known.unwrap_or_else(|| classify::kind_from_status(json::parse_u64(status), &message)),
    };
    AgentFailure { kind, message }
}

fn first_string_element(list: Option<RawJson<'_>>) -> Option<String> {
    json::decode_string(json::first_element(list?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A8, L6
    fn recorded_api_errors_are_classified() {
        let table = [
            ("rate_limit", Some(429), "API Error: Request rejected (429)", AgentErrorKind::RateLimit),
            ("server_error", Some(529), "API Error: 529 Overloaded.", AgentErrorKind::Overloaded),
            ("server_error", Some(500), "API Error: 500", AgentErrorKind::Overloaded),
            ("server_error", None, "API Error: 529 Overloaded. This is", AgentErrorKind::Overloaded),
            ("server_error", None, "API Error: Connection refused (ECONNREFUSED)", AgentErrorKind::Network),
            ("server_error", None, "Request timed out", AgentErrorKind::Network),
            ("authentication_failed", Some(401), "Invalid API key", AgentErrorKind::Auth),
            ("billing_error", Some(400), "Credit balance is too low", AgentErrorKind::Budget),
            ("invalid_request", Some(400), "Prompt is too long", AgentErrorKind::Context),
            ("model_not_found", Some(404), "There's an issue", AgentErrorKind::Model),
            ("unknown", Some(400), "API Error: 400 messages: bad", AgentErrorKind::Unknown),
        ];
        for (category, status, message, kind) in table {
            assert_eq!(api_error_kind(category, status, message), kind, "{category} {message}");
        }
    }

    #[test] // spec: A8
    fn a_failed_result_names_its_reason_in_any_member() {
        let failure = failure_from_result(br#"{"subtype":"error_max_turns","errors":["Reached 2"]}"#, None);
        assert_eq!((failure.kind, failure.message.as_str()), (AgentErrorKind::Budget, "Reached 2"));
        let failure = failure_from_result(br#"{"subtype":"error_during_execution","error":"boom"}"#, None);
        assert_eq!((failure.kind, failure.message.as_str()), (AgentErrorKind::Unknown, "boom"));
        let failure = failure_from_result(
            br#"{"subtype":"error_during_execution","error":{"message":"[API Error: 401]"}}"#,
            None,
        );
        assert_eq!((failure.kind, failure.message.as_str()), (AgentErrorKind::Auth, "[API Error: 401]"));
        let failure = failure_from_result(br#"{"result":"Prompt is too long","api_error_status":400}"#, None);
        assert_eq!(failure.kind, AgentErrorKind::Context);
        let failure = failure_from_result(br#"{"result":"x"}"#, Some(AgentErrorKind::Model));
        assert_eq!(failure.kind, AgentErrorKind::Model);
    }
}
