//! Here-documents: `<<EOF`, `<<'EOF'` and `<<-EOF`.
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::edits::{Edit, Replacement, heredoc_expansion};
use super::frames::Frame;
use super::scanner::Scanner;
use super::{ScriptReference, UnexpandedVariable};
use crate::workflow::references::{TextReference, find_unbraced_references};
use crate::workflow::variables::WorkflowVariable;

/// Here-documents inside each other. Each level reads its text again, so that deeper ones are not searched for their end.
const MAX_NESTED_BODIES: usize = 32;

/// A here-document whose body has not begun.
pub(super) struct Heredoc {
    /// The delimiter as it is written, with its quotes.
    word: Range<usize>,
    delimiter: String,
    /// Whether the shell takes the body as it is.
    is_quoted: bool,
    strips_tabs: bool,
}

/// Where the body of a here-document ends, and where the script continues.
struct BodyEnd {
    delimiter: Range<usize>,
    resume_at: usize,
}

impl BodyEnd {
    /// The end of a body without a delimiter.
    fn at(limit: usize) -> Self {
        Self { delimiter: limit..limit, resume_at: limit }
    }
}

impl Scanner<'_> {
    /// Reads `<<WORD`. The scanner is at the first `<`.
    pub fn read_heredoc_operator(&mut self) {
        self.at += 2;
        let strips_tabs = self.byte(0) == Some(b'-');
        self.at += usize::from(strips_tabs);
        while matches!(self.byte(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let start = self.at;
        let (delimiter, is_quoted) = self.read_delimiter();
        if delimiter.is_empty() && !is_quoted {
            return;
        }
        let heredoc = Heredoc { word: start..self.at, delimiter, is_quoted, strips_tabs };
        if let Some(Frame::Code(code)) = self.frames.last_mut() {
            code.pending.push_back(heredoc);
        }
    }

    /// Reads the delimiter and removes its quotes. Returns whether it had some.
    fn read_delimiter(&mut self) -> (String, bool) {
        let mut delimiter = String::new();
        let mut is_quoted = false;
        loop {
            let rest = self.rest();
            let Some(letter) = rest.chars().next() else { break };
            match letter {
                '\'' | '"' => {
                    is_quoted = true;
                    let inside = rest.get(1..).unwrap_or_default();
                    let length = inside.find(letter).unwrap_or(inside.len());
                    delimiter.push_str(inside.get(..length).unwrap_or_default());
                    self.at = (self.at + length + 2).min(self.limit);
                }
                '\\' => {
                    is_quoted = true;
                    let escaped = rest.chars().nth(1);
                    delimiter.extend(escaped);
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                _ if letter.is_ascii_whitespace() || ";&|<>()".contains(letter) => break,
                _ => {
                    delimiter.push(letter);
                    self.at += letter.len_utf8();
                }
            }
        }
        (delimiter, is_quoted)
    }

    /// Enters the bodies of the pending here-documents. The scanner is after a newline, or after a body.
    pub fn start_next_heredoc(&mut self) {
        while let Some(heredoc) = self.take_pending_heredoc() {
            let is_too_deep = self.open_bodies >= MAX_NESTED_BODIES;
            let end = if is_too_deep { BodyEnd::at(self.limit) } else { self.find_body_end(&heredoc) };
            if heredoc.is_quoted {
                self.rewrite_quoted_body(&heredoc, &end);
                self.at = end.resume_at;
                continue;
            }
            self.open_bodies += 1;
            self.frames.push(Frame::HeredocBody { outer_limit: self.limit, resume_at: end.resume_at });
            self.limit = end.delimiter.start;
            return;
        }
    }

    fn take_pending_heredoc(&mut self) -> Option<Heredoc> {
        match self.frames.last_mut() {
            Some(Frame::Code(code)) => code.pending.pop_front(),
            Some(Frame::DoubleQuotes | Frame::Parameter(_) | Frame::Arithmetic(_) | Frame::HeredocBody { .. })
            | None => None,
        }
    }

    fn find_body_end(&self, heredoc: &Heredoc) -> BodyEnd {
        let mut start = self.at;
        let mut is_continued = false;
        while let Some(rest) = self.text.get(start..self.limit).filter(|rest| !rest.is_empty()) {
            let length = rest.find('\n').unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            let next = (start + length + 1).min(self.limit);
            let stripped = if heredoc.strips_tabs { line.trim_start_matches('\t') } else { line };
            let delimiter_start = start + line.len() - stripped.len();
            let delimiter = delimiter_start..delimiter_start + heredoc.delimiter.len();
            if !is_continued && stripped == heredoc.delimiter {
                return BodyEnd { delimiter, resume_at: next };
            }
            // The shell accepts `EOF)` at the end of `$(…)`.
            let after = stripped.strip_prefix(heredoc.delimiter.as_str());
            if !is_continued && self.is_in_substitution() && after.is_some_and(|after| after.starts_with(')')) {
                return BodyEnd { resume_at: delimiter.end, delimiter };
            }
            let backslashes = line.bytes().rev().take_while(|byte| *byte == b'\\').count();
            is_continued = !heredoc.is_quoted && backslashes % 2 == 1;
            start = next;
        }
        BodyEnd::at(self.limit)
    }

    fn is_in_substitution(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Code(code)) if code.has_closer)
    }

    /// Turns a quoted here-document with references into one that the shell expands: everything else in it is escaped.
    fn rewrite_quoted_body(&mut self, heredoc: &Heredoc, end: &BodyEnd) {
        let range = self.at..end.delimiter.start;
        let Some(body) = self.text.get(range.clone()) else { return };
        let mut escaped = String::with_capacity(body.len());
        let mut from = 0;
        for found in find_unbraced_references(body) {
            let bytes = range.start + found.range.start..range.start + found.range.end;
            let Some(expansion) = self.quoted_body_expansion(&found.reference, bytes) else { continue };
            push_escaped(&mut escaped, body.get(from..found.range.start).unwrap_or_default());
            escaped.push_str(&expansion);
            from = found.range.end;
        }
        if from == 0 {
            return;
        }
        push_escaped(&mut escaped, body.get(from..).unwrap_or_default());
        self.edits.push(Edit { range, replacement: Replacement::Text(escaped) });
        self.unquote_delimiter(heredoc, end, body);
    }

    fn quoted_body_expansion(&mut self, reference: &TextReference, bytes: Range<usize>) -> Option<String> {
        match reference {
            TextReference::Value(reference) => {
                self.references.push(ScriptReference { range: bytes, reference: reference.clone() });
                Some(heredoc_expansion(reference, self.variables))
            }
            TextReference::Variable(variable) if variable.is_set_by_engine() => {
                self.spliced_variables.insert(*variable);
                Some(format!("${{{}}}", variable.name()))
            }
            TextReference::Variable(variable) => {
                self.note_unexpanded(*variable, bytes);
                None
            }
        }
    }

    pub fn note_unexpanded(&mut self, variable: WorkflowVariable, range: Range<usize>) {
        self.unexpanded_variables.push(UnexpandedVariable { range, variable });
    }

    fn unquote_delimiter(&mut self, heredoc: &Heredoc, end: &BodyEnd, body: &str) {
        let is_word = heredoc.delimiter.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        if is_word && !heredoc.delimiter.is_empty() {
            let delimiter = Replacement::Text(heredoc.delimiter.clone());
            self.edits.push(Edit { range: heredoc.word.clone(), replacement: delimiter });
            return;
        }
        // A delimiter with blanks or special characters needs its quotes, so it is renamed.
        let mut delimiter = String::from("RALPH_END");
        while body.contains(delimiter.as_str()) {
            delimiter.push('_');
        }
        let renamed = |delimiter: &str| Replacement::Text(String::from(delimiter));
        self.edits.push(Edit { range: heredoc.word.clone(), replacement: renamed(&delimiter) });
        self.edits.push(Edit { range: end.delimiter.clone(), replacement: renamed(&delimiter) });
    }
}

fn push_escaped(escaped: &mut String, text: &str) {
    for letter in text.chars() {
        if matches!(letter, '$' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
}
