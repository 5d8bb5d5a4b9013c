//! The context of Claude: each message of the main thread reports the tokens of its request, and the final record the size.
use super::stream::SYNTHETIC_MODEL;
use crate::stream::context_use::ContextUse;
use ralph_util::json::{self, JsonCursor, RawJson};

pub(crate) fn read_context_line(line: &[u8], found: &mut ContextUse) {
    let keys = ["type", "parent_tool_use_id", "message", "modelUsage"];
    let [kind, parent, message, model_usage] = json::pick_members_or_none(Some(line), keys);
    match json::as_name(kind) {
        "assistant" if !json::is_set(parent) => read_message(message, found),
        "result" => {
            let size = model_usage.zip(found.model.as_deref()).and_then(|(usage, model)| context_window(usage, model));
            found.size_tokens = size.or(found.size_tokens);
        }
        _ => {}
    }
}

fn read_message(message: Option<RawJson<'_>>, found: &mut ContextUse) {
    let [model, usage] = json::pick_members_or_none(message, ["model", "usage"]);
    let model = json::as_name(model);
    let keys = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens"];
    let counts = json::pick_members_or_none(usage, keys);
    if model.is_empty() || model == SYNTHETIC_MODEL || json::parse_u64(counts[0]).is_none() {
        return;
    }
    let used = counts.into_iter().filter_map(json::parse_u64).fold(0, u64::saturating_add);
    if found.model.as_deref() != Some(model) {
        *found = ContextUse { model: Some(model.to_owned()), ..ContextUse::default() };
    }
    found.used_tokens = Some(used);
}

/// Returns the size for a model. It is named as in its messages, or with a variant after it.
fn context_window(usage: RawJson<'_>, wanted: &str) -> Option<u64> {
    let mut sizes: Vec<u64> = Vec::new();
    let read = JsonCursor::new(usage).visit_object(|cursor, key| {
        let value = cursor.take_raw()?;
        let [size, canonical] = json::pick_members_or_none(Some(value), ["contextWindow", "canonicalModel"]);
        if key == wanted.as_bytes() || json::as_name(canonical) == wanted {
            sizes.extend(json::parse_u64(size));
        }
        Ok(())
    });
    read.ok()?;
    sizes.dedup();
    // Two variants of one model: which of them answers is not known.
    match sizes.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}
