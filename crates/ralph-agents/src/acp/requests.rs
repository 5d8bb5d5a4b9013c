//! The messages that ralph sends to the agent: one JSON object per line.
use serde_json::{Value, json, value::RawValue};

use ralph_util::json::RawJson;

/// The version of the Agent Client Protocol that ralph speaks.
pub(crate) const PROTOCOL_VERSION: u64 = 1;

/// The JSON-RPC error code for an unknown method.
const METHOD_NOT_FOUND_CODE: i64 = -32601;

/// The JSON-RPC error code for invalid parameters.
const INVALID_PARAMS_CODE: i64 = -32602;

/// Offers neither files nor terminals, because agents would use them instead of the disk.
pub(crate) fn initialize_request(id: u64) -> Vec<u8> {
    let capabilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    let ralph = json!({"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": capabilities, "clientInfo": ralph});
    encode_request(id, "initialize", &params)
}

pub(crate) fn new_session_request(id: u64, folder: &str) -> Vec<u8> {
    encode_request(id, "session/new", &json!({"cwd": folder, "mcpServers": []}))
}

/// `method` is `session/resume` or `session/load`.
pub(crate) fn existing_session_request(id: u64, method: &str, session: &str, folder: &str) -> Vec<u8> {
    encode_request(id, method, &json!({"sessionId": session, "cwd": folder, "mcpServers": []}))
}

pub(crate) fn set_config_option_request(id: u64, session: &str, option: &str, value: &str) -> Vec<u8> {
    let params = json!({"sessionId": session, "configId": option, "value": value});
    encode_request(id, "session/set_config_option", &params)
}

pub(crate) fn set_model_request(id: u64, session: &str, model: &str) -> Vec<u8> {
    encode_request(id, "session/set_model", &json!({"sessionId": session, "modelId": model}))
}

pub(crate) fn prompt_request(id: u64, session: &str, text: &str) -> Vec<u8> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    encode_request(id, "session/prompt", &params)
}

pub(crate) fn cancel_notification(session: &str) -> Vec<u8> {
    encode_line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
}

/// Selects one of the options of a permission request; `None` answers that the turn is cancelled.
pub(crate) fn permission_response(id: RawJson<'_>, option: Option<&str>) -> Vec<u8> {
    let outcome = match option {
        Some(option) => json!({"outcome": "selected", "optionId": option}),
        None => json!({"outcome": "cancelled"}),
    };
    encode_response(id, "result", &json!({"outcome": outcome}))
}

pub(crate) fn method_not_found_response(id: RawJson<'_>, method: &str) -> Vec<u8> {
    error_response(id, METHOD_NOT_FOUND_CODE, &format!("ralph does not support {method}"))
}

pub(crate) fn invalid_params_response(id: RawJson<'_>, method: &str) -> Vec<u8> {
    error_response(id, INVALID_PARAMS_CODE, &format!("invalid parameters for {method}"))
}

fn error_response(id: RawJson<'_>, code: i64, message: &str) -> Vec<u8> {
    encode_response(id, "error", &json!({"code": code, "message": message}))
}

fn encode_request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    encode_line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// Returns the id of the request unchanged: a number (0 is valid) or a string. A malformed id is not answered.
fn encode_response(id: RawJson<'_>, member: &str, value: &Value) -> Vec<u8> {
    let Ok(id) = serde_json::from_slice::<&RawValue>(id) else { return Vec::new() };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{value}}}\n").into_bytes()
}

fn encode_line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
