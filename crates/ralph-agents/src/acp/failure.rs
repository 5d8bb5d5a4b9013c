//! What went wrong, as agents tell it: an error of JSON-RPC, or words in the place of an answer.
use super::message::{Data, Failure};
use crate::classify;
use crate::event::ErrorKind;
use ralph_util::json::{self, Malformed, Raw};

/// The protocol's own code for an agent that is not logged in.
const AUTH_REQUIRED: i64 = -32000;

/// What JSON-RPC libraries put before the message of any error.
const PREFIX: &str = "Internal error";

/// How agents begin an answer that is none, in one piece.
const IN_WORDS: &[&str] = &["Error: ", "Ran into this error: ", "API Error: ", "[API Error: "];

/// Returns what an error of JSON-RPC means.
pub(super) fn of_error(raw: Raw<'_>) -> Result<(ErrorKind, String), Malformed> {
    let failure = Failure::of(Some(raw))?;
    let data = Data::of(failure.data)?;
    let message = words(&failure, &data);
    Ok((kind(&failure, &data, &message), message))
}

fn words(failure: &Failure<'_>, data: &Data<'_>) -> String {
    let said = json::string(failure.message).unwrap_or_default();
    let bare = said.strip_prefix(PREFIX).map_or(said.as_str(), |rest| rest.trim_start_matches([':', ' ']));
    let details = json::string(data.details).or_else(|| json::string(data.message));
    match details.or_else(|| json::string(failure.data)).filter(|details| !bare.contains(details.as_str())) {
        Some(details) if bare.is_empty() => details,
        Some(details) => format!("{bare}: {details}"),
        None if bare.is_empty() => said,
        None => bare.to_owned(),
    }
}

fn kind(failure: &Failure<'_>, data: &Data<'_>, message: &str) -> ErrorKind {
    let by_name = match json::name(data.name) {
        "ProviderAuthError" => ErrorKind::Auth,
        "ContextOverflowError" => ErrorKind::Context,
        "ProviderModelNotFoundError" => ErrorKind::Model,
        "MessageAbortedError" | "AbortError" => ErrorKind::Crash,
        _ => classify::by_words(json::name(data.kind)),
    };
    let code = json::signed(failure.code).unwrap_or_default();
    match (by_name, code, u64::try_from(code)) {
        (ErrorKind::Unknown, AUTH_REQUIRED, _) => ErrorKind::Auth,
        (ErrorKind::Unknown, _, Ok(status @ 100..=599)) => classify::by_status(Some(status), message),
        (ErrorKind::Unknown, _, _) => classify::by_words(message),
        (known, _, _) => known,
    }
}

/// Returns what an answer that is an error in words means. Whoever calls knows that no model has answered.
pub(super) fn in_words(text: &str) -> Option<(ErrorKind, String)> {
    let is_error = IN_WORDS.iter().any(|start| text.starts_with(start));
    is_error.then(|| (classify::by_words(text), text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A5, A8
    fn an_error_has_the_kind_that_its_code_its_data_or_its_words_give() {
        let table = [
            (r#"{"code":401,"message":"no"}"#, ErrorKind::Auth, "no"),
            (r#"{"code":429,"message":"slow down"}"#, ErrorKind::RateLimit, "slow down"),
            (
                r#"{"code":-32000,"message":"Authentication required"}"#,
                ErrorKind::Auth,
                "Authentication required",
            ),
            (
                r#"{"code":-32603,"message":"Internal error: it","data":{"errorKind":"rate_limit"}}"#,
                ErrorKind::RateLimit,
                "it",
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"Incorrect API key"}}"#,
                ErrorKind::Auth,
                "Incorrect API key",
            ),
            (
                r#"{"code":-32603,"message":"x","data":{"errorName":"ContextOverflowError"}}"#,
                ErrorKind::Context,
                "x",
            ),
            (r#"{"code":-32603,"message":"Internal error"}"#, ErrorKind::Overloaded, "Internal error"),
            (r#"{"code":-32602,"message":"Bad","data":"why"}"#, ErrorKind::Unknown, "Bad: why"),
        ];
        for (raw, kind, words) in table {
            assert_eq!(of_error(raw.as_bytes()).unwrap(), (kind, words.to_owned()), "{raw}");
        }
    }

    #[test] // spec: A5
    fn only_words_that_begin_as_an_error_are_one() {
        assert_eq!(
            in_words("Error: 429 Rate limit reached").map(|(kind, _)| kind),
            Some(ErrorKind::RateLimit)
        );
        assert_eq!(in_words("There was an Error: 429"), None);
    }
}
