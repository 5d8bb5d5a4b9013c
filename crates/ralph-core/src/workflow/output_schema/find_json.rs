//! Finds JSON in the answer of an agent, who often writes text around it.
use alloc::vec::Vec;

use serde_json::Value;

use super::strip_code_fence;

/// Parses an answer that is JSON, or JSON in one code fence.
pub(super) fn parse_whole(answer: &str) -> Option<Value> {
    serde_json::from_str(strip_code_fence(answer)).ok()
}

/// Finds the JSON objects in a text, in order. Objects inside of other objects are part of them. The parser's limit of
/// 128 nested objects is also the limit of how often a part of the text is parsed again.
pub(super) fn find_json_values(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memchr::memchr(b'{', rest.as_bytes())) {
        let rest = text.get(from + at..).unwrap_or_default();
        let mut parsed = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match parsed.next() {
            Some(Ok(value)) => {
                values.push(value);
                from += at + parsed.byte_offset().max(1);
            }
            Some(Err(_)) | None => from += at + 1,
        }
    }
    values
}
