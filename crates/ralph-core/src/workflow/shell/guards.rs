//! Guards of arithmetic. The shell evaluates the value of a variable in an expression as another expression, and so runs a
//! command that the subscript of an array contains. In a script that takes values from outside, every variable of an
//! expression is checked while the script runs: unless it is a plain number, the expression has a syntax error.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::declarations::assigned_name;
use super::edits::{Edit, Replacement};
use super::frames::{ArithmeticCloser, CodeFrame, Frame, NumberContext, ParameterOperator};
use super::scanner::Scanner;
use super::words::CommandKind;
use crate::workflow::references::identifier_len;

/// Characters that no number contains. A locale can add letters to a range of digits.
const NOT_A_NUMBER: &str = "*[!-+0123456789 ]*";
/// Replaces a text that is not a number: the shell reports two numbers in a row as a syntax error.
const SYNTAX_ERROR: &str = " 1 1 ";

/// The functions that the guards of arrays and substitutions call.
const GUARD_FUNCTIONS: &str = "__ralph_check() { local v; for v; do case $v in *[!-+0123456789\\ ]*) printf ' 1 1 ';; esac; done; }; \
     __ralph_number() { case $1 in *[!-+0123456789\\ ]*) printf ' 1 1 ';; *) printf '%s' \"$1\";; esac; }; ";

/// Words by which a script takes text that an agent or a person wrote.
const OUTSIDE_VALUES: [&str; 9] = [
    ".output",
    "$INPUTS.",
    "INPUTS_",
    "ARGUMENTS",
    "USER_MESSAGE",
    "CONTEXT",
    "LOOP_USER_INPUT",
    "LOOP_PREV_OUTPUT",
    "REJECTION_REASON",
];

/// Returns the functions that a rewritten script calls.
pub(super) fn functions_for(rewritten: &str) -> &'static str {
    if rewritten.contains("$(__ralph_") { GUARD_FUNCTIONS } else { "" }
}

/// Returns whether the script takes values from outside.
#[must_use]
pub fn takes_outside_values(script: &str) -> bool {
    OUTSIDE_VALUES.iter().any(|word| script.contains(word))
}

/// A variable that an expression names without a `$`.
#[derive(Debug, PartialEq, Eq)]
struct BareName<'a> {
    name: &'a str,
    is_array: bool,
}

