//! The supported model APIs. A new one needs a file next to this one and an entry in [`DIALECTS`].
mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::Value;

use crate::http::{Answer, Request};
use crate::reply::{Frame, Reply, Turn};
use crate::script::Refusal;
use crate::tools::Tool;

pub(crate) const DIALECTS: &[Dialect] = &[messages::DIALECT, responses::DIALECT, chat::DIALECT, gemini::DIALECT];

/// The functions that differ between APIs.
pub(crate) struct Dialect {
    /// Returns whether this is a request for an answer of the model.
    pub(crate) is_model_request: fn(&Request) -> bool,
    /// Returns whether the client wants the answer as a stream.
    pub(crate) wants_stream: fn(&Request) -> bool,
    /// Returns the tools that the client offers.
    pub(crate) tools: fn(&Value) -> Vec<Tool>,
    /// Returns an answer as the events of a stream.
    pub(crate) frames: fn(&Reply, Turn) -> Vec<Frame>,
    /// Returns the same answer in one piece.
    pub(crate) whole_answer: fn(&Reply, Turn) -> Value,
    pub(crate) refusal: fn(&Refusal) -> Answer,
}

pub(crate) fn find_dialect(request: &Request) -> Option<&'static Dialect> {
    let is_post = request.method == "POST";
    DIALECTS.iter().find(|dialect| is_post && (dialect.is_model_request)(request))
}

/// Returns whether the body asks for a stream, as in most APIs.
pub(crate) fn body_asks_for_a_stream(request: &Request) -> bool {
    request.body["stream"] == true
}

/// Returns the error message, which is the same for all APIs.
pub(crate) fn error_message(refusal: &Refusal) -> &'static str {
    match refusal.status {
        401 => "Incorrect API key: the scripted key is not valid",
        429 => "Rate limit reached, says the script",
        503 | 529 => "the scripted model is overloaded",
        _ => "the scripted server failed",
    }
}

/// Returns the headers that all APIs share.
pub(crate) fn headers(refusal: &Refusal) -> Vec<(&'static str, String)> {
    refusal.retry_after.map(|seconds| ("retry-after", seconds.to_string())).into_iter().collect()
}
