//! Quotes and expansions: `'…'`, `"…"`, `${…}`, `$((…))`, and references.
use super::edits::{Edit, Quoting, Replacement, ValueEdit};
use super::frames::{ArithmeticCloser, CodeFrame, Frame, NumberContext, ParameterFrame, ParameterOperator};
use super::scanner::Scanner;
use super::{ScriptReference, ValueUsage};
use crate::workflow::references::{TextReference, find_unbraced_references, identifier_len, parse_value_reference};
use crate::workflow::variables::WorkflowVariable;

impl Scanner<'_> {
    pub fn scan_double_quotes(&mut self) {
        match self.byte(0) {
            Some(b'"') => {
                self.advance(1);
                self.frames.pop();
            }
            Some(b'`') => self.scan_backquotes(true),
            _ => self.scan_quoted_text(),
        }
    }

    pub fn scan_heredoc_body(&mut self) {
        match self.byte(0) {
            Some(b'`') => self.scan_backquotes(false),
            _ => self.scan_quoted_text(),
        }
    }

    /// Text in which only `\`, `$` and backquotes are special, and the end of the quotes.
    fn scan_quoted_text(&mut self) {
        match self.byte(0) {
            Some(b'\\') => self.skip_escape(),
            Some(b'$') => self.scan_dollar(),
            Some(_) => {
                let rest = self.rest();
                let first = rest.chars().next().map_or(1, char::len_utf8);
                let after = rest.get(first..).unwrap_or_default();
                self.advance(first + after.find(['\\', '$', '`', '"']).unwrap_or(after.len()));
            }
            None => {}
        }
    }

    pub fn scan_parameter(&mut self, parameter: ParameterFrame) {
        match self.byte(0) {
            Some(b'}') => {
                self.advance(1);
                self.frames.pop();
                self.close_number_check(parameter.output);
            }
            Some(b'"') => {
                self.advance(1);
                self.frames.push(Frame::DoubleQuotes);
            }
            Some(b'\'') if !parameter.is_quoted || parameter.operator == ParameterOperator::Pattern => {
                self.scan_single_quotes();
            }
            Some(b'\\') => self.skip_escape(),
            Some(b'`') => self.scan_backquotes(parameter.is_quoted),
            Some(b'$') => self.scan_dollar(),
            Some(_) => self.advance(1),
            None => {}
        }
    }

    pub fn scan_arithmetic(&mut self) {
        let Some(Frame::Arithmetic(arithmetic)) = self.frames.last_mut() else { return };
        let (open, close, closer_bytes) = match arithmetic.closer {
            ArithmeticCloser::DoubleParenthesis => (b'(', b')', 2),
            ArithmeticCloser::Bracket => (b'[', b']', 1),
        };
        match self.text.as_bytes().get(self.at).copied() {
            Some(byte) if byte == open => {
                arithmetic.depth += 1;
                self.advance(1);
            }
            Some(byte) if byte == close && arithmetic.depth > 0 => {
                arithmetic.depth -= 1;
                self.advance(1);
            }
            Some(byte) if byte == close => {
                self.frames.pop();
                self.advance(closer_bytes);
            }
            Some(b'\\') => self.skip_escape(),
            Some(b'`') => self.scan_backquotes(true),
            Some(b'$') => self.scan_dollar(),
            _ => self.advance(1),
        }
    }

    /// Scans what a `$` starts.
    pub fn scan_dollar(&mut self) {
        let is_plain = matches!(self.frames.last(), Some(Frame::Code(_)))
            || matches!(self.frames.last(), Some(Frame::Parameter(parameter)) if !parameter.is_quoted);
        match self.byte(1) {
            Some(b'(') if self.byte(2) == Some(b'(') && self.is_arithmetic(3) => {
                self.advance(3);
                self.open_arithmetic(ArithmeticCloser::DoubleParenthesis, false);
            }
            Some(b'(') => {
                let output = self.open_number_check();
                self.advance(2);
                self.frames.push(Frame::Code(CodeFrame { output, ..CodeFrame::new(true, true) }));
            }
            Some(b'[') => {
                self.advance(2);
                self.open_arithmetic(ArithmeticCloser::Bracket, false);
            }
            Some(b'{') => self.open_parameter(),
            Some(b'\'') if is_plain => self.scan_ansi_quotes(),
            Some(byte) if byte.is_ascii_alphabetic() || byte == b'_' => self.scan_name(),
            // `$$`, `$#`, `$?` and their like are whole; a `$` before a quote is only a `$`.
            Some(byte) if byte.is_ascii_digit() => {
                let name = self.rest().get(1..2).unwrap_or_default();
                self.guard_expansion(name, 2);
                self.advance(2);
            }
            Some(byte) if b"$#?!@*-".contains(&byte) => self.advance(2),
            _ => self.advance(1),
        }
    }

    /// Scans `$NAME`, which is a reference or a variable of the shell.
    fn scan_name(&mut self) {
        let rest = self.rest().get(1..).unwrap_or_default();
        let Some((reference, length)) = parse_value_reference(rest) else {
            let length = identifier_len(rest);
            let name = rest.get(..length).unwrap_or_default();
            self.check_evaluated_variable(self.at..self.at + 1 + length);
            self.expands_base_branch |= name == WorkflowVariable::BaseBranch.name();
            self.guard_expansion(name, 1 + length);
            self.advance(1 + length);
            return;
        };
        let range = self.at..self.at + 1 + length;
        self.references.push(ScriptReference { range: range.clone(), reference: reference.clone() });
        self.check_evaluated(range.clone());
        let (quoting, usage) = self.value_position();
        let code_frame = self.direct_code_frame();
        let value = ValueEdit { reference, usage, quoting, code_frame };
        self.edits.push(Edit { range, replacement: Replacement::Value(value) });
        self.advance(1 + length);
    }

    /// How a value is written in the innermost frame.
    fn value_position(&self) -> (Quoting, ValueUsage) {
        let code_usage = || match self.direct_code_frame().and_then(|index| self.frames.get(index)) {
            Some(Frame::Code(code)) if code.command.is_arithmetic() || self.assigns_integer(code) => ValueUsage::Number,
            _ => ValueUsage::Text,
        };
        match self.frames.last() {
            Some(Frame::Code(_)) | None => (Quoting::Add, code_usage()),
            Some(Frame::DoubleQuotes) => (Quoting::Keep, code_usage()),
            Some(Frame::HeredocBody { .. }) => (Quoting::Keep, ValueUsage::Text),
            Some(Frame::Arithmetic(frame)) => {
                (Quoting::Keep, if frame.is_key { ValueUsage::Text } else { ValueUsage::Number })
            }
            Some(Frame::Parameter(parameter)) => match parameter.operator {
                ParameterOperator::Substring => (Quoting::Keep, ValueUsage::Number),
                ParameterOperator::Pattern => (Quoting::Add, ValueUsage::Text),
                ParameterOperator::Word if parameter.is_quoted => (Quoting::Keep, ValueUsage::Text),
                ParameterOperator::Word => (Quoting::Add, ValueUsage::Text),
            },
        }
    }

    /// The index of the code frame whose word the scanner is in, in double quotes or not.
    pub fn direct_code_frame(&self) -> Option<usize> {
        let last = self.frames.len().checked_sub(1)?;
        let index = if matches!(self.frames.last(), Some(Frame::DoubleQuotes)) { last.checked_sub(1)? } else { last };
        matches!(self.frames.get(index), Some(Frame::Code(_))).then_some(index)
    }

    /// Scans `'…'`.
    pub fn scan_single_quotes(&mut self) {
        let inside = self.rest().get(1..).unwrap_or_default();
        let length = memchr::memchr(b'\'', inside.as_bytes()).unwrap_or(inside.len());
        self.replace_in_quotes(inside.get(..length).unwrap_or_default(), self.at + 1, Quoting::LeaveSingle);
        self.advance(length + 2);
    }

    /// Scans `$'…'`, in which a backslash escapes.
    fn scan_ansi_quotes(&mut self) {
        let inside = self.rest().get(2..).unwrap_or_default();
        let length = ansi_quotes_len(inside);
        self.replace_in_quotes(inside.get(..length).unwrap_or_default(), self.at + 2, Quoting::LeaveAnsi);
        self.advance(length + 3);
    }

    fn replace_in_quotes(&mut self, inside: &str, start: usize, quoting: Quoting) {
        let code_frame = self.direct_code_frame();
        for found in find_unbraced_references(inside) {
            let range = start + found.range.start..start + found.range.end;
            let replacement = match found.reference {
                TextReference::Value(reference) => {
                    self.check_evaluated(range.clone());
                    self.references.push(ScriptReference { range: range.clone(), reference: reference.clone() });
                    let (_, usage) = self.value_position();
                    Replacement::Value(ValueEdit { reference, usage, quoting, code_frame })
                }
                TextReference::Variable(variable) if variable.is_set_by_engine() => {
                    self.spliced_variables.insert(variable);
                    Replacement::Variable { name: variable.name(), quoting }
                }
                TextReference::Variable(variable) => {
                    self.note_unexpanded(variable, range);
                    continue;
                }
            };
            self.edits.push(Edit { range, replacement });
        }
    }

    /// Scans the start of `${…}`: the name, the subscript and the operator.
    fn open_parameter(&mut self) {
        let is_quoted = match self.frames.last() {
            Some(Frame::Code(_)) | None => false,
            Some(Frame::Parameter(parameter)) => parameter.is_quoted,
            Some(Frame::DoubleQuotes | Frame::Arithmetic(_) | Frame::HeredocBody { .. }) => true,
        };
        let is_length = self.byte(2) == Some(b'#') && self.byte(3) != Some(b'}');
        self.check_indirection();
        let inside = self.rest().get(2..).unwrap_or_default();
        let digits = inside.bytes().take_while(u8::is_ascii_digit).count();
        let name = identifier_len(inside).max(digits);
        self.check_evaluated_variable(self.at..self.at + 2 + name);
        let is_plain = name > 0 && inside.as_bytes().get(name) == Some(&b'}');
        let output = match (is_plain, is_length) {
            (true, _) => {
                self.guard_expansion(inside.get(..name).unwrap_or_default(), name + 3);
                NumberContext::Text
            }
            // A length is a number.
            (false, true) => NumberContext::Text,
            (false, false) => self.open_number_check(),
        };
        self.advance(2);
        self.advance(usize::from(matches!(self.byte(0), Some(b'!' | b'#')) && self.byte(1) != Some(b'}')));
        let name = identifier_len(self.rest());
        let is_key = self.declarations.is_associative(self.rest().get(..name).unwrap_or_default());
        let digits = self.rest().bytes().take_while(u8::is_ascii_digit).count();
        let special = usize::from(self.byte(0).is_some_and(|byte| b"@*#?$!-".contains(&byte)));
        self.advance(name.max(digits).max(special));
        let has_subscript = self.byte(0) == Some(b'[');
        let operator_at = if has_subscript { self.subscript_len() } else { 0 };
        let operator = parameter_operator(self.byte(operator_at), self.byte(operator_at + 1));
        self.frames.push(Frame::Parameter(ParameterFrame { is_quoted, operator, output }));
        if operator == ParameterOperator::Substring {
            self.guard_substring(operator_at + 1);
        }
        if has_subscript {
            self.advance(1);
            self.open_arithmetic(ArithmeticCloser::Bracket, is_key);
        }
    }

    /// The length of a subscript, `[…]`, as far as it is simple.
    fn subscript_len(&self) -> usize {
        let rest = self.rest().as_bytes();
        let near = rest.get(..rest.len().min(256)).unwrap_or_default();
        memchr::memchr(b']', near).map_or(0, |end| end + 1)
    }
}

fn parameter_operator(first: Option<u8>, second: Option<u8>) -> ParameterOperator {
    match (first, second) {
        (Some(b':'), Some(b'-' | b'=' | b'?' | b'+')) | (Some(b'-' | b'=' | b'?' | b'+' | b'}'), _) | (None, _) => {
            ParameterOperator::Word
        }
        (Some(b':'), _) => ParameterOperator::Substring,
        (Some(_), _) => ParameterOperator::Pattern,
    }
}

/// The length of the text up to the `'` that ends `$'…'`.
fn ansi_quotes_len(inside: &str) -> usize {
    let bytes = inside.as_bytes();
    let mut from = 0;
    while let Some(at) = bytes.get(from..).and_then(|rest| memchr::memchr2(b'\'', b'\\', rest)) {
        if bytes.get(from + at) == Some(&b'\'') {
            return from + at;
        }
        from += at + 2;
    }
    bytes.len()
}
