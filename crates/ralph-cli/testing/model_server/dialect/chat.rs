//! OpenAI's chat completions API, which most other vendors support too.
use serde_json::{Value, json};

use crate::dialect::{self, Dialect};
use crate::http::{Answer, Request};
use crate::reply::{CACHED_TOKENS, Frame, INPUT_TOKENS, OUTPUT_TOKENS, Reply, Turn, split_into_pieces};
use crate::script::Refusal;
use crate::tools::{self, Tool};

pub(crate) const DIALECT: Dialect = Dialect {
    is_model_request: |request: &Request| request.bare_path().ends_with("/chat/completions"),
    wants_stream: dialect::body_asks_for_a_stream,
    tools,
    frames,
    whole_answer,
    refusal,
};

fn tools(body: &Value) -> Vec<Tool> {
    let functions = body["tools"].as_array().into_iter().flatten().map(|tool| tool["function"].clone());
    tools::parse_tools(&Value::Array(functions.collect()), "parameters")
}

fn usage() -> Value {
    json!({"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS, "prompt_tokens_details": {"cached_tokens": CACHED_TOKENS}})
}

/// Returns the tool call, if there is one.
fn calls(reply: &Reply, turn: Turn) -> Option<Value> {
    match reply {
        Reply::Text(_) => None,
        Reply::ToolCall(call) => {
            let function = json!({"name": call.tool, "arguments": call.input.named().to_string()});
            Some(json!([{"index": 0, "id": turn.id("call"), "type": "function", "function": function}]))
        }
    }
}

fn text(reply: &Reply) -> &str {
    match reply {
        Reply::Text(text) => text,
        Reply::ToolCall(_) => "",
    }
}

fn finish(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "stop",
        Reply::ToolCall(_) => "tool_calls",
    }
}

fn whole_answer(reply: &Reply, turn: Turn) -> Value {
    let mut message = json!({"role": "assistant", "content": text(reply)});
    if let Some(calls) = calls(reply, turn) {
        message["tool_calls"] = calls;
    }
    let choice = json!({"index": 0, "message": message, "finish_reason": finish(reply)});
    json!({"id": turn.id("chatcmpl"), "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [choice], "usage": usage()})
}

fn frames(reply: &Reply, turn: Turn) -> Vec<Frame> {
    let chunk = |choices: Value| {
        json!({"id": turn.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": choices})
    };
    let delta =
        |delta: Value, finish: Option<&str>| chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}]));
    let mut chunks = vec![delta(json!({"role": "assistant", "content": ""}), None)];
    match calls(reply, turn) {
        Some(calls) => chunks.push(delta(json!({ "tool_calls": calls }), None)),
        None => {
            chunks.extend(split_into_pieces(text(reply)).iter().map(|piece| delta(json!({"content": piece}), None)));
        }
    }
    chunks.push(delta(json!({}), Some(finish(reply))));
    let mut last = chunk(json!([]));
    last["usage"] = usage();
    chunks.push(last);
    let done = Frame { name: None, data: "[DONE]".to_owned() };
    chunks.iter().map(Frame::bare).chain([done]).collect()
}

fn refusal(refusal: &Refusal) -> Answer {
    let (kind, code) = match refusal.status {
        401 => ("invalid_request_error", "invalid_api_key"),
        429 => ("rate_limit_error", "rate_limit_exceeded"),
        _ => ("server_error", "server_error"),
    };
    let error = json!({"message": dialect::error_message(refusal), "type": kind, "param": null, "code": code});
    let headers = dialect::headers(refusal);
    Answer { status: refusal.status, headers, body: json!({ "error": error }) }
}
