//! Detects records that contain only tool results, without decoding their strings. Tool results are most of an agent's
//! output, and they can be skipped when nothing is displayed.
use memchr::memmem::{self, Finder};

/// The start of a tool result record.
const TOOL_RESULT_RECORD_PREFIX: &[u8] = br#"{"type":"user","message":{"role":"user","content":[{"#;
const TOOL_RESULT_TYPE: &[u8] = br#""type":"tool_result""#;
/// A record with a text block is also a prompt. Quotes inside a JSON string are escaped, so these bytes never occur
/// within a string.
const TEXT_BLOCK_TYPE: &[u8] = br#""type":"text""#;
/// The type of the first block is within this many bytes.
const BLOCK_TYPE_SEARCH_BYTES: usize = 256;

#[derive(Debug)]
pub(crate) struct ToolResultDetector {
    text_block: Finder<'static>,
}

impl Default for ToolResultDetector {
    fn default() -> Self {
        Self { text_block: Finder::new(TEXT_BLOCK_TYPE) }
    }
}

impl ToolResultDetector {
    /// Returns whether a record certainly contains only a tool result. Returns `false` in case of doubt.
    pub(crate) fn is_only_tool_result(&self, line: &[u8]) -> bool {
        let head = line.get(..BLOCK_TYPE_SEARCH_BYTES).unwrap_or(line);
        line.starts_with(TOOL_RESULT_RECORD_PREFIX)
            && line.ends_with(b"}")
            && memmem::find(head, TOOL_RESULT_TYPE).is_some()
            && self.text_block.find(line).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: F2, S2
    #[test]
    fn a_record_with_text_in_it_is_never_skipped() {
        let only = |line: &str| ToolResultDetector::default().is_only_tool_result(line.as_bytes());
        let result = r#"{"tool_use_id":"t","type":"tool_result","content":"say \"type\":\"text\" {"}"#;
        let record = |blocks: &str| format!(r#"{{"type":"user","message":{{"role":"user","content":[{blocks}]}}}}"#);
        assert!(only(&record(result)), "an escaped quotation is not a block");
        assert!(!only(&record(&format!(r#"{result},{{"type":"text","text":"continue"}}"#))));
        assert!(!only(&record(r#"{"type":"text","text":"tool_result"}"#)));
        assert!(!only(r#"{"type":"user","message":{"role":"user","content":"tool_result"}}"#));
        assert!(!only(&record(result).replace("user\",\"message", "assistant\",\"message")));
    }
}
