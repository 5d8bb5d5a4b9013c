//! What went wrong, from Claude's own words for it.
use crate::classify;
use crate::event::ErrorKind;
use ralph_util::json::{self, Raw};

/// Returns the kind of an API failure. Claude calls every unreachable or broken server `server_error`;
/// only those with an HTTP status were reached at all.
pub(super) fn kind_of_api_error(category: &str, status: Option<u64>, message: &str) -> ErrorKind {
    match category {
        "rate_limit" => ErrorKind::RateLimit,
        "authentication_failed" | "oauth_org_not_allowed" => ErrorKind::Auth,
        "billing_error" => ErrorKind::Budget,
        "model_not_found" => ErrorKind::Model,
        "overloaded" => ErrorKind::Overloaded,
        "server_error" => match (status, classify::by_words(message)) {
            (Some(_), _) | (None, ErrorKind::Overloaded) => ErrorKind::Overloaded,
            (None, _) => ErrorKind::Network,
        },
        _ => classify::by_status(status, message),
    }
}

/// The failure that a `result` record reports.
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
}

/// Reads a failed result. `known` is what an API failure shortly before it said; it knows more.
pub(super) fn of_result(line: &[u8], known: Option<ErrorKind>) -> Failure {
    let keys = ["result", "errors", "error", "subtype", "terminal_reason", "api_error_status"];
    let [result, errors, error, subtype, reason, status] = json::pick_in(Some(line), keys);
    let aborted =
        json::name(reason).starts_with("aborted").then(|| format!("it was stopped ({})", json::name(reason)));
    let message = aborted
        .or_else(|| json::string(result))
        .or_else(|| first_string(errors))
        .or_else(|| json::string(error))
        .or_else(|| {
            let [message] = json::pick_in(error, ["message"]);
            json::string(message)
        })
        .unwrap_or_else(|| json::name(subtype).to_owned());
    let kind = match (json::name(subtype), json::name(reason)) {
        ("error_max_turns" | "error_max_budget_usd", _) => ErrorKind::Budget,
        (_, "prompt_too_long") => ErrorKind::Context,
        (_, "aborted_streaming" | "aborted_tools") => ErrorKind::Crash,
        _ => known.unwrap_or_else(|| classify::by_status(json::count(status), &message)),
    };
    Failure { kind, message }
}

fn first_string(list: Option<Raw<'_>>) -> Option<String> {
    json::string(json::first_element(list?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A8, L6
    fn measured_api_errors_have_their_kinds() {
        let table = [
            ("rate_limit", Some(429), "API Error: Request rejected (429)", ErrorKind::RateLimit),
            ("server_error", Some(529), "API Error: 529 Overloaded.", ErrorKind::Overloaded),
            ("server_error", Some(500), "API Error: 500", ErrorKind::Overloaded),
            ("server_error", None, "API Error: 529 Overloaded. This is", ErrorKind::Overloaded),
            ("server_error", None, "API Error: Connection refused (ECONNREFUSED)", ErrorKind::Network),
            ("server_error", None, "Request timed out", ErrorKind::Network),
            ("authentication_failed", Some(401), "Invalid API key", ErrorKind::Auth),
            ("billing_error", Some(400), "Credit balance is too low", ErrorKind::Budget),
            ("invalid_request", Some(400), "Prompt is too long", ErrorKind::Context),
            ("model_not_found", Some(404), "There's an issue", ErrorKind::Model),
            ("unknown", Some(400), "API Error: 400 messages: bad", ErrorKind::Unknown),
        ];
        for (category, status, message, kind) in table {
            assert_eq!(kind_of_api_error(category, status, message), kind, "{category} {message}");
        }
    }

    #[test] // spec: A8
    fn a_failed_result_names_its_reason_wherever_it_stands() {
        let failure = of_result(br#"{"subtype":"error_max_turns","errors":["Reached 2"]}"#, None);
        assert_eq!((failure.kind, failure.message.as_str()), (ErrorKind::Budget, "Reached 2"));
        let failure = of_result(br#"{"subtype":"error_during_execution","error":"boom"}"#, None);
        assert_eq!((failure.kind, failure.message.as_str()), (ErrorKind::Unknown, "boom"));
        let failure = of_result(
            br#"{"subtype":"error_during_execution","error":{"message":"[API Error: 401]"}}"#,
            None,
        );
        assert_eq!((failure.kind, failure.message.as_str()), (ErrorKind::Auth, "[API Error: 401]"));
        let failure = of_result(br#"{"result":"Prompt is too long","api_error_status":400}"#, None);
        assert_eq!(failure.kind, ErrorKind::Context);
        let failure = of_result(br#"{"result":"x"}"#, Some(ErrorKind::Model));
        assert_eq!(failure.kind, ErrorKind::Model);
    }
}
