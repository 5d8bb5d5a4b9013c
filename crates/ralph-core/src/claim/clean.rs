//! Removes what a terminal would not show as text: colour codes, titles, zero-width and control
//! characters. It works piece by piece, so a code split over two pieces is still removed. Carriage
//! returns stay, because only the whole line tells what they leave visible (see [`visible`]).

use alloc::string::String;

/// Stands in the kept text where the terminal erased the line so far.
const ERASED: &str = "\u{b}";
/// How many bytes are looked at one by one.
const NEAR: usize = 8;
/// A title or link longer than this was never closed, so its end is assumed.
const LONGEST_STRING: usize = 4096;

/// The incremental filter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cleaner {
    state: State,
    after_return: bool,
}

#[derive(Debug, Clone, Default)]
enum State {
    #[default]
    Text,
    Escape,
    /// A control sequence and its first parameter characters.
    Control {
        first: Option<char>,
    },
    /// A title, link or device string.
    Hidden {
        length: usize,
    },
    HiddenEscape,
    /// One more character belongs to the escape.
    Charset,
}

impl Cleaner {
    /// Feeds `text` and hands every visible run to `sink`.
    pub(crate) fn push(&mut self, text: &str, sink: &mut impl FnMut(&str)) {
        let mut rest = text;
        while !rest.is_empty() {
            if matches!(self.state, State::Text) {
                let shown = shown_length(rest);
                self.emit(super::cut(rest, 0..shown), sink);
                rest = super::cut(rest, shown..rest.len());
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { return };
            rest = chars.as_str();
            self.take(c, sink);
        }
    }

    fn emit(&mut self, run: &str, sink: &mut impl FnMut(&str)) {
        if !run.is_empty() {
            self.after_return = false;
            sink(run);
        }
    }

    fn take(&mut self, c: char, sink: &mut impl FnMut(&str)) {
        self.state = match core::mem::take(&mut self.state) {
            State::Text => return self.take_text(c, sink),
            State::Escape => after_escape(c),
            State::Control { first } => return self.take_control(c, first, sink),
            State::Hidden { length } => after_hidden(c, length),
            State::HiddenEscape => {
                if c == '\\' {
                    State::Text
                } else {
                    after_hidden(c, 0)
                }
            }
            State::Charset => State::Text,
        };
        if c == '\n' {
            self.state = State::Text;
            self.emit("\n", sink);
        }
    }

    fn take_text(&mut self, c: char, sink: &mut impl FnMut(&str)) {
        match c {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Control { first: None },
            '\r' => {
                sink("\r");
                self.after_return = true;
            }
            '\u{a0}' | '\u{2007}' | '\u{202f}' => self.emit(" ", sink),
            '\u{85}' | '\u{2028}' | '\u{2029}' => self.emit("\n", sink),
            hidden if is_invisible(hidden) => {}
            shown => {
                let mut buffer = [0; 4];
                let run: &str = shown.encode_utf8(&mut buffer);
                self.emit(run, sink);
            }
        }
    }

    fn take_control(&mut self, c: char, first: Option<char>, sink: &mut impl FnMut(&str)) {
        match c {
            '\u{40}'..='\u{7e}' if erases(c, first, self.after_return) => self.emit(ERASED, sink),
            '\u{40}'..='\u{7e}' => {}
            '\u{20}'..='\u{3f}' => self.state = State::Control { first: first.or(Some(c)) },
            '\u{1b}' => self.state = State::Escape,
            '\n' => self.emit("\n", sink),
            _ => {}
        }
    }
}

/// Tells whether a control sequence wipes what the line shows.
fn erases(last: char, first: Option<char>, after_return: bool) -> bool {
    match (last, first) {
        ('K', Some('1' | '2')) => true,
        ('K', None | Some('0')) => after_return,
        _ => false,
    }
}

fn after_escape(c: char) -> State {
    match c {
        '[' => State::Control { first: None },
        ']' | 'P' | '_' | '^' | 'X' => State::Hidden { length: 0 },
        '(' | ')' | '*' | '+' | '#' | '%' => State::Charset,
        '\u{1b}' => State::Escape,
        _ => State::Text,
    }
}

fn after_hidden(c: char, length: usize) -> State {
    match c {
        '\u{7}' | '\u{9c}' => State::Text,
        '\u{1b}' => State::HiddenEscape,
        _ if length >= LONGEST_STRING => State::Text,
        _ => State::Hidden { length: length + 1 },
    }
}

/// Returns how many bytes can be passed on as they are, in one piece: binary data is full of characters that need a closer look
/// and are shown all the same.
fn shown_length(text: &str) -> usize {
    let mut shown = 0;
    loop {
        let rest = super::cut(text, shown..text.len());
        shown += plain_length(rest.as_bytes());
        match super::cut(text, shown..text.len()).chars().next() {
            Some(c) if is_shown(c) => shown += c.len_utf8(),
            Some(_) | None => return shown,
        }
    }
}

/// Tells whether a character is text that is shown as it is.
fn is_shown(c: char) -> bool {
    match c {
        '\u{1b}' | '\u{9b}' | '\r' => false,
        '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        other => !is_invisible(other),
    }
}

/// Returns how many bytes of plain text stand at the beginning. Whole blocks are tested without branches, so that
/// plain output runs at the speed of memory.
fn plain_length(bytes: &[u8]) -> usize {
    // Where little of it is plain, a whole block would be tested again and again.
    let near = bytes.iter().take(NEAR).position(|byte| is_special(*byte));
    if let Some(near) = near {
        return near;
    }
    let (blocks, _) = bytes.as_chunks::<64>();
    let plain =
        blocks.iter().take_while(|block| !block.iter().fold(false, |any, byte| any | is_special(*byte)));
    let start = plain.count() * 64;
    let rest = bytes.get(start..).unwrap_or(&[]);
    start + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// Tells whether a character starting with this byte may need a closer look.
fn is_special(byte: u8) -> bool {
    let control = (byte < 0x20) & (byte != b'\n') & (byte != b'\t');
    let lead =
        (byte == 0xc2) | (byte == 0xcd) | (byte == 0xd8) | (byte == 0xe1) | (byte == 0xe2) | (byte == 0xef);
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
pub(crate) fn visible(kept: &str) -> String {
    let mut out = String::with_capacity(kept.len());
    for (index, line) in kept.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let line = line.rsplit(ERASED).next().unwrap_or(line).trim_end_matches('\r');
        out.push_str(line.rsplit('\r').next().unwrap_or(line));
    }
    out
}

/// Cleans a whole text at once.
pub(crate) fn clean(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    Cleaner::default().push(text, &mut |run| kept.push_str(run));
    visible(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: S8
    #[test]
    fn colours_titles_and_links_are_removed() {
        assert_eq!(
            clean("\u{1b}[32m<promise>\u{1b}[1mOK\u{1b}[22m</promise>\u{1b}[0m"),
            "<promise>OK</promise>"
        );
        assert_eq!(clean("\u{1b}]0;title\u{7}a\u{1b}]8;;http://x\u{1b}\\b\u{1b}]8;;\u{1b}\\"), "ab");
        assert_eq!(clean("\u{1b}(Ba\u{1b}=b"), "ab");
    }

    // spec: S8
    #[test]
    fn a_carriage_return_starts_the_line_again() {
        assert_eq!(clean("one\r\ntwo\r\n"), "one\ntwo\n");
        assert_eq!(clean("10%\r20%\rdone\n"), "done\n");
        assert_eq!(clean("last\r"), "last");
        assert_eq!(clean("\u{1b}[2Kthinking...\r\u{1b}[2K<p>"), "<p>");
        assert_eq!(clean("thinking...\r\u{1b}[K\nnext"), "\nnext");
    }

    // spec: S8
    #[test]
    fn invisible_characters_are_removed() {
        assert_eq!(clean("\u{feff}\u{200b}a\u{0}b\u{a0}c\u{2060}"), "ab c");
    }

    #[test]
    fn an_open_title_does_not_swallow_the_next_line() {
        assert_eq!(clean("\u{1b}]0;never closed\nnext"), "\nnext");
    }

    // spec: S8
    // fault: 45
    #[test]
    fn what_is_shown_is_passed_on_in_one_piece_whatever_needs_a_closer_look() {
        let mut runs = 0;
        let binary = "\u{fffd}".repeat(100_000) + "é\u{2192}ok";
        Cleaner::default().push(&binary, &mut |run| {
            assert_eq!(run, binary);
            runs += 1;
        });
        assert_eq!(runs, 1);
        assert_eq!(clean("a\u{fffd}\u{a0}b\u{200b}\u{feff}c\u{2028}d"), "a\u{fffd} bc\nd");
    }
}
