//! What is said to the agent: one JSON object a line.
use serde_json::{Value, json, value::RawValue};

use ralph_util::json::Raw;

/// The protocol that is spoken here.
pub(super) const VERSION: u64 = 1;

/// The answer of JSON-RPC to a method that is not there.
const NO_SUCH_METHOD: i64 = -32601;

/// The same to one that is there, with parameters that make no sense.
const BAD_PARAMETERS: i64 = -32602;

/// Neither files nor terminals are offered: agents that are offered them use them instead of the disk.
pub(super) fn initialize(id: u64) -> Vec<u8> {
    let abilities = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    let ralph = json!({"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")});
    let params = json!({"protocolVersion": VERSION, "clientCapabilities": abilities, "clientInfo": ralph});
    request(id, "initialize", &params)
}

pub(super) fn new_session(id: u64, folder: &str) -> Vec<u8> {
    request(id, "session/new", &json!({"cwd": folder, "mcpServers": []}))
}

/// `method` is `session/resume` or `session/load`.
pub(super) fn old_session(id: u64, method: &str, session: &str, folder: &str) -> Vec<u8> {
    request(id, method, &json!({"sessionId": session, "cwd": folder, "mcpServers": []}))
}

pub(super) fn set_option(id: u64, session: &str, option: &str, value: &str) -> Vec<u8> {
    let params = json!({"sessionId": session, "configId": option, "value": value});
    request(id, "session/set_config_option", &params)
}

pub(super) fn set_model(id: u64, session: &str, model: &str) -> Vec<u8> {
    request(id, "session/set_model", &json!({"sessionId": session, "modelId": model}))
}

pub(super) fn prompt(id: u64, session: &str, text: &str) -> Vec<u8> {
    let params = json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
    request(id, "session/prompt", &params)
}

pub(super) fn cancel(session: &str) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}))
}

/// Chooses one of the options that the agent gave; `None` says that the turn is cancelled.
pub(super) fn permission(id: Raw<'_>, option: Option<&str>) -> Vec<u8> {
    let outcome = match option {
        Some(option) => json!({"outcome": "selected", "optionId": option}),
        None => json!({"outcome": "cancelled"}),
    };
    answer(id, "result", &json!({"outcome": outcome}))
}

pub(super) fn refusal(id: Raw<'_>, method: &str) -> Vec<u8> {
    error(id, NO_SUCH_METHOD, &format!("ralph does not offer {method}"))
}

pub(super) fn not_understood(id: Raw<'_>, method: &str) -> Vec<u8> {
    error(id, BAD_PARAMETERS, &format!("ralph does not understand the parameters of this {method}"))
}

fn error(id: Raw<'_>, code: i64, message: &str) -> Vec<u8> {
    answer(id, "error", &json!({"code": code, "message": message}))
}

fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

/// The id is given back as it came: a number, 0 among them, or a string. One that is no JSON is nobody's.
fn answer(id: Raw<'_>, member: &str, value: &Value) -> Vec<u8> {
    let Ok(id) = serde_json::from_slice::<&RawValue>(id) else { return Vec::new() };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{member}\":{value}}}\n").into_bytes()
}

fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}
