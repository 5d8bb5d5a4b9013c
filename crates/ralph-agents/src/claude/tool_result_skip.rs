//! Tool results are most of what an agent prints. Where nobody looks it is enough to know that a record holds
//! nothing else, and that can be seen without reading its strings.
use memchr::memmem::{self, Finder};

/// How such a record begins.
const TOOL_RESULT_RECORD_PREFIX: &[u8] = br#"{"type":"user","message":{"role":"user","content":[{"#;
const TOOL_RESULT_TYPE: &[u8] = br#""type":"tool_result""#;
/// A text block makes the record somebody's words. Inside of a string every quote is escaped, so these bytes
/// are never part of a text.
const TEXT_BLOCK_TYPE: &[u8] = br#""type":"text""#;
/// The kind of a block stands near its beginning.
const BLOCK_TYPE_SEARCH_BYTES: usize = 256;

#[derive(Debug)]
pub(super) struct ToolResultDetector {
    text_block: Finder<'static>,
}

impl Default for ToolResultDetector {
    fn default() -> Self {
        Self { text_block: Finder::new(TEXT_BLOCK_TYPE) }
    }
}

impl ToolResultDetector {
    /// Tells whether a record is surely a tool result and nothing else. Any doubt is a no.
    pub(super) fn is_only_tool_result(&self, line: &[u8]) -> bool {
        let near = line.get(..BLOCK_TYPE_SEARCH_BYTES).unwrap_or(line);
        line.starts_with(TOOL_RESULT_RECORD_PREFIX)
            && line.ends_with(b"}")
            && memmem::find(near, TOOL_RESULT_TYPE).is_some()
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
        assert!(only(&record(result)), "an escaped quotation is no block");
        assert!(!only(&record(&format!(r#"{result},{{"type":"text","text":"go on"}}"#))));
        assert!(!only(&record(r#"{"type":"text","text":"tool_result"}"#)));
        assert!(!only(r#"{"type":"user","message":{"role":"user","content":"tool_result"}}"#));
        assert!(!only(&record(result).replace("user\",\"message", "assistant\",\"message")));
    }
}
