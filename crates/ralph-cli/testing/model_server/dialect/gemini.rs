//! Google's generateContent and streamGenerateContent API.
use serde_json::{Value, json};

use crate::dialect::{self, Dialect};
use crate::http::{Answer, Request};
use crate::reply::{CACHED_TOKENS, Frame, INPUT_TOKENS, OUTPUT_TOKENS, Reply, Turn, split_into_pieces};
use crate::script::Refusal;
use crate::tools::{self, Tool};

pub(crate) const DIALECT: Dialect = Dialect {
    is_model_request: |request: &Request| request.bare_path().ends_with("enerateContent"),
    wants_stream: |request: &Request| request.bare_path().ends_with(":streamGenerateContent"),
    tools,
    frames,
    whole_answer,
    refusal,
};

fn tools(body: &Value) -> Vec<Tool> {
    let groups = body["tools"].as_array().into_iter().flatten();
    groups.flat_map(|group| tools::parse_tools(&group["functionDeclarations"], "parametersJsonSchema")).collect()
}

fn candidate(turn: Turn, part: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({"candidates": [candidate], "modelVersion": "scripted", "responseId": turn.id("response"),
        "usageMetadata": {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS, "cachedContentTokenCount": CACHED_TOKENS}})
}

fn whole_answer(reply: &Reply, turn: Turn) -> Value {
    let part = match reply {
        Reply::Text(text) => json!({ "text": text }),
        Reply::ToolCall(call) => json!({"functionCall": {"name": call.tool, "args": call.input.named()}}),
    };
    candidate(turn, &part, Some("STOP"))
}

fn frames(reply: &Reply, turn: Turn) -> Vec<Frame> {
    let Reply::Text(text) = reply else { return vec![Frame::bare(&whole_answer(reply, turn))] };
    let pieces = split_into_pieces(text);
    let last = pieces.len() - 1;
    let frame = |(at, piece): (usize, &String)| {
        Frame::bare(&candidate(turn, &json!({ "text": piece }), (at == last).then_some("STOP")))
    };
    pieces.iter().enumerate().map(frame).collect()
}

fn refusal(refusal: &Refusal) -> Answer {
    let status = match refusal.status {
        401 => "UNAUTHENTICATED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let mut error = json!({"code": refusal.status, "message": dialect::error_message(refusal), "status": status});
    if refusal.resets_at.is_some() {
        error["details"] = json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations":
            [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]);
    } else if let Some(seconds) = refusal.retry_after {
        error["details"] = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s")}]);
    }
    let headers = dialect::headers(refusal);
    Answer { status: refusal.status, headers, body: json!({ "error": error }) }
}
