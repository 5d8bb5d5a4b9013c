//! `` `…` ``: its text has its own level of escapes, so that it is scanned as a script.
use alloc::format;
use alloc::string::String;

use super::edits::{Edit, Replacement};
use super::scanner::Scanner;

impl Scanner<'_> {
    /// Scans a command in backquotes. If it has references, it becomes `$(…)`, which needs no escapes.
    pub fn scan_backquotes(&mut self, is_in_double_quotes: bool) {
        let start = self.at;
        let inside = self.rest().get(1..).unwrap_or_default();
        let Some(length) = find_closing_backquote(inside) else {
            // Without its end, the shell refuses the script.
            self.advance(1);
            return;
        };
        self.advance(length + 2);
        let command = unescape(inside.get(..length).unwrap_or_default(), is_in_double_quotes);
        let guards_numbers = self.guards_numbers;
        let scanner = Scanner { guards_numbers, ..Scanner::new(&command, self.variables) };
        let edited = scanner.edit();
        for mut reference in edited.references {
            // Escapes before the reference shift it; the command itself is then close enough for a message.
            let end = (start + 1 + reference.range.end).min(self.at);
            reference.range = end.saturating_sub(reference.range.len())..end;
            self.references.push(reference);
        }
        self.expands_base_branch |= edited.expands_base_branch;
        self.spliced_variables.extend(edited.spliced_variables);
        self.unexpanded_variables.extend(edited.unexpanded_variables);
        if edited.is_changed {
            // The newline ends a comment.
            let text = format!("$({}\n)", edited.text);
            self.edits.push(Edit { range: start..self.at, replacement: Replacement::Text(text) });
        }
    }
}

fn find_closing_backquote(inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let mut from = 0;
    loop {
        let at = from + memchr::memchr2(b'`', b'\\', bytes.get(from..)?)?;
        if bytes.get(at) == Some(&b'`') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Removes the backslashes that escape in backquotes.
fn unescape(text: &str, is_in_double_quotes: bool) -> String {
    let mut unescaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_escape = letter == '\\'
            && letters.peek().is_some_and(|next| "$`\\".contains(*next) || is_in_double_quotes && *next == '"');
        if is_escape {
            unescaped.extend(letters.next());
        } else {
            unescaped.push(letter);
        }
    }
    unescaped
}