impl Scanner<'_> {
    /// Guards the variables that the expression from here on names. The parts of a `for ((…))` are expressions.
    pub fn guard_bare_names(&mut self, closer: ArithmeticCloser) {
        if !self.guards_numbers {
            return;
        }
        let text = expression_text(self.rest(), closer);
        let names = find_bare_names(text);
        if names.is_empty() {
            return;
        }
        let guard = guard_of(&names);
        let mut from = self.at;
        for part in split_expressions(text) {
            if !part.trim().is_empty() {
                self.insert(from, format!("{guard}, "));
            }
            from += part.len() + 1;
        }
    }

    /// Guards the names in the offset and the length of `${x:offset:length}`, which begin at a distance.
    pub fn guard_substring(&mut self, distance: usize) {
        let rest = self.rest().get(distance..).unwrap_or_default();
        let names = find_bare_names(rest.get(..rest.find('}').unwrap_or(rest.len())).unwrap_or_default());
        if self.guards_numbers && !names.is_empty() {
            let guard = guard_of(&names);
            self.insert(self.at + distance, format!("{guard}, "));
        }
    }

    /// Guards the names in a word of `let`, which is an expression.
    pub fn guard_let_word(&mut self, start: usize, word: &str) {
        let names = find_bare_names(word);
        if self.guards_numbers && !names.is_empty() {
            let guard = guard_of(&names);
            self.insert(start, format!("\"{guard}\" "));
        }
    }

    /// Guards the names in the value of an assignment to an integer, which is an expression.
    pub fn guard_assignment(&mut self, start: usize, word: &str) {
        let Some((name, distance)) = assigned_name(word).filter(|(name, _)| self.declarations.is_integer(name)) else {
            return;
        };
        let names = find_bare_names(word.get(distance..).unwrap_or_default());
        if self.guards_numbers && !name.is_empty() && !names.is_empty() {
            let guard = guard_of(&names).replace(", ", ",");
            self.insert(start + distance, format!("{guard},"));
        }
    }

    /// Replaces a name that is one side of a numeric comparison.
    pub fn guard_compared_name(&mut self, start: usize, end: usize) {
        let Some(word) = self.text.get(start..end) else { return };
        if self.guards_numbers && !word.is_empty() && identifier_len(word) == word.len() {
            let text = checked_expansion(word);
            self.edits.push(Edit { range: start..end, replacement: Replacement::Text(text) });
        }
    }

    /// Returns how the shell reads an expansion that starts here.
    pub fn number_context(&self) -> NumberContext {
        if !self.guards_numbers {
            return NumberContext::Text;
        }
        match self.frames.last() {
            Some(Frame::Arithmetic(frame)) if !frame.is_key => NumberContext::Number,
            Some(Frame::Parameter(parameter)) if parameter.operator == ParameterOperator::Substring => {
                NumberContext::Number
            }
            Some(Frame::Arithmetic(_) | Frame::Parameter(_) | Frame::HeredocBody { .. }) => NumberContext::Text,
            Some(Frame::Code(_) | Frame::DoubleQuotes) | None => self.word_context(),
        }
    }

    fn word_context(&self) -> NumberContext {
        let Some(index) = self.direct_code_frame() else { return NumberContext::Text };
        let is_unquoted = index + 1 == self.frames.len();
        match self.frames.get(index) {
            Some(Frame::Code(code)) if code.command == CommandKind::Test && is_unquoted => NumberContext::Words,
            Some(Frame::Code(code)) if code.test.is_some() => NumberContext::Compared { code_frame: index },
            Some(Frame::Code(code)) if code.command.is_arithmetic() => NumberContext::Number,
            Some(Frame::Code(code)) if self.assigns_integer(code) => NumberContext::Number,
            _ => NumberContext::Text,
        }
    }

    /// Whether the current word assigns to an integer.
    pub fn assigns_integer(&self, code: &CodeFrame) -> bool {
        let word = code.word_start.and_then(|start| self.text.get(start..self.at)).unwrap_or_default();
        let name = assigned_name(word).map(|(name, _)| name);
        code.is_command_start && name.is_some_and(|name| self.declarations.is_integer(name))
    }

    /// Checks `$NAME` or `${NAME}`, whose text is `length` bytes long, if the shell reads it as a number.
    pub fn guard_expansion(&mut self, name: &str, length: usize) {
        let range = self.at..self.at + length;
        if self.number_context() == NumberContext::Words {
            let one_word = format!("${{{name}:+\"${{{name}}}\"}}");
            return self.edits.push(Edit { range, replacement: Replacement::Text(one_word) });
        }
        let is_quoted = !matches!(self.frames.last(), Some(Frame::Code(code)) if code.test.is_none());
        let checked = checked_expansion(name);
        let text = if is_quoted { checked } else { format!("\"{checked}\"") };
        self.replace_number(range, text, self.number_context());
    }

    /// Begins the check of a substitution that starts here.
    pub fn open_number_check(&mut self) -> NumberContext {
        let context = self.number_context();
        let checked = if context == NumberContext::Words { "\"" } else { "$(__ralph_number \"" };
        self.replace_number(self.at..self.at, checked.to_string(), context);
        context
    }

    /// Ends the check of a substitution that ends here.
    pub fn close_number_check(&mut self, context: NumberContext) {
        let checked = if context == NumberContext::Words { "\"" } else { "\")" };
        self.replace_number(self.at..self.at, checked.to_string(), context);
    }

    fn replace_number(&mut self, range: core::ops::Range<usize>, checked: String, context: NumberContext) {
        let replacement = match context {
            NumberContext::Text => return,
            NumberContext::Number | NumberContext::Words => Replacement::Text(checked),
            NumberContext::Compared { code_frame } => {
                let original = self.text.get(range.clone()).unwrap_or_default().to_string();
                Replacement::Compared { checked, original, code_frame, is_number: false }
            }
        };
        self.edits.push(Edit { range, replacement });
    }

    pub fn insert(&mut self, at: usize, text: String) {
        self.edits.push(Edit { range: at..at, replacement: Replacement::Text(text) });
    }
}

