//! Removes output that a terminal does not show as text: colour codes, titles, zero-width and control characters.
//! A code that is split across two pieces is still removed. Carriage returns stay until the whole line is known, see
//! [`visible_text`]. Hand-written because the result must not depend on how the stream is split into pieces.

use alloc::string::String;

/// Marks the place in the filtered text where the terminal erased the line.
const ERASED_LINE_MARK: &str = "\u{b}";
/// How many bytes are checked one by one before whole blocks are checked.
const BYTEWISE_SCAN_BYTES: usize = 8;
/// A longer title or link was probably never closed, so it ends here.
const MAX_HIDDEN_STRING_CHARS: usize = 4096;

/// Filters terminal output incrementally.
#[derive(Debug, Clone, Default)]
pub(crate) struct TerminalFilter {
    state: EscapeState,
    is_after_carriage_return: bool,
}

#[derive(Debug, Clone, Default)]
enum EscapeState {
    #[default]
    Text,
    Escape,
    /// Inside a control sequence, with its first parameter character.
    ControlSequence {
        first_parameter: Option<char>,
    },
    /// Inside a title, link or device string.
    HiddenString {
        length: usize,
    },
    HiddenStringEscape,
    /// One more character belongs to the escape sequence.
    Charset,
}

impl TerminalFilter {
    /// Filters `text` and passes every visible run to `sink`.
    pub(crate) fn push(&mut self, text: &str, sink: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(self.state, EscapeState::Text) {
                let shown = visible_prefix_len(rest);
                self.emit_text(crate::claim::slice_or_empty(rest, 0..shown), sink);
                rest = crate::claim::slice_or_empty(rest, shown..rest.len());
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { return };
            rest = chars.as_str();
            self.take_char(c, sink);
        }
    }

    fn emit_text(&mut self, run: &str, sink: &mut impl FnMut(&str)) {
        if !run.is_empty() {
            self.is_after_carriage_return = false;
            sink(run);
        }
    }

    fn take_char(&mut self, c: char, sink: &mut impl FnMut(&str)) {
        self.state = match core::mem::take(&mut self.state) {
            EscapeState::Text => return self.take_text_char(c, sink),
            EscapeState::Escape => state_after_escape(c),
            EscapeState::ControlSequence { first_parameter: first } => {
                return self.take_control_char(c, first, sink);
            }
            EscapeState::HiddenString { length } => state_in_hidden_string(c, length),
            EscapeState::HiddenStringEscape => {
                if c == '\\' {
                    EscapeState::Text
                } else {
                    state_in_hidden_string(c, 0)
                }
            }
            EscapeState::Charset => EscapeState::Text,
        };
        if c == '\n' {
            self.state = EscapeState::Text;
            self.emit_text("\n", sink);
        }
    }

    fn take_text_char(&mut self, c: char, sink: &mut impl FnMut(&str)) {
        match c {
            '\u{1b}' => self.state = EscapeState::Escape,
            '\u{9b}' => self.state = EscapeState::ControlSequence { first_parameter: None },
            '\r' => {
                sink("\r");
                self.is_after_carriage_return = true;
            }
            '\u{a0}' | '\u{2007}' | '\u{202f}' => self.emit_text(" ", sink),
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.emit_text("\n", sink),
            hidden if is_invisible(hidden) => {}
            shown => {
                let mut buffer = [0; 4];
                let run: &str = shown.encode_utf8(&mut buffer);
                self.emit_text(run, sink);
            }
        }
    }

    fn take_control_char(&mut self, c: char, first: Option<char>, sink: &mut impl FnMut(&str)) {
        match c {
            '\u{40}'..='\u{7e}' if is_line_erase(c, first, self.is_after_carriage_return) => {
                self.emit_text(ERASED_LINE_MARK, sink);
            }
            '\u{40}'..='\u{7e}' => {}
            '\u{20}'..='\u{3f}' => self.state = EscapeState::ControlSequence { first_parameter: first.or(Some(c)) },
            '\u{1b}' => self.state = EscapeState::Escape,
            '\n' => self.emit_text("\n", sink),
            _ => {}
        }
    }
}

/// Returns whether a control sequence erases the visible text of the line.
fn is_line_erase(last: char, first: Option<char>, after_return: bool) -> bool {
    match (last, first) {
        ('K', Some('1' | '2')) => true,
        ('K', None | Some('0')) => after_return,
        _ => false,
    }
}

fn state_after_escape(c: char) -> EscapeState {
    match c {
        '[' => EscapeState::ControlSequence { first_parameter: None },
        ']' | 'P' | '_' | '^' | 'X' => EscapeState::HiddenString { length: 0 },
        '(' | ')' | '*' | '+' | '#' | '%' => EscapeState::Charset,
        '\u{1b}' => EscapeState::Escape,
        _ => EscapeState::Text,
    }
}

fn state_in_hidden_string(c: char, length: usize) -> EscapeState {
    match c {
        '\u{7}' | '\u{9c}' => EscapeState::Text,
        '\u{1b}' => EscapeState::HiddenStringEscape,
        _ if length >= MAX_HIDDEN_STRING_CHARS => EscapeState::Text,
        _ => EscapeState::HiddenString { length: length + 1 },
    }
}

