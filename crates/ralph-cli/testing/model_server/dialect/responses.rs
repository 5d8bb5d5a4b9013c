//! OpenAI's responses API.
use serde_json::{Value, json};

use crate::dialect::{self, Dialect};
use crate::http::{Answer, Request};
use crate::reply::{
    CACHED_TOKENS, Frame, INPUT_TOKENS, OUTPUT_TOKENS, Reply, ToolCall, ToolInput, Turn, split_into_pieces,
};
use crate::script::Refusal;
use crate::tools::{self, Tool};

pub(crate) const DIALECT: Dialect = Dialect {
    is_model_request: |request: &Request| request.bare_path().ends_with("/responses"),
    wants_stream: dialect::body_asks_for_a_stream,
    tools: offered_tools,
    frames,
    whole_answer,
    refusal,
};

/// Between a namespace and the name of a tool in it.
const NAMESPACE_SEPARATOR: char = '/';

/// Returns the tools, also those in namespaces, as `NAMESPACE/NAME`.
fn offered_tools(body: &Value) -> Vec<Tool> {
    let mut offered = tools::parse_tools(&body["tools"], "parameters");
    for group in body["tools"].as_array().into_iter().flatten().filter(|group| group["type"] == "namespace") {
        let namespace = group["name"].as_str().unwrap_or_default();
        offered.extend(
            tools::parse_tools(&group["tools"], "parameters")
                .into_iter()
                .map(|tool| Tool { name: format!("{namespace}{NAMESPACE_SEPARATOR}{}", tool.name), ..tool }),
        );
    }
    offered
}

fn function_call(tool: &str, input: &Value, turn: Turn) -> Value {
    let (namespace, name) =
        tool.rsplit_once(NAMESPACE_SEPARATOR).map_or((None, tool), |(group, name)| (Some(group), name));
    let mut call = json!({"type": "function_call", "id": turn.id("fc"), "call_id": turn.id("call"), "name": name,
        "arguments": input.to_string(), "status": "completed"});
    if let Some(namespace) = namespace {
        call["namespace"] = json!(namespace);
    }
    call
}

fn response(turn: Turn, status: &str, output: &Value) -> Value {
    json!({"id": turn.id("resp"), "object": "response", "created_at": 1, "status": status, "model": "scripted",
        "output": output})
}

fn completed(reply: &Reply, turn: Turn) -> Value {
    let mut response = response(turn, "completed", &json!([item(reply, turn)]));
    response["usage"] = json!({"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS, "input_tokens_details": {"cached_tokens": CACHED_TOKENS},
        "output_tokens_details": {"reasoning_tokens": 0}});
    response
}

fn item(reply: &Reply, turn: Turn) -> Value {
    match reply {
        Reply::Text(text) => json!({"type": "message", "id": turn.id("msg"), "role": "assistant",
            "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        Reply::ToolCall(ToolCall { tool, input: ToolInput::Named(input) }) => function_call(tool, input, turn),
        Reply::ToolCall(ToolCall { tool, input: ToolInput::Free(input) }) => {
            json!({"type": "custom_tool_call", "id": turn.id("ctc"), "call_id": turn.id("call"), "name": tool,
                "input": input, "status": "completed"})
        }
    }
}

/// Returns the item at its start, without contents.
fn empty_item(reply: &Reply, turn: Turn) -> Value {
    let mut started = item(reply, turn);
    started["status"] = json!("in_progress");
    let (field, empty) = match reply {
        Reply::Text(_) => ("content", json!([])),
        Reply::ToolCall(ToolCall { input: ToolInput::Named(_), .. }) => ("arguments", json!("")),
        Reply::ToolCall(ToolCall { input: ToolInput::Free(_), .. }) => ("input", json!("")),
    };
    started[field] = empty;
    started
}

fn deltas(reply: &Reply, turn: Turn) -> Vec<Value> {
    let id = item(reply, turn)["id"].clone();
    let delta = |kind: &str, delta: &str| json!({"type": kind, "item_id": id, "output_index": 0, "content_index": 0, "delta": delta});
    match reply {
        Reply::Text(text) => {
            split_into_pieces(text).iter().map(|piece| delta("response.output_text.delta", piece)).collect()
        }
        Reply::ToolCall(ToolCall { input: ToolInput::Named(input), .. }) => {
            vec![delta("response.function_call_arguments.delta", &input.to_string())]
        }
        Reply::ToolCall(ToolCall { input: ToolInput::Free(input), .. }) => {
            vec![delta("response.custom_tool_call_input.delta", input)]
        }
    }
}

fn whole_answer(reply: &Reply, turn: Turn) -> Value {
    completed(reply, turn)
}

fn frames(reply: &Reply, turn: Turn) -> Vec<Frame> {
    let begin = [
        json!({"type": "response.created", "response": response(turn, "in_progress", &json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": empty_item(reply, turn)}),
    ];
    let end = [
        json!({"type": "response.output_item.done", "output_index": 0, "item": item(reply, turn)}),
        json!({"type": "response.completed", "response": completed(reply, turn)}),
    ];
    let all = begin.into_iter().chain(deltas(reply, turn)).chain(end);
    all.enumerate().map(|(number, event)| numbered(event, number)).collect()
}

fn numbered(mut event: Value, number: usize) -> Frame {
    event["sequence_number"] = json!(number);
    Frame::typed(&event)
}

fn refusal(refusal: &Refusal) -> Answer {
    let message = dialect::error_message(refusal);
    let error = match (refusal.status, refusal.resets_at) {
        (429, Some(resets_at)) => {
            json!({"type": "usage_limit_reached", "message": message, "plan_type": "plus",
            "resets_at": resets_at})
        }
        (429, None) => json!({"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": message}),
        (401, _) => json!({"type": "invalid_request_error", "code": "invalid_api_key", "message": message}),
        _ => json!({"type": "server_error", "code": "server_error", "message": message}),
    };
    let headers = dialect::headers(refusal);
    Answer { status: refusal.status, headers, body: json!({ "error": error }) }
}
