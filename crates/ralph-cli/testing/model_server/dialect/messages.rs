//! Anthropic's messages API.
use serde_json::{Value, json};

use crate::dialect::{self, Dialect};
use crate::http::{Answer, Request};
use crate::reply::{CACHED_TOKENS, Frame, INPUT_TOKENS, OUTPUT_TOKENS, Reply, Turn, split_into_pieces};
use crate::script::Refusal;
use crate::tools;

pub(crate) const DIALECT: Dialect = Dialect {
    is_model_request: |request: &Request| request.bare_path().ends_with("/messages"),
    wants_stream: dialect::body_asks_for_a_stream,
    tools: |body| tools::parse_tools(&body["tools"], "input_schema"),
    frames,
    whole_answer,
    refusal,
};

fn message(turn: Turn, content: &Value, stop: Option<&str>) -> Value {
    json!({"id": turn.id("msg"), "type": "message", "role": "assistant", "model": "scripted", "content": content,
        "stop_reason": stop, "stop_sequence": null, "usage": usage()})
}

fn usage() -> Value {
    json!({"input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": CACHED_TOKENS, "output_tokens": OUTPUT_TOKENS})
}

fn block(reply: &Reply, turn: Turn) -> Value {
    match reply {
        Reply::Text(text) => json!({"type": "text", "text": text}),
        Reply::ToolCall(call) => {
            json!({"type": "tool_use", "id": turn.id("toolu"), "name": call.tool, "input": call.input.named()})
        }
    }
}

fn stop_reason(reply: &Reply) -> &'static str {
    match reply {
        Reply::Text(_) => "end_turn",
        Reply::ToolCall(_) => "tool_use",
    }
}

fn whole_answer(reply: &Reply, turn: Turn) -> Value {
    message(turn, &json!([block(reply, turn)]), Some(stop_reason(reply)))
}

fn frames(reply: &Reply, turn: Turn) -> Vec<Frame> {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let mut start = block(reply, turn);
    let deltas: Vec<Value> = match reply {
        Reply::Text(text) => {
            start["text"] = json!("");
            split_into_pieces(text).into_iter().map(|text| delta(json!({"type": "text_delta", "text": text}))).collect()
        }
        Reply::ToolCall(call) => {
            start["input"] = json!({});
            let input = call.input.named().to_string();
            vec![delta(json!({"type": "input_json_delta", "partial_json": input}))]
        }
    };
    let begin = [
        json!({"type": "message_start", "message": message(turn, &json!([]), None)}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
    ];
    let end = [
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
            "usage": usage()}),
        json!({"type": "message_stop"}),
    ];
    begin.iter().chain(&deltas).chain(&end).map(Frame::typed).collect()
}

fn refusal(refusal: &Refusal) -> Answer {
    let kind = match refusal.status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let body = json!({"type": "error", "error": {"type": kind, "message": dialect::error_message(refusal)}});
    let mut headers = dialect::headers(refusal);
    headers.extend(refusal.resets_at.into_iter().flat_map(plan_limit_headers));
    Answer { status: refusal.status, headers, body }
}

/// Returns the headers that a subscriber gets when the plan is used up.
fn plan_limit_headers(resets_at: u64) -> Vec<(&'static str, String)> {
    vec![
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-reset", resets_at.to_string()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
        ("anthropic-ratelimit-unified-overage-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-5h-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-5h-reset", resets_at.to_string()),
        ("anthropic-ratelimit-unified-5h-utilization", "1.0".to_owned()),
    ]
}