/// Returns how many bytes can be passed on unchanged as one run. Binary data has many characters that
/// [`may_need_filtering`] reports but that are visible.
fn visible_prefix_len(text: &str) -> usize {
    let mut shown = 0;
    loop {
        let rest = crate::claim::slice_or_empty(text, shown..text.len());
        shown += plain_prefix_len(rest.as_bytes());
        match crate::claim::slice_or_empty(text, shown..text.len()).chars().next() {
            Some(c) if is_plain_char(c) => shown += c.len_utf8(),
            Some(_) | None => return shown,
        }
    }
}

/// Returns whether a character is shown unchanged.
fn is_plain_char(c: char) -> bool {
    match c {
        '\u{1b}' | '\u{9b}' | '\r' => false,
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        other => !is_invisible(other),
    }
}

/// Returns how many bytes at the start are plain text. Whole blocks are tested without branches, because most output
/// is plain.
fn plain_prefix_len(bytes: &[u8]) -> usize {
    // In text with few plain bytes, the same block would otherwise be tested repeatedly.
    let near = bytes.iter().take(BYTEWISE_SCAN_BYTES).position(|byte| may_need_filtering(*byte));
    if let Some(near) = near {
        return near;
    }
    let (blocks, _) = bytes.as_chunks::<64>();
    let plain =
        blocks.iter().take_while(|block| !block.iter().fold(false, |any, byte| any | may_need_filtering(*byte)));
    let start = plain.count() * 64;
    let rest = bytes.get(start..).unwrap_or(&[]);
    start + rest.iter().position(|byte| may_need_filtering(*byte)).unwrap_or(rest.len())
}

/// Returns whether a character that starts with this byte may have to be filtered.
fn may_need_filtering(byte: u8) -> bool {
    let control = (byte < 0x20) & (byte != b'\n') & (byte != b'\t');
    let lead = (byte == 0xc2) | (byte == 0xcd) | (byte == 0xd8) | (byte == 0xe1) | (byte == 0xe2) | (byte == 0xef);
    control | (byte == 0x7f) | lead
}

/// Returns whether a terminal draws nothing for a character.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' => false,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fe0e}' | '\u{fe0f}' => true,
        _ => c.is_control(),
    }
}

/// Returns the text that a terminal shows for filtered text: a carriage return restarts the line, and an erased line is
/// empty.
pub(crate) fn visible_text(filtered: &str) -> String {
    let mut out = String::with_capacity(filtered.len());
    for (index, line) in filtered.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = line.rsplit(ERASED_LINE_MARK).next().unwrap_or(line).trim_end_matches('\r');
        out.push_str(line.rsplit('\r').next().unwrap_or(line));
    }
    out
}

/// Removes terminal codes from a complete text.
pub(crate) fn strip_terminal_codes(text: &str) -> String {
    let mut filtered = String::with_capacity(text.len());
    TerminalFilter::default().push(text, &mut |run| filtered.push_str(run));
    visible_text(&filtered)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S8
    #[test]
    fn colours_titles_and_links_are_removed() {
        assert_eq!(
            strip_terminal_codes("\u{1b}[32m<promise>\u{1b}[1mOK\u{1b}[22m</promise>\u{1b}[0m"),
            "<promise>OK</promise>"
        );
        assert_eq!(strip_terminal_codes("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b\u{1b}]8;;\u{1b}\\"), "ab");
        assert_eq!(strip_terminal_codes("\u{1b}(Ba\u{1b}=b"), "ab");
    }

    // spec: S8
    #[test]
    fn a_carriage_return_restarts_the_line() {
        assert_eq!(strip_terminal_codes("one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(strip_terminal_codes("10%\r20%\rdone\n"), "done\n");
        assert_eq!(strip_terminal_codes("last\r"), "last");
        assert_eq!(strip_terminal_codes("\u{1b}[2Kthinking...\r\u{1b}[2K<p>"), "<p>");
        assert_eq!(strip_terminal_codes("thinking...\r\u{1b}[K\nnext"), "\nnext");
    }

    // spec: S8
    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(strip_terminal_codes("\u{feff}\u{200b}a\u{0}b\u{a0}c\u{2060}"), "ab c");
    }

    #[test]
    fn an_unclosed_title_does_not_hide_the_next_line() {
        assert_eq!(strip_terminal_codes("\u{1b}]0;never closed\nnext"), "\nnext");
    }

    // spec: S8
    // fault: 45
    #[test]
    fn visible_text_is_passed_on_in_one_piece() {
        let mut runs = 0;
        let binary = "\u{fffd}".repeat(100_000) + "é\u{2192}ok";
        TerminalFilter::default().push(&binary, &mut |run| {
            assert_eq!(run, binary);
            runs += 1;
        });
        assert_eq!(runs, 1);
        assert_eq!(strip_terminal_codes("a\u{fffd}\u{a0}b\u{200b}\u{feff}c\u{2028}d"), "a\u{fffd} bc\nd");
    }
}
