//! Follows code fences through text that arrives in pieces, so that the finder knows whether the part
//! it kept begins inside a code block. It looks at the start of each line and skips the rest.

use alloc::string::String;

use memchr::memchr;

const LONGEST_INFO: usize = 16;
/// Languages whose blocks may show fences of their own.
const NESTING: &[&str] = &["markdown", "md", "mdx", "text", "txt", "prompt"];

/// Where the scan stands.
#[derive(Debug, Clone, Default)]
pub(crate) struct FenceScan {
    open: Option<Open>,
    phase: Phase,
}

#[derive(Debug, Clone)]
struct Open {
    mark: u8,
    length: usize,
    nests: bool,
    depth: usize,
}

#[derive(Debug, Clone, Default)]
enum Phase {
    #[default]
    Indent,
    Run {
        mark: u8,
        length: usize,
    },
    Info {
        mark: u8,
        length: usize,
        info: String,
    },
    Skip,
}

impl FenceScan {
    /// Tells whether the next line is inside a code block.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reads on; `text` may begin and end anywhere.
    pub(crate) fn feed(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            if matches!(self.phase, Phase::Skip) {
                let Some(end) = memchr(b'\n', rest) else { return };
                rest = rest.get(end..).unwrap_or(&[]);
            }
            let Some((byte, after)) = rest.split_first() else { return };
            rest = after;
            self.take(*byte);
        }
    }

    fn take(&mut self, byte: u8) {
        let phase = core::mem::take(&mut self.phase);
        if byte == b'\n' {
            return self.end_line(phase);
        }
        self.phase = match phase {
            Phase::Indent => at_indent(byte),
            Phase::Run { mark, length } if byte == mark => Phase::Run { mark, length: length + 1 },
            Phase::Run { length, .. } if length < 3 => Phase::Skip,
            Phase::Run { mark, length } => in_info(mark, length, String::new(), byte),
            Phase::Info { mark, length, info } => in_info(mark, length, info, byte),
            Phase::Skip => Phase::Skip,
        };
    }

    fn end_line(&mut self, phase: Phase) {
        match phase {
            Phase::Run { mark, length } if length >= 3 => self.mark_line(mark, length, ""),
            Phase::Info { mark, length, info } => self.mark_line(mark, length, info.trim()),
            Phase::Indent | Phase::Run { .. } | Phase::Skip => {}
        }
    }

    fn mark_line(&mut self, mark: u8, length: usize, info: &str) {
        let Some(open) = &mut self.open else {
            let nests = NESTING.iter().any(|name| info.eq_ignore_ascii_case(name));
            self.open = Some(Open { mark, length, nests, depth: 1 });
            return;
        };
        if mark != open.mark || length < open.length {
            return;
        }
        if info.is_empty() {
            open.depth -= 1;
            if open.depth == 0 {
                self.open = None;
            }
        } else if open.nests {
            open.depth += 1;
        }
    }
}

fn at_indent(byte: u8) -> Phase {
    match byte {
        b' ' | b'\t' | b'\r' => Phase::Indent,
        b'`' | b'~' => Phase::Run { mark: byte, length: 1 },
        _ => Phase::Skip,
    }
}

/// A backtick after the opening run makes the line inline code, not a fence.
fn in_info(mark: u8, length: usize, mut info: String, byte: u8) -> Phase {
    if mark == b'`' && byte == b'`' {
        return Phase::Skip;
    }
    if info.len() < LONGEST_INFO {
        info.push(char::from(byte));
    }
    Phase::Info { mark, length, info }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_after(text: &str) -> bool {
        let mut whole = FenceScan::default();
        whole.feed(text);
        let mut pieces = FenceScan::default();
        for index in 0..text.len() {
            pieces.feed(text.get(index..=index).unwrap_or(""));
        }
        assert_eq!(whole.is_open(), pieces.is_open(), "pieces differ: {text}");
        whole.is_open()
    }

    // spec: S3
    #[test]
    fn a_fence_is_open_until_its_own_mark_closes_it() {
        assert!(open_after("```rust\nlet x;\n"));
        assert!(!open_after("```rust\nlet x;\n```\n"));
        assert!(open_after("~~~\n```\n"));
        assert!(open_after("````\n```\n"));
        assert!(!open_after("```inline``` code\n"));
        assert!(!open_after("`` two\n"));
    }

    #[test]
    fn a_markdown_block_may_show_fences() {
        assert!(!open_after("```markdown\n```bash\nls\n```\n```\n"));
    }
}
