//! Removes what a terminal would not show as text: colour codes, titles, zero-width and control
//! characters. It works piece by piece, so a code split over two pieces is still removed. Carriage
//! returns stay, because only the whole line tells what they leave visible (see [`visible`]).

use alloc::string::String;

/// Stands in the kept text where the terminal erased the line so far.
const ERASED_LINE_MARK: &str = "\u{b}";
/// How many bytes are looked at one by one.
const BYTEWISE_SCAN_BYTES: usize = 8;
/// A title or link longer than this was never closed, so its end is assumed.
const MAX_HIDDEN_STRING_CHARS: usize = 4096;

/// The incremental filter.
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
    /// A control sequence and its first parameter characters.
    ControlSequence {
        first_parameter: Option<char>,
    },
    /// A title, link or device string.
    HiddenString {
        length: usize,
    },
    HiddenStringEscape,
    /// One more character belongs to the escape.
    Charset,
}

impl TerminalFilter {
    /// Feeds `text` and hands every visible run to `sink`.
    pub(crate) fn push(&mut self, text: &str, sink: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(self.state, EscapeState::Text) {
                let shown = visible_prefix_len(rest);
                self.emit_text(super::slice_or_empty(rest, 0..shown), sink);
                rest = super::slice_or_empty(rest, shown..rest.len());
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

/// Tells whether a control sequence wipes what the line shows.
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

/// Returns how many bytes can be passed on as they are, in one piece: binary data is full of characters that need a closer look
/// and are shown all the same.
fn visible_prefix_len(text: &str) -> usize {
    let mut shown = 0;
    loop {
        let rest = super::slice_or_empty(text, shown..text.len());
        shown += plain_prefix_len(rest.as_bytes());
        match super::slice_or_empty(text, shown..text.len()).chars().next() {
            Some(c) if is_plain_char(c) => shown += c.len_utf8(),
            Some(_) | None => return shown,
        }
    }
}

/// Tells whether a character is text that is shown as it is.
fn is_plain_char(c: char) -> bool {
    match c {
        '\u{1b}' | '\u{9b}' | '\r' => false,
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        other => !is_invisible(other),
    }
}

/// Returns how many bytes of plain text stand at the beginning. Whole blocks are tested without branches, so that
/// plain output runs at the speed of memory.
fn plain_prefix_len(bytes: &[u8]) -> usize {
    // Where little of it is plain, a whole block would be tested again and again.
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

/// Tells whether a character starting with this byte may need a closer look.
fn may_need_filtering(byte: u8) -> bool {
    let control = (byte < 0x20) & (byte != b'\n') & (byte != b'\t');
    let lead = (byte == 0xc2) | (byte == 0xcd) | (byte == 0xd8) | (byte == 0xe1) | (byte == 0xe2) | (byte == 0xef);
    control | (byte == 0x7f) | lead
}

/// Tells whether a character is drawn as nothing.
pub(crate) fn is_invisible(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' => false,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fe0e}' | '\u{fe0f}' => true,
        _ => c.is_control(),
    }
}

/// Returns what a terminal shows of text that went through the filter: a carriage return starts the
/// line again, and an erased line is empty.
pub(crate) fn visible_text(kept: &str) -> String {
    let mut out = String::with_capacity(kept.len());
    for (index, line) in kept.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = line.rsplit(ERASED_LINE_MARK).next().unwrap_or(line).trim_end_matches('\r');
        out.push_str(line.rsplit('\r').next().unwrap_or(line));
    }
    out
}

/// Cleans a whole text at once.
pub(crate) fn strip_terminal_codes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    TerminalFilter::default().push(text, &mut |run| kept.push_str(run));
    visible_text(&kept)
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
    fn a_carriage_return_starts_the_line_again() {
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
    fn an_open_title_does_not_swallow_the_next_line() {
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
