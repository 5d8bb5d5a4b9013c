//! Tracks code fences in text that arrives in pieces, so that the finder knows whether a message tail starts inside a
//! code block. Only the start of each line is scanned.
//! Hand-written because Markdown parsers need the whole text, and the start of a long message is no longer in memory.

use alloc::string::String;

use memchr::memchr;

const MAX_INFO_STRING_BYTES: usize = 16;
/// Languages whose code blocks may contain nested fences.
const NESTING_LANGUAGES: &[&str] = &["markdown", "md", "mdx", "text", "txt", "prompt"];

/// The state of the scan.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeBlockScanner {
    open_block: Option<OpenCodeBlock>,
    line_phase: LinePhase,
}

#[derive(Debug, Clone)]
struct OpenCodeBlock {
    mark: u8,
    length: usize,
    nests: bool,
    depth: usize,
}

#[derive(Debug, Clone, Default)]
enum LinePhase {
    #[default]
    Indent,
    MarkerRun {
        mark: u8,
        length: usize,
    },
    InfoString {
        mark: u8,
        length: usize,
        info: String,
    },
    SkippedLine,
}

impl CodeBlockScanner {
    /// Returns whether the next line is inside a code block.
    pub(crate) fn is_open(&self) -> bool {
        self.open_block.is_some()
    }

    /// Scans the next piece of text, which may start and end in the middle of a line.
    pub(crate) fn scan_text(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            if matches!(self.line_phase, LinePhase::SkippedLine) {
                let Some(end) = memchr(b'\n', rest) else { return };
                rest = rest.get(end..).unwrap_or(&[]);
            }
            let Some((byte, after)) = rest.split_first() else { return };
            rest = after;
            self.scan_byte(*byte);
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        let phase = core::mem::take(&mut self.line_phase);
        if byte == b'\n' {
            return self.end_line(phase);
        }
        self.line_phase = match phase {
            LinePhase::Indent => phase_after_indent(byte),
            LinePhase::MarkerRun { mark, length } if byte == mark => LinePhase::MarkerRun { mark, length: length + 1 },
            LinePhase::MarkerRun { length, .. } if length < 3 => LinePhase::SkippedLine,
            LinePhase::MarkerRun { mark, length } => phase_in_info_string(mark, length, String::new(), byte),
            LinePhase::InfoString { mark, length, info } => phase_in_info_string(mark, length, info, byte),
            LinePhase::SkippedLine => LinePhase::SkippedLine,
        };
    }

    fn end_line(&mut self, phase: LinePhase) {
        match phase {
            LinePhase::MarkerRun { mark, length } if length >= 3 => self.handle_marker_line(mark, length, ""),
            LinePhase::InfoString { mark, length, info } => self.handle_marker_line(mark, length, info.trim()),
            LinePhase::Indent | LinePhase::MarkerRun { .. } | LinePhase::SkippedLine => {}
        }
    }

    fn handle_marker_line(&mut self, mark: u8, length: usize, info: &str) {
        let Some(open) = &mut self.open_block else {
            let nests = NESTING_LANGUAGES.iter().any(|name| info.eq_ignore_ascii_case(name));
            self.open_block = Some(OpenCodeBlock { mark, length, nests, depth: 1 });
            return;
        };
        if mark != open.mark || length < open.length {
            return;
        }
        // Some agents print a tag right behind the closing fence.
        if info.is_empty() || info.starts_with('<') {
            open.depth -= 1;
            if open.depth == 0 {
                self.open_block = None;
            }
        } else if open.nests {
            open.depth += 1;
        }
    }
}

fn phase_after_indent(byte: u8) -> LinePhase {
    match byte {
        b' ' | b'\t' | b'\r' => LinePhase::Indent,
        b'`' | b'~' => LinePhase::MarkerRun { mark: byte, length: 1 },
        _ => LinePhase::SkippedLine,
    }
}

/// A backtick after the opening run makes the line inline code, not a fence.
fn phase_in_info_string(mark: u8, length: usize, mut info: String, byte: u8) -> LinePhase {
    if mark == b'`' && byte == b'`' {
        return LinePhase::SkippedLine;
    }
    if info.len() < MAX_INFO_STRING_BYTES {
        info.push(char::from(byte));
    }
    LinePhase::InfoString { mark, length, info }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open_after(text: &str) -> bool {
        let mut whole = CodeBlockScanner::default();
        whole.scan_text(text);
        let mut pieces = CodeBlockScanner::default();
        for index in 0..text.len() {
            pieces.scan_text(text.get(index..=index).unwrap_or(""));
        }
        assert_eq!(whole.is_open(), pieces.is_open(), "pieces differ: {text}");
        whole.is_open()
    }

    // spec: S3
    #[test]
    fn a_code_block_is_open_until_its_own_marker_closes_it() {
        assert!(is_open_after("```rust\nlet x;\n"));
        assert!(!is_open_after("```rust\nlet x;\n```\n"));
        assert!(is_open_after("~~~\n```\n"));
        assert!(is_open_after("````\n```\n"));
        assert!(!is_open_after("```inline``` code\n"));
        assert!(!is_open_after("`` two\n"));
    }

    #[test]
    fn a_markdown_block_may_contain_nested_fences() {
        assert!(!is_open_after("```markdown\n```bash\nls\n```\n```\n"));
    }
}
