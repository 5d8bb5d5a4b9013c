//! Parts Rust text into code and comments, line by line. It knows just enough of the language not to take a word in
//! a string for code; what strings hold is left out of the code.

/// One line of a Rust file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line {
    /// The code, its strings and characters emptied.
    pub(crate) code: String,
    /// What stands in comments, without their marks.
    pub(crate) comment: String,
}

/// Where the reader is.
#[derive(Clone, Copy)]
enum Place {
    Code,
    LineComment,
    /// So deep inside block comments.
    BlockComment(usize),
    Text,
    /// A raw string that ends with a quote and so many hashes.
    RawText(usize),
}

/// Returns the lines of a Rust file.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    let mut reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        place: Place::Code,
        done: Vec::new(),
        line: Line::default(),
    };
    while reader.at < reader.chars.len() {
        reader.step();
    }
    if !text.ends_with('\n') && !text.is_empty() {
        reader.end_line();
    }
    reader.done
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    place: Place,
    done: Vec<Line>,
    line: Line,
}

impl Reader {
    fn step(&mut self) {
        if self.chars[self.at] == '\n' {
            if matches!(self.place, Place::LineComment) {
                self.place = Place::Code;
            }
            self.at += 1;
            return self.end_line();
        }
        match self.place {
            Place::Code => self.code(),
            Place::LineComment => self.comment(),
            Place::BlockComment(depth) => self.block_comment(depth),
            Place::Text => self.text(),
            Place::RawText(hashes) => self.raw_text(hashes),
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        self.done
            .push(Line { comment: line.comment.trim_matches(['/', '!', '*', ' ', '\t']).to_owned(), ..line });
    }

    fn sees(&self, words: &str) -> bool {
        words.chars().enumerate().all(|(offset, c)| self.chars.get(self.at + offset) == Some(&c))
    }

    fn code(&mut self) {
        if self.sees("//") {
            self.place = Place::LineComment;
        } else if self.sees("/*") {
            self.place = Place::BlockComment(1);
            self.at += 2;
        } else if self.chars[self.at] == '"' {
            self.enter(Place::Text, 1);
        } else if let Some((opening, hashes)) = self.raw_opening() {
            self.enter(Place::RawText(hashes), opening);
        } else if let Some(length) = self.character() {
            self.line.code.push_str("''");
            self.at += length;
        } else {
            self.keep();
        }
    }

    fn enter(&mut self, place: Place, opening: usize) {
        self.line.code.push('"');
        self.place = place;
        self.at += opening;
    }

    fn keep(&mut self) {
        self.line.code.push(self.chars[self.at]);
        self.at += 1;
    }

    fn comment(&mut self) {
        self.line.comment.push(self.chars[self.at]);
        self.at += 1;
    }

    fn block_comment(&mut self, depth: usize) {
        if self.sees("*/") {
            self.place = if depth == 1 { Place::Code } else { Place::BlockComment(depth - 1) };
            self.at += 2;
        } else if self.sees("/*") {
            self.place = Place::BlockComment(depth + 1);
            self.at += 2;
        } else {
            self.comment();
        }
    }

    fn text(&mut self) {
        match self.chars[self.at] {
            // A backslash before the end of the line must not swallow it.
            '\\' if self.chars.get(self.at + 1) != Some(&'\n') => self.at += 2,
            '"' => self.leave(1),
            _ => self.at += 1,
        }
    }

    fn raw_text(&mut self, hashes: usize) {
        let closing = format!("\"{}", "#".repeat(hashes));
        if self.sees(&closing) { self.leave(hashes + 1) } else { self.at += 1 }
    }

    fn leave(&mut self, closing: usize) {
        self.line.code.push('"');
        self.place = Place::Code;
        self.at += closing;
    }

    /// Returns the length of the opening of a raw string and its number of hashes.
    fn raw_opening(&self) -> Option<(usize, usize)> {
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        if before.is_some_and(|c| c.is_alphanumeric() && *c != 'b' && *c != 'c' || *c == '_')
            || !self.sees("r")
        {
            return None;
        }
        let hashes = self.chars[self.at + 1..].iter().take_while(|c| **c == '#').count();
        (self.chars.get(self.at + 1 + hashes) == Some(&'"')).then_some((hashes + 2, hashes))
    }

    /// Returns the length of a character literal; a lifetime is none.
    fn character(&self) -> Option<usize> {
        if !self.sees("'") {
            return None;
        }
        let rest = &self.chars[self.at + 1..];
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

    #[track_caller]
    fn check(text: &str, code: &str, comment: &str) {
        let lines = lines(text);
        let join = |part: fn(&Line) -> &String| lines.iter().map(part).cloned().collect::<Vec<_>>().join("|");
        assert_eq!((join(|line| &line.code).as_str(), join(|line| &line.comment).as_str()), (code, comment));
    }

    #[test]
    fn comments_are_apart_from_code() {
        check("let a = 1; // why\n", "let a = 1; ", "why");
        check("//! Opens.\nfn a() {}\n", "|fn a() {}", "Opens.|");
        check("a /* b /* c */ d */ e\n", "a  e", "b  c  d");
        check("a /* b\nc */ d", "a | d", "b|c");
    }

    #[test]
    fn what_strings_hold_is_no_code() {
        check(r#"say("todo!() // no \" comment");"#, r#"say("");"#, "");
        check("say(r#\"dbg!(\"a\")\"#); b\n", "say(\"\"); b", "");
        check("say(\"a\nb\");\n", "say(\"|\");", "|");
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        check("if c == '\"' { x::<'a>() }\n", "if c == '' { x::<'a>() }", "");
        check(r"a('\'', '\u{1F}', 'b') // c", "a('', '', '') ", "c");
    }

    #[test]
    fn a_name_that_ends_in_r_opens_no_raw_string() {
        check("for x in ver\"a\"", "for x in ver\"\"", "");
    }
}