fn guard_of(names: &[BareName<'_>]) -> String {
    names.iter().map(BareName::guard).collect::<Vec<_>>().join(", ")
}

impl BareName<'_> {
    /// An expression that is a number if the variable is, and else a syntax error. A variable that is not set is 0.
    fn guard(&self) -> String {
        let Self { name, is_array } = self;
        match is_array {
            true => format!("0$(__ralph_check \"${{{name}[@]-}}\")"),
            false => format!("0${{{name}:++${{{name}//{NOT_A_NUMBER}/{SYNTAX_ERROR}}}}}"),
        }
    }
}

/// The value of a variable, or a syntax error if it is not a number.
fn checked_expansion(name: &str) -> String {
    format!("${{{name}//{NOT_A_NUMBER}/{SYNTAX_ERROR}}}")
}

/// Returns the text of an expression up to its end.
fn expression_text(rest: &str, closer: ArithmeticCloser) -> &str {
    let (open, close) = match closer {
        ArithmeticCloser::DoubleParenthesis => (b'(', b')'),
        ArithmeticCloser::Bracket => (b'[', b']'),
    };
    let mut depth = 0_usize;
    for (index, byte) in rest.bytes().enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            if depth == 0 {
                return rest.get(..index).unwrap_or_default();
            }
            depth -= 1;
        }
    }
    rest
}

/// Splits at the `;` outside of parentheses and braces.
fn split_expressions(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from) = (0_usize, 0);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => {
                parts.push(text.get(from..index).unwrap_or_default());
                from = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or_default());
    parts
}

/// Returns the variables that a text names without a `$`, each once.
fn find_bare_names(text: &str) -> Vec<BareName<'_>> {
    let mut names: Vec<BareName<'_>> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let Some(letter) = rest.chars().next() else { break };
        let name = identifier_len(rest);
        at += match letter {
            '$' => expansion_len(rest),
            '\\' => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            '`' => rest.get(1..).and_then(|inside| inside.find('`')).map_or(1, |end| end + 2),
            // `16#ff` is one number.
            '0'..='9' => rest.find(|c: char| !c.is_ascii_alphanumeric() && !"#@_".contains(c)).unwrap_or(rest.len()),
            _ if name > 0 => {
                let found = rest.get(..name).unwrap_or_default();
                let is_array = rest.as_bytes().get(name) == Some(&b'[');
                let after = rest.get(name..).unwrap_or_default().trim_start();
                let is_only_assigned = after.starts_with('=') && !after.starts_with("==");
                match names.iter_mut().find(|known| known.name == found) {
                    Some(known) => known.is_array |= is_array,
                    None if is_only_assigned => {}
                    None => names.push(BareName { name: found, is_array }),
                }
                name
            }
            letter => letter.len_utf8(),
        };
    }
    names
}

/// The length of the expansion with which a text starts.
fn expansion_len(rest: &str) -> usize {
    let inside = rest.get(1..).unwrap_or_default();
    match inside.bytes().next() {
        Some(open @ (b'(' | b'{')) => {
            let close = if open == b'(' { b')' } else { b'}' };
            let mut depth = 0_usize;
            for (index, byte) in inside.bytes().enumerate() {
                depth += usize::from(byte == open);
                depth -= usize::from(byte == close);
                if depth == 0 {
                    return index + 2;
                }
            }
            rest.len()
        }
        Some(byte) if byte.is_ascii_digit() => 2,
        // A reference such as `$plan.output.count` is replaced by itself.
        Some(_) => 1 + inside.find(|c: char| !c.is_ascii_alphanumeric() && !"_.-".contains(c)).unwrap_or(inside.len()),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: W6
    #[test]
    fn the_names_of_an_expression_are_those_without_a_dollar() {
        let names = |text| find_bare_names(text).into_iter().map(|name| (name.name, name.is_array)).collect::<Vec<_>>();
        assert_eq!(names("n > 3 && m"), [("n", false), ("m", false)]);
        assert_eq!(names("16#ff + 0x1F + $n + ${m} + $(f x) + `g y`"), []);
        assert_eq!(names("a = b, c += 1, d == 2"), [("b", false), ("c", false), ("d", false)]);
        assert_eq!(names("a[i] + a"), [("a", true), ("i", false)]);
        assert_eq!(names("$plan.output.count-x"), [], "an `-` may belong to the name of a field");
        assert_eq!(names("$(( $(f a) + b )) + c"), [("c", false)]);
    }
}
