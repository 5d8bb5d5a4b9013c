//! Commands: words, operators, comments, keywords, and the ends of the frames that contain commands.
use super::declarations::assigned_name;
use super::frames::{ArithmeticCloser, ArithmeticFrame, CodeFrame, Frame};
use super::scanner::Scanner;
use super::words::{CommandKind, TestWords, is_command_prefix, is_numeric_operator, mark_numbers};
use crate::workflow::references::identifier_len;

/// How far a `((` is searched for its end, to distinguish arithmetic from two parentheses.
const ARITHMETIC_SEARCH_BYTES: usize = 1_024;
/// How far a subscript is searched for its end.
const SUBSCRIPT_SEARCH_BYTES: usize = 256;

impl Scanner<'_> {
    pub fn scan_code(&mut self) {
        let Some(byte) = self.byte(0) else { return };
        match byte {
            b' ' | b'\t' | b'\r' => self.end_word(1),
            b'\n' => self.scan_newline(),
            b'#' if !self.is_in_word() => self.skip_comment(),
            b';' | b'&' | b'|' => self.scan_command_separator(),
            b'(' => self.open_parenthesis(),
            b')' => self.close_parenthesis(),
            b'<' | b'>' => self.scan_redirection(byte),
            b'\\' if self.byte(1) == Some(b'\n') => self.advance(2),
            b'\\' => {
                self.begin_word();
                self.skip_escape();
            }
            b'\'' => {
                self.begin_word();
                self.scan_single_quotes();
            }
            b'"' => {
                self.begin_word();
                self.advance(1);
                self.frames.push(Frame::DoubleQuotes);
            }
            b'`' => {
                self.begin_word();
                self.scan_backquotes(false);
            }
            b'$' => {
                self.begin_word();
                self.scan_dollar();
            }
            b'[' if self.starts_subscript() => self.open_subscript(),
            _ => {
                self.begin_word();
                self.skip_plain();
            }
        }
    }

    /// Skips characters that mean nothing in any context.
    fn skip_plain(&mut self) {
        let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,=+%@~^?*{}!".contains(letter);
        let rest = self.rest();
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let after = rest.get(first..).unwrap_or_default();
        self.advance(first + after.find(|letter| !is_plain(letter)).unwrap_or(after.len()));
    }

    pub fn code_frame(&mut self) -> Option<&mut CodeFrame> {
        match self.frames.last_mut() {
            Some(Frame::Code(code)) => Some(code),
            Some(Frame::DoubleQuotes | Frame::Parameter(_) | Frame::Arithmetic(_) | Frame::HeredocBody { .. })
            | None => None,
        }
    }

    fn is_in_word(&mut self) -> bool {
        self.code_frame().is_some_and(|code| code.word_start.is_some())
    }

    fn begin_word(&mut self) {
        let (at, edits) = (self.at, self.edits.len());
        if let Some(code) = self.code_frame().filter(|code| code.word_start.is_none()) {
            code.word_start = Some(at);
            code.word_first_edit = edits;
        }
    }

    fn end_word(&mut self, separator_bytes: usize) {
        self.finish_word();
        self.advance(separator_bytes);
    }

    fn scan_newline(&mut self) {
        self.end_word(1);
        if let Some(code) = self.code_frame() {
            code.start_command();
        }
        self.start_next_heredoc();
    }

    fn scan_command_separator(&mut self) {
        self.end_word(1);
        if let Some(code) = self.code_frame() {
            code.start_command();
        }
    }

    fn skip_comment(&mut self) {
        let rest = self.rest();
        self.advance(memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len()));
    }

    /// Ends the current word and learns from it what the next words are.
    pub fn finish_word(&mut self) {
        let (text, at, edits) = (self.text, self.at, self.edits.len());
        let frame_index = self.frames.len().saturating_sub(1);
        let Some(code) = self.code_frame() else { return };
        let Some(start) = code.word_start.take() else { return };
        let word = text.get(start..at).unwrap_or_default();
        let first_edit = code.word_first_edit;
        if !code.has_commands {
            if !code.has_text_keys {
                self.check_element(start..at);
            }
            return;
        }
        if code.command == CommandKind::Let && !code.is_command_start {
            self.guard_let_word(start, word);
            return;
        }
        if let Some(test) = code.test {
            let compared;
            let marked = if is_numeric_operator(word) {
                code.test = Some(TestWords { previous_first_edit: first_edit, is_right_side: true, ..test });
                compared = Some((test.previous_start, test.previous_end));
                test.previous_first_edit..first_edit
            } else if test.is_name {
                code.test = Some(TestWords { is_name: false, ..test });
                self.check_tested_name(start..at);
                return;
            } else {
                let next = TestWords {
                    previous_first_edit: first_edit,
                    previous_start: start,
                    previous_end: at,
                    is_right_side: false,
                    is_name: matches!(word, "-v" | "-R"),
                };
                code.test = (word != "]]").then_some(next);
                compared = test.is_right_side.then_some((start, at));
                if test.is_right_side { first_edit..edits } else { 0..0 }
            };
            mark_numbers(self.edits.get_mut(marked).unwrap_or_default(), frame_index);
            if let Some((start, end)) = compared {
                self.guard_compared_name(start, end);
            }
            return;
        }
        let is_argument = !code.is_command_start;
        code.classify_word(word, edits);
        if is_argument {
            self.check_name_word(start..at);
        } else {
            self.guard_assignment(start, word);
        }
        if let Some(code) = self.code_frame() {
            code.remember_word(start..at, word);
        }
    }

    fn open_parenthesis(&mut self) {
        if self.code_frame().is_some_and(|code| code.test.is_some()) {
            self.end_word(1);
            return;
        }
        let is_array = self.at > 0 && self.is_in_word() && self.text.as_bytes().get(self.at - 1) == Some(&b'=');
        let is_command_start = self.code_frame().is_some_and(|code| code.is_command_start && code.word_start.is_none());
        if is_command_start && self.byte(1) == Some(b'(') && self.is_arithmetic(2) {
            self.advance(2);
            self.open_arithmetic(ArithmeticCloser::DoubleParenthesis, false);
            return;
        }
        let has_text_keys = is_array && self.is_associative_word();
        if !is_array {
            self.finish_word();
        }
        self.advance(1);
        self.frames.push(Frame::Code(CodeFrame { has_text_keys, ..CodeFrame::new(true, !is_array) }));
    }

    /// Whether the current word assigns to an associative array.
    fn is_associative_word(&mut self) -> bool {
        let (text, at) = (self.text, self.at);
        let start = self.code_frame().and_then(|code| code.word_start);
        let word = start.and_then(|start| text.get(start..at)).unwrap_or_default();
        assigned_name(word).is_some_and(|(name, _)| self.declarations.is_associative(name))
    }

    fn close_parenthesis(&mut self) {
        self.end_word(1);
        let Some(code) = self.code_frame() else { return };
        if code.test.is_some() {
            return;
        }
        if code.case_depth > 0 || !code.has_closer {
            // The end of a pattern of `case`.
            code.start_command();
            return;
        }
        let closed = self.frames.pop();
        if let Some(Frame::Code(closed)) = closed {
            self.close_number_check(closed.output);
        }
        // After a subshell or the `()` of a function; a substitution is part of a word.
        if let Some(code) = self.code_frame().filter(|code| code.word_start.is_none()) {
            code.start_command();
        }
    }

    fn scan_redirection(&mut self, byte: u8) {
        match (byte, self.byte(1), self.byte(2)) {
            (b'<', Some(b'<'), Some(b'<')) => self.end_word(3),
            (b'<', Some(b'<'), _) => {
                self.finish_word();
                self.read_heredoc_operator();
            }
            (_, Some(b'('), _) => {
                self.begin_word();
                self.advance(2);
                self.frames.push(Frame::Code(CodeFrame::new(true, true)));
            }
            // `>&2` and `>|file` do not end the command.
            (_, Some(b'&' | b'|'), _) => self.end_word(2),
            _ => self.end_word(1),
        }
    }

    /// Whether a `[` after the name of a variable starts the subscript of an assignment.
    fn starts_subscript(&mut self) -> bool {
        let (text, at) = (self.text, self.at);
        let Some(code) = self.code_frame().filter(|code| code.is_command_start) else { return false };
        let Some(name) = code.word_start.and_then(|start| text.get(start..at)) else { return false };
        if name.is_empty() || identifier_len(name) != name.len() {
            return false;
        }
        let rest = self.rest().as_bytes();
        let near = rest.get(..rest.len().min(SUBSCRIPT_SEARCH_BYTES)).unwrap_or_default();
        let end = near.windows(2).position(|pair| pair == b"]=" || pair == b"]+");
        end.is_some_and(|end| !near.get(..end).unwrap_or_default().contains(&b'\n'))
    }

    fn open_subscript(&mut self) {
        let (text, at) = (self.text, self.at);
        let start = self.code_frame().and_then(|code| code.word_start);
        let name = start.and_then(|start| text.get(start..at)).unwrap_or_default();
        let is_key = self.declarations.is_associative(name);
        self.advance(1);
        self.open_arithmetic(ArithmeticCloser::Bracket, is_key);
    }

    pub fn open_arithmetic(&mut self, closer: ArithmeticCloser, is_key: bool) {
        if !is_key {
            self.guard_bare_names(closer);
        }
        self.frames.push(Frame::Arithmetic(ArithmeticFrame { closer, depth: 0, is_key }));
    }

    /// Whether the parentheses that are open `distance` bytes from here end with `))`.
    pub fn is_arithmetic(&self, distance: usize) -> bool {
        let rest = self.rest().as_bytes().get(distance..).unwrap_or_default();
        let near = rest.get(..rest.len().min(ARITHMETIC_SEARCH_BYTES)).unwrap_or_default();
        let mut depth = 0_usize;
        let mut quote = None;
        let mut is_escaped = false;
        for (index, byte) in near.iter().enumerate() {
            if core::mem::take(&mut is_escaped) {
                continue;
            }
            match (quote, byte) {
                (_, b'\\') if quote != Some(&b'\'') => is_escaped = true,
                (Some(open), byte) if open == byte => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(byte),
                (None, b'(') => depth += 1,
                (None, b')') if depth == 0 => return near.get(index + 1) == Some(&b')'),
                (None, b')') => depth -= 1,
                (None, _) => {}
            }
        }
        true
    }
}

impl CodeFrame {
    fn classify_word(&mut self, word: &str, edits: usize) {
        if matches!(self.command, CommandKind::Declare | CommandKind::DeclareInteger) {
            if let Some(options) = word.strip_prefix('-') {
                self.declare_options.is_array |= options.contains(['a', 'A']);
                self.declare_options.is_reference |= options.contains('n');
            }
            if is_integer_option(word) {
                self.command = CommandKind::DeclareInteger;
            }
        }
        if !self.is_command_start {
            // After `in` of a `case`, the next word is a pattern or `esac`.
            self.is_command_start = self.case_depth > 0 && word == "in";
            return;
        }
        self.is_command_start = is_command_prefix(word) || assigned_name(word).is_some();
        self.declare_options.is_export = word == "export";
        match word {
            "case" => self.case_depth += 1,
            "esac" => self.case_depth = self.case_depth.saturating_sub(1),
            "[[" => self.test = Some(TestWords { previous_first_edit: edits, ..TestWords::default() }),
            _ => self.command = CommandKind::from_name(word),
        }
    }
}

/// `-i` alone or with other options.
fn is_integer_option(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| letters.contains('i') && letters.bytes().all(|b| b.is_ascii_alphabetic()))
}
