//! Parses `KEY=value` lines in shell syntax without running or expanding anything: `$(…)` and backquotes are text.
//! Hand-written because a shell parser would expand and execute.
use crate::config::layers::document::is_variable_name;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct ShellAssignment {
    pub key: String,
    pub value: String,
    pub line: u64,
}

/// A line that is not an assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) struct AssignmentError {
    pub line: u64,
    pub message: &'static str,
    pub hint: &'static str,
}

/// Limit on keys; a file with more is a mistake or an attack.
const MAX_ASSIGNMENTS: usize = 20_000;

const NOT_EXECUTED_HINT: &str = "ralph does not execute this file: it may contain only comments and KEY=value lines";
const YAML_FILE_NAME_HINT: &str = "name a YAML configuration config.yaml";
const QUOTE_VALUE_HINT: &str = "quote the value: KEY=\"two words\"";

/// Returns whether a text looks like assignments rather than YAML, judged by its first line that is not a comment.
pub(in crate::config) fn looks_like_assignments(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        line.split_once('=').is_some_and(|(key, _)| is_variable_name(key))
    })
}

/// Returns the assignments in file order.
pub(in crate::config) fn parse_assignments(text: &str) -> Result<Vec<ShellAssignment>, AssignmentError> {
    let mut reader = AssignmentReader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut found = Vec::new();
    loop {
        reader.skip_while(char::is_whitespace);
        match reader.peek() {
            None => return Ok(found),
            Some('#') => reader.skip_while(|letter| letter != '\n'),
            Some(_) if found.len() == MAX_ASSIGNMENTS => {
                return Err(reader.error_here("more than 20,000 keys", "remove keys that are not needed"));
            }
            Some(_) => found.push(read_assignment(&mut reader)?),
        }
    }
}

fn read_assignment(reader: &mut AssignmentReader<'_>) -> Result<ShellAssignment, AssignmentError> {
    let line = reader.line;
    let mut key = reader.read_name();
    if key == "export" && reader.peek().is_some_and(is_blank) {
        reader.skip_while(is_blank);
        key = reader.read_name();
    }
    if !is_variable_name(&key) {
        return Err(reader.error_here("not a KEY=value line", NOT_EXECUTED_HINT));
    }
    match reader.next() {
        Some('=') => {}
        Some(' ' | '\t') if reader.rest.trim_start_matches(is_blank).starts_with('=') => {
            return Err(AssignmentError { line, message: "blank before =", hint: "write KEY=value" });
        }
        Some(':') => {
            return Err(AssignmentError { line, message: "not a KEY=value line", hint: YAML_FILE_NAME_HINT });
        }
        Some(_) | None => {
            return Err(AssignmentError { line, message: "not a KEY=value line", hint: NOT_EXECUTED_HINT });
        }
    }
    let value = read_value(reader)?;
    expect_end_of_line(reader)?;
    Ok(ShellAssignment { key, value, line })
}

/// Accepts a comment or the end of the line after a value.
fn expect_end_of_line(reader: &mut AssignmentReader<'_>) -> Result<(), AssignmentError> {
    let has_blank = reader.peek().is_some_and(is_blank);
    reader.skip_while(is_blank);
    match reader.peek() {
        None | Some('\n' | '\r') => Ok(()),
        Some('#') if has_blank => {
            reader.skip_while(|letter| letter != '\n');
            Ok(())
        }
        Some(_) => Err(reader.error_here("unexpected text after the value", QUOTE_VALUE_HINT)),
    }
}

fn read_value(reader: &mut AssignmentReader<'_>) -> Result<String, AssignmentError> {
    let mut value = String::new();
    while let Some(letter) = reader.peek() {
        match letter {
            blank if blank.is_whitespace() => break,
            '\'' => read_single_quoted(reader, &mut value)?,
            '"' => read_double_quoted(reader, &mut value)?,
            '$' | '`' => read_substitution(reader, &mut value)?,
            '\\' => read_escape(reader, &mut value),
            '\0' => return Err(reader.error_here("the value contains a NUL character", "remove it")),
            '(' | ')' | ';' | '&' | '|' | '<' | '>' => {
                return Err(reader.error_here("this character has a special meaning in a shell", QUOTE_VALUE_HINT));
            }
            plain => {
                value.push(plain);
                reader.next();
            }
        }
    }
    Ok(value)
}

/// Reads a backslash and its character. A backslash at the end of a line joins the lines.
fn read_escape(reader: &mut AssignmentReader<'_>, value: &mut String) {
    reader.next();
    match reader.next() {
        Some('\n') => {}
        Some('\r') if reader.peek() == Some('\n') => drop(reader.next()),
        Some(letter) => value.push(letter),
        None => value.push('\\'),
    }
}

fn read_single_quoted(reader: &mut AssignmentReader<'_>, value: &mut String) -> Result<(), AssignmentError> {
    let open = reader.unclosed_error();
    reader.next();
    loop {
        match reader.next().ok_or_else(|| open.clone())? {
            '\'' => return Ok(()),
            plain => value.push(plain),
        }
    }
}

fn read_double_quoted(reader: &mut AssignmentReader<'_>, value: &mut String) -> Result<(), AssignmentError> {
    let open = reader.unclosed_error();
    reader.next();
    while let Some(letter) = reader.peek() {
        match letter {
            '"' => {
                reader.next();
                return Ok(());
            }
            '$' | '`' => read_substitution(reader, value)?,
            '\\' => {
                reader.next();
                match reader.next().ok_or_else(|| open.clone())? {
                    '\n' => {}
                    protected @ ('"' | '\\' | '$' | '`') => value.push(protected),
                    plain => value.extend(['\\', plain]),
                }
            }
            plain => {
                value.push(plain);
                reader.next();
            }
        }
    }
    Err(open)
}

/// Copies `$(…)` and `` `…` `` verbatim, including blanks and quotation marks.
fn read_substitution(reader: &mut AssignmentReader<'_>, value: &mut String) -> Result<(), AssignmentError> {
    let open = reader.unclosed_error();
    let first = reader.next();
    value.extend(first);
    let (opening, closing) = match (first, reader.peek()) {
        (Some('`'), _) => (None, '`'),
        (_, Some('(')) => (Some('('), ')'),
        (_, _) => return Ok(()),
    };
    let mut depth = usize::from(opening.is_none());
    loop {
        let letter = reader.next().ok_or_else(|| open.clone())?;
        value.push(letter);
        if Some(letter) == opening {
            depth += 1;
        } else if letter == closing {
            depth -= 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }
}

fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t')
}

struct AssignmentReader<'a> {
    rest: &'a str,
    line: u64,
}

impl AssignmentReader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.line += u64::from(letter == '\n');
        self.rest = self.rest.get(letter.len_utf8()..).unwrap_or_default();
        Some(letter)
    }

    fn skip_while(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.next();
        }
    }

    fn read_name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.peek().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_') {
            name.push(letter);
            self.next();
        }
        name
    }

    fn error_here(&self, message: &'static str, hint: &'static str) -> AssignmentError {
        AssignmentError { line: self.line, message, hint }
    }

    fn unclosed_error(&self) -> AssignmentError {
        self.error_here("quotation mark or parenthesis is not closed", "close the quotation mark or parenthesis")
    }
}

#[cfg(test)]
#[path = "assignments_tests.rs"]
mod tests;
