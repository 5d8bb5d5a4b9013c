//! Requests outside the script: health checks, model lists, token counts, session titles.
use serde_json::{Value, json};

use crate::http::{Answer, Request};
use crate::reply::Reply;

/// Answers a request that is not for the model.
pub(crate) fn answer_request(request: &Request) -> Answer {
    let path = request.bare_path();
    if request.method == "HEAD" {
        return Answer::ok(Value::Null);
    }
    if path.ends_with("/models") {
        let model = json!({"id": "scripted", "object": "model", "owned_by": "tests", "name": "models/scripted"});
        return Answer::ok(json!({"object": "list", "data": [model], "models": [model]}));
    }
    if path.ends_with("/count_tokens") {
        return Answer::ok(json!({"input_tokens": 1}));
    }
    if path.ends_with(":countTokens") {
        return Answer::ok(json!({"totalTokens": 1}));
    }
    let body = json!({"error": {"type": "not_found_error", "message": "the scripted server has no such path"}});
    Answer { status: 404, headers: Vec::new(), body }
}

/// Returns the reply to a request without tools: a title, or an object if the client wants JSON.
pub(crate) fn reply_without_tools(request: &Request) -> Reply {
    let wants_json = request.body["generationConfig"]["responseMimeType"] == "application/json";
    let object = r#"{"reasoning": "scripted", "next_speaker": "user"}"#;
    Reply::Text(if wants_json { object } else { "A scripted title" }.to_owned())
}
