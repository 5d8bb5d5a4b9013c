//! Splits Rust source into code and comments, line by line, and removes the contents of strings. By hand because a Rust
//! parser would discard comments.

/// One line of a Rust file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct SourceLine {
    /// The code, with empty strings and characters.
    pub(crate) code: String,
    /// The contents of string literals, without escape sequences, each with a quotation mark at its end.
    pub(crate) strings: String,
    /// The text of comments, without comment markers.
    pub(crate) comment: String,
}

/// The syntactic context of the lexer.
#[derive(Clone, Copy)]
enum LexerState {
    Code,
    LineComment,
    /// Inside block comments, with their nesting depth.
    BlockComment(usize),
    StringLiteral,
    /// Inside a raw string, with its number of hashes.
    RawString(usize),
}

/// Returns the lines of a Rust file.
pub(crate) fn parse_lines(text: &str) -> Vec<SourceLine> {
    let mut reader = SourceLexer {
        chars: text.chars().collect(),
        position: 0,
        state: LexerState::Code,
        lines: Vec::new(),
        line: SourceLine::default(),
    };
    while reader.position < reader.chars.len() {
        reader.step();
    }
    if !text.ends_with('\n') && !text.is_empty() {
        reader.end_line();
    }
    reader.lines
}

struct SourceLexer {
    chars: Vec<char>,
    position: usize,
    state: LexerState,
    lines: Vec<SourceLine>,
    line: SourceLine,
}

impl SourceLexer {
    fn step(&mut self) {
        if self.chars[self.position] == '\n' {
            if matches!(self.state, LexerState::LineComment) {
                self.state = LexerState::Code;
            }
            self.position += 1;
            return self.end_line();
        }
        match self.state {
            LexerState::Code => self.read_code(),
            LexerState::LineComment => self.push_comment_char(),
            LexerState::BlockComment(depth) => self.read_block_comment(depth),
            LexerState::StringLiteral => self.read_string(),
            LexerState::RawString(hashes) => self.read_raw_string(hashes),
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.lines
            .push(SourceLine { comment: line.comment.trim_matches(['/', '!', '*', ' ', '\t']).to_owned(), ..line });
    }

    fn is_at_text(&self, words: &str) -> bool {
        words.chars().enumerate().all(|(offset, c)| self.chars.get(self.position + offset) == Some(&c))
    }

    fn read_code(&mut self) {
        if self.is_at_text("//") {
            self.state = LexerState::LineComment;
        } else if self.is_at_text("/*") {
            self.state = LexerState::BlockComment(1);
            self.position += 2;
        } else if self.chars[self.position] == '"' {
            self.enter_string(LexerState::StringLiteral, 1);
        } else if let Some((opening, hashes)) = self.raw_string_opening() {
            self.enter_string(LexerState::RawString(hashes), opening);
        } else if let Some(length) = self.char_literal_length() {
            self.line.code.push_str("''");
            self.position += length;
        } else {
            self.push_code_char();
        }
    }

    fn enter_string(&mut self, state: LexerState, opening: usize) {
        self.line.code.push('"');
        self.state = state;
        self.position += opening;
    }

    fn push_code_char(&mut self) {
        self.line.code.push(self.chars[self.position]);
        self.position += 1;
    }

    fn push_string_char(&mut self) {
        self.line.strings.push(self.chars[self.position]);
        self.position += 1;
    }

    fn push_comment_char(&mut self) {
        self.line.comment.push(self.chars[self.position]);
        self.position += 1;
    }

    fn read_block_comment(&mut self, depth: usize) {
        if self.is_at_text("*/") {
            self.state = if depth == 1 { LexerState::Code } else { LexerState::BlockComment(depth - 1) };
            self.position += 2;
        } else if self.is_at_text("/*") {
            self.state = LexerState::BlockComment(depth + 1);
            self.position += 2;
        } else {
            self.push_comment_char();
        }
    }

    fn read_string(&mut self) {
        match self.chars[self.position] {
            // A backslash at the end of a line must not skip the newline.
            '\\' if self.chars.get(self.position + 1) != Some(&'\n') => self.position += 2,
            '"' => self.leave_string(1),
            _ => self.push_string_char(),
        }
    }

    fn read_raw_string(&mut self, hashes: usize) {
        let closing = format!("\"{}", "#".repeat(hashes));
        if self.is_at_text(&closing) { self.leave_string(hashes + 1) } else { self.push_string_char() }
    }

    fn leave_string(&mut self, closing: usize) {
        self.line.code.push('"');
        self.line.strings.push('"');
        self.state = LexerState::Code;
        self.position += closing;
    }

    /// Returns the length of the opening of a raw string, and its number of hashes.
    fn raw_string_opening(&self) -> Option<(usize, usize)> {
        let before = self.position.checked_sub(1).and_then(|at| self.chars.get(at));
        if before.is_some_and(|c| c.is_alphanumeric() && *c != 'b' && *c != 'c' || *c == '_') || !self.is_at_text("r") {
            return None;
        }
        let hashes = self.chars[self.position + 1..].iter().take_while(|c| **c == '#').count();
        (self.chars.get(self.position + 1 + hashes) == Some(&'"')).then_some((hashes + 2, hashes))
    }

    /// Returns the length of a character literal; `None` for a lifetime.
    fn char_literal_length(&self) -> Option<usize> {
        if !self.is_at_text("'") {
            return None;
        }
        let rest = &self.chars[self.position + 1..];
        match rest {
            ['\\', _, tail @ ..] => tail.iter().position(|c| *c == '\'').map(|end| end + 4),
            [_, '\'', ..] => Some(3),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contents_of_strings_are_kept_apart() {
        let strings = |text: &str| parse_lines(text).into_iter().map(|line| line.strings).collect::<Vec<_>>();
        assert_eq!(strings("a(\"x\", r#\"y \"z\"\"#); // \"no\"\n"), ["x\"y \"z\"\""]);
        assert_eq!(strings("\"first \\\n  second\"\n"), ["first \\", "  second\""]);
    }

    #[track_caller]
    fn assert_parsed(text: &str, code: &str, comment: &str) {
        let lines = parse_lines(text);
        let join = |part: fn(&SourceLine) -> &String| lines.iter().map(part).cloned().collect::<Vec<_>>().join("|");
        assert_eq!((join(|line| &line.code).as_str(), join(|line| &line.comment).as_str()), (code, comment));
    }

    #[test]
    fn comments_are_separated_from_code() {
        assert_parsed("let a = 1; // why\n", "let a = 1; ", "why");
        assert_parsed("//! Opens.\nfn a() {}\n", "|fn a() {}", "Opens.|");
        assert_parsed("a /* b /* c */ d */ e\n", "a  e", "b  c  d");
        assert_parsed("a /* b\nc */ d", "a | d", "b|c");
    }

    #[test]
    fn string_contents_are_not_code() {
        assert_parsed(r#"say("todo!() // no \" comment");"#, r#"say("");"#, "");
        assert_parsed("say(r#\"dbg!(\"a\")\"#); b\n", "say(\"\"); b", "");
        assert_parsed("say(\"a\nb\");\n", "say(\"|\");", "|");
    }

    #[test]
    fn characters_and_lifetimes_are_distinguished() {
        assert_parsed("if c == '\"' { x::<'a>() }\n", "if c == '' { x::<'a>() }", "");
        assert_parsed(r"a('\'', '\u{1F}', 'b') // c", "a('', '', '') ", "c");
    }

    #[test]
    fn a_name_that_ends_in_r_does_not_open_a_raw_string() {
        assert_parsed("for x in ver\"a\"", "for x in ver\"\"", "");
    }
}
