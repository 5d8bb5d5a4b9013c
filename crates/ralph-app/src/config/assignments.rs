//! Reads `KEY=value` lines as a shell would, but runs and expands nothing: `$(…)` and backquotes are text.
use super::document::is_variable_name;

/// One assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assignment {
    pub key: String,
    pub value: String,
    pub line: u64,
}

/// A line that is no assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoAssignment {
    pub line: u64,
    pub what: &'static str,
    pub hint: &'static str,
}

/// More keys are a mistake, or an attack.
const MOST: usize = 20_000;

const NOT_RUN: &str = "the file is read, not run: it holds comments and KEY=value lines";
const IS_YAML: &str = "the name of a YAML file is config.yaml";
const QUOTE_IT: &str = "put the value into quotation marks: KEY=\"two words\"";

/// Tells whether a text looks like such a file rather than like YAML: by its first line that says anything.
pub(super) fn looks_like(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.next().is_some_and(|line| {
        let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
        line.split_once('=').is_some_and(|(key, _)| is_variable_name(key))
    })
}

/// Returns the assignments in order.
pub(super) fn parse(text: &str) -> Result<Vec<Assignment>, NoAssignment> {
    let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 };
    let mut found = Vec::new();
    loop {
        reader.skip(char::is_whitespace);
        match reader.peek() {
            None => return Ok(found),
            Some('#') => reader.skip(|letter| letter != '\n'),
            Some(_) if found.len() == MOST => {
                return Err(reader
                    .refuse("it is too much: at most 20,000 keys are read", "remove what is not needed"));
            }
            Some(_) => found.push(assignment(&mut reader)?),
        }
    }
}

fn assignment(reader: &mut Reader<'_>) -> Result<Assignment, NoAssignment> {
    let line = reader.line;
    let mut key = reader.name();
    if key == "export" && reader.peek().is_some_and(is_blank) {
        reader.skip(is_blank);
        key = reader.name();
    }
    if !is_variable_name(&key) {
        return Err(reader.refuse("it is no KEY=value", NOT_RUN));
    }
    match reader.next() {
        Some('=') => {}
        Some(' ' | '\t') if reader.rest.trim_start_matches(is_blank).starts_with('=') => {
            return Err(NoAssignment { line, what: "there is a blank before =", hint: "write KEY=value" });
        }
        Some(':') => return Err(NoAssignment { line, what: "it is no KEY=value", hint: IS_YAML }),
        Some(_) | None => return Err(NoAssignment { line, what: "it is no KEY=value", hint: NOT_RUN }),
    }
    let value = value(reader)?;
    finished(reader)?;
    Ok(Assignment { key, value, line })
}

/// Nothing but a comment may follow a value.
fn finished(reader: &mut Reader<'_>) -> Result<(), NoAssignment> {
    let parted = reader.peek().is_some_and(is_blank);
    reader.skip(is_blank);
    match reader.peek() {
        None | Some('\n' | '\r') => Ok(()),
        Some('#') if parted => {
            reader.skip(|letter| letter != '\n');
            Ok(())
        }
        Some(_) => Err(reader.refuse("something follows the value", QUOTE_IT)),
    }
}

fn value(reader: &mut Reader<'_>) -> Result<String, NoAssignment> {
    let mut value = String::new();
    while let Some(letter) = reader.peek() {
        match letter {
            blank if blank.is_whitespace() => break,
            '\'' => single(reader, &mut value)?,
            '"' => double(reader, &mut value)?,
            '$' | '`' => command(reader, &mut value)?,
            '\\' => escaped(reader, &mut value),
            '\0' => return Err(reader.refuse("it holds a NUL character", "remove it")),
            '(' | ')' | ';' | '&' | '|' | '<' | '>' => {
                return Err(reader.refuse("a shell would take this character for itself", QUOTE_IT));
            }
            plain => {
                value.push(plain);
                reader.next();
            }
        }
    }
    Ok(value)
}

/// A backslash at the end of a line joins it with the next.
fn escaped(reader: &mut Reader<'_>, value: &mut String) {
    reader.next();
    match reader.next() {
        Some('\n') => {}
        Some('\r') if reader.peek() == Some('\n') => drop(reader.next()),
        Some(letter) => value.push(letter),
        None => value.push('\\'),
    }
}

fn single(reader: &mut Reader<'_>, value: &mut String) -> Result<(), NoAssignment> {
    let open = reader.unclosed();
    reader.next();
    loop {
        match reader.next().ok_or_else(|| open.clone())? {
            '\'' => return Ok(()),
            plain => value.push(plain),
        }
    }
}

fn double(reader: &mut Reader<'_>, value: &mut String) -> Result<(), NoAssignment> {
    let open = reader.unclosed();
    reader.next();
    while let Some(letter) = reader.peek() {
        match letter {
            '"' => {
                reader.next();
                return Ok(());
            }
            '$' | '`' => command(reader, value)?,
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

/// Takes `$(…)` and `` `…` `` as they stand, blanks and quotation marks within included.
fn command(reader: &mut Reader<'_>, value: &mut String) -> Result<(), NoAssignment> {
    let open = reader.unclosed();
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

struct Reader<'a> {
    rest: &'a str,
    line: u64,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.line += u64::from(letter == '\n');
        self.rest = self.rest.get(letter.len_utf8()..).unwrap_or_default();
        Some(letter)
    }

    fn skip(&mut self, skipped: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skipped) {
            self.next();
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.peek().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
        {
            name.push(letter);
            self.next();
        }
        name
    }

    fn refuse(&self, what: &'static str, hint: &'static str) -> NoAssignment {
        NoAssignment { line: self.line, what, hint }
    }

    fn unclosed(&self) -> NoAssignment {
        self.refuse("what is opened here is never closed", "close the quotation mark or parenthesis")
    }
}

#[cfg(test)]
#[path = "assignments_tests.rs"]
mod tests;
