//! `` `…` ``: its text has its own level of escapes, so that it is scanned as a script.
use alloc::format;
use alloc::string::String;
use core::ops::Range;

use super::edits::{Edit, Replacement};
use super::frames::NumberContext;
use super::scanner::Scanner;
use super::{ScriptReference, UnsafeUse};

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
        let declarations = self.declarations.with_declarations_of(&command);
        let scanner = Scanner { guards_numbers, declarations, ..Scanner::new(&command, self.variables) };
        let edited = scanner.edit();
        // Escapes before a place shift it; the command itself is then close enough for a message.
        let outer_end = self.at;
        let outer_range = |inner: Range<usize>| {
            let end = (start + 1 + inner.end).min(outer_end);
            end.saturating_sub(inner.len())..end
        };
        for reference in edited.references {
            let range = outer_range(reference.range);
            self.references.push(ScriptReference { range, reference: reference.reference });
        }
        for unsafe_use in edited.unsafe_uses {
            self.unsafe_uses.push(UnsafeUse { range: outer_range(unsafe_use.range), kind: unsafe_use.kind });
        }
        self.expands_base_branch |= edited.expands_base_branch;
        self.spliced_variables.extend(edited.spliced_variables);
        self.unexpanded_variables.extend(edited.unexpanded_variables);
        let context = self.number_context();
        if edited.is_changed || context != NumberContext::Text {
            let replacement = replace_command(&edited.text, context);
            self.edits.push(Edit { range: start..self.at, replacement });
        }
    }
}

fn replace_command(command: &str, context: NumberContext) -> Replacement {
    // The newline ends a comment.
    let command = format!("$({command}\n)");
    let number = || format!("$(__ralph_number \"{command}\")");
    match context {
        NumberContext::Text => Replacement::Text(command),
        NumberContext::Words => Replacement::Text(format!("\"{command}\"")),
        NumberContext::Number => Replacement::Text(number()),
        NumberContext::Compared { code_frame } => {
            Replacement::Compared { checked: number(), original: command, code_frame, is_number: false }
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
