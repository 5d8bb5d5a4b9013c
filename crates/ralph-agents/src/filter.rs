//! The user's own filters: jq expressions, run in this process on one line at a time. They see the line and
//! nothing else: no environment, no clock, no terminal, and `halt` only ends the filter.
use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, compile};
use jaq_json::{Val, read};
use serde::{Deserialize, Serialize};

use super::detail::one_line;
use ralph_util::json::Cursor;
use ralph_util::shell_words;

/// What jq can reach beyond its input is hidden behind definitions of the same names.
const CONFINED: &str = "def env: {}; def now: null; def stderr: .; def debug: .; def debug(f): .; \
    def halt: empty; def halt(f): empty; def halt_error: empty; def halt_error(f): empty; ";

/// The command of this very binary that runs a filter in a process of its own, and what it may need there.
pub const FILTER_COMMAND: &str = "filter-lines";
pub const FILTER_MEMORY_MB: u64 = 512;

/// How much of a filter's own error is told.
const ERROR_CHARS: usize = 160;

/// How many brackets of a filter may be open at once.
const DEEPEST: usize = 200;

/// How much one line may yield.
const VALUES: usize = 1_000;
const BYTES: usize = 1 << 20;

/// Flags of `jq` that change only how it prints, which is not its business here.
const PRINTING: &[&str] = &[
    "--raw-output",
    "--join-output",
    "--compact-output",
    "--unbuffered",
    "--monochrome-output",
    "--ascii-output",
];
const PRINTING_LETTERS: &str = "rjcMa";

const HINT: &str = "write a jq expression, alone or as `jq -r 'EXPRESSION'`; other commands are not run";

type Data = JustLut<Val>;

/// A compiled jq expression.
pub struct Filter {
    program: jaq_core::Filter<Data>,
}

/// What a filter makes of one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Yield {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Why the filter stopped half-way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("the filter is empty")]
    Empty,
    #[error("the filter uses `jq {option}`, which means nothing for single lines")]
    Option { option: String },
    #[error("the filter has {word:?} after the jq expression")]
    Trailing { word: String },
    #[error("the filter has a quote that is not closed")]
    Quote,
    #[error("the filter nests too deep")]
    Deep,
    #[error("the filter is no jq expression: {problem}")]
    Expression { problem: String },
}

impl FilterError {
    /// Says what to write instead.
    pub fn hint(&self) -> &'static str {
        HINT
    }
}

impl Filter {
    /// Compiles a jq expression, or the command line `jq [-r -j -c --unbuffered] 'EXPRESSION'`.
    pub fn compile(source: &str) -> Result<Self, FilterError> {
        let code = format!("{CONFINED}{}", shallow(expression(source)?)?);
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs::<Data>().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs).load(&arena, File { code: &code, path: () }).map_err(unreadable)?;
        let program = Compiler::default().with_funs(funs).compile(modules).map_err(undefined)?;
        Ok(Self { program })
    }

    /// Returns the values for one line, strings as they are and everything else as JSON. `null` and empty strings
    /// are left out, and a line that is no JSON yields nothing.
    pub fn apply(&self, line: &[u8]) -> Yield {
        let mut said = Yield::default();
        let Some(input) = value_of(line) else { return said };
        let context = Ctx::<Data>::new(&self.program.lut, Vars::new([]));
        let mut left = BYTES;
        for value in self.program.id.run((context, input)).take(VALUES) {
            let text = match value.map(text_of) {
                Ok(text) => text,
                Err(error) => {
                    said.error = error.get_err().ok().map(|error| one_line(&error.to_string(), ERROR_CHARS));
                    break;
                }
            };
            let Some(rest) = left.checked_sub(text.len()) else { break };
            left = rest;
            if !text.is_empty() {
                said.values.push(text);
            }
        }
        said
    }
}

/// Reads a line. jaq reads recursively, so a line that nests too deep must not reach it.
fn value_of(line: &[u8]) -> Option<Val> {
    let mut shape = Cursor::new(line);
    shape.skip().and_then(|()| shape.end()).ok()?;
    read::parse_single(line).ok()
}

fn text_of(value: Val) -> String {
    match value {
        Val::Null => String::new(),
        Val::TStr(text) | Val::BStr(text) => String::from_utf8_lossy(&text).into_owned(),
        other @ (Val::Bool(_) | Val::Num(_) | Val::Arr(_) | Val::Obj(_)) => other.to_string(),
    }
}

fn unreadable(errors: load::Errors<&str, ()>) -> FilterError {
    let place = errors.into_iter().find_map(|(_, error)| match error {
        load::Error::Io(found) => found.first().map(|(path, _)| (*path).to_owned()),
        load::Error::Lex(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
        load::Error::Parse(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
    });
    let problem = match place.map(|place| one_line(&place, 40)) {
        Some(place) if !place.is_empty() => format!("it cannot be read at {place:?}"),
        Some(_) | None => "it ends too early".to_owned(),
    };
    FilterError::Expression { problem }
}

fn undefined(errors: compile::Errors<&str, ()>) -> FilterError {
    let first = errors.into_iter().flat_map(|(_, found)| found).next();
    let problem =
        first.map_or_else(String::new, |(name, kind)| format!("there is no {} {name:?}", kind.as_str()));
    FilterError::Expression { problem }
}

/// Refuses an expression with more open brackets than people write: jaq reads recursively.
fn shallow(expression: String) -> Result<String, FilterError> {
    let mut open = 0_usize;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > DEEPEST {
            return Err(FilterError::Deep);
        }
    }
    Ok(expression)
}

/// Returns the expression inside the written form.
fn expression(source: &str) -> Result<String, FilterError> {
    let source = source.trim();
    if source.is_empty() {
        return Err(FilterError::Empty);
    }
    let is_command = source.strip_prefix("jq").is_some_and(|rest| rest.starts_with([' ', '\t', '\n']));
    if !is_command {
        let quoted = source.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        return Ok(quoted.unwrap_or(source).to_owned());
    }
    let words = shell_words::split(source).map_err(|_| FilterError::Quote)?;
    let mut words = words.into_iter().skip(1).filter(|word| !only_prints(word));
    let expression = words.next().ok_or(FilterError::Empty)?;
    if expression.starts_with('-') && expression.len() > 1 {
        return Err(FilterError::Option { option: expression });
    }
    words.next().map_or(Ok(expression), |word| Err(FilterError::Trailing { word }))
}

fn only_prints(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    PRINTING.contains(&word) || letters.is_some_and(|l| l.chars().all(|c| PRINTING_LETTERS.contains(c)))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
