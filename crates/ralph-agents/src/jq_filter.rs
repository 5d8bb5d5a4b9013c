//! The user's own filters: jq expressions, run in this process on one line at a time. They see the line and
//! nothing else: no environment, no clock, no terminal, and `halt` only ends the filter.
use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, compile};
use jaq_json::{Val, read};
use serde::{Deserialize, Serialize};

use super::tool_summary::to_one_line;
use ralph_util::json::JsonCursor;
use ralph_util::shell_words;

/// What jq can reach beyond its input is hidden behind definitions of the same names.
const SANDBOX_DEFINITIONS: &str = "def env: {}; def now: null; def stderr: .; def debug: .; def debug(f): .; \
    def halt: empty; def halt(f): empty; def halt_error: empty; def halt_error(f): empty; ";

/// The command of this very binary that runs a filter in a process of its own, and what it may need there.
pub const FILTER_SUBCOMMAND: &str = "filter-lines";
pub const FILTER_MEMORY_MB: u64 = 512;

/// How much of a filter's own error is told.
const MAX_ERROR_CHARS: usize = 160;

/// How many brackets of a filter may be open at once.
const MAX_BRACKET_DEPTH: usize = 200;

/// How much one line may yield.
const MAX_VALUES_PER_LINE: usize = 1_000;
const MAX_BYTES_PER_LINE: usize = 1 << 20;

/// Flags of `jq` that change only how it prints, which is not its business here.
const PRINT_ONLY_FLAGS: &[&str] =
    &["--raw-output", "--join-output", "--compact-output", "--unbuffered", "--monochrome-output", "--ascii-output"];
const PRINT_ONLY_LETTERS: &str = "rjcMa";

const FILTER_HINT: &str = "write a jq expression, alone or as `jq -r 'EXPRESSION'`; other commands are not run";

type JaqDataKind = JustLut<Val>;

/// A compiled jq expression.
pub struct JqFilter {
    program: jaq_core::Filter<JaqDataKind>,
}

/// What a filter makes of one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterOutput {
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
    UnsupportedOption { option: String },
    #[error("the filter has {word:?} after the jq expression")]
    TrailingWord { word: String },
    #[error("the filter has a quote that is not closed")]
    UnclosedQuote,
    #[error("the filter nests too deep")]
    NestedTooDeep,
    #[error("the filter is no jq expression: {problem}")]
    InvalidExpression { problem: String },
}

impl FilterError {
    /// Says what to write instead.
    pub fn hint(&self) -> &'static str {
        FILTER_HINT
    }
}

impl JqFilter {
    /// Compiles a jq expression, or the command line `jq [-r -j -c --unbuffered] 'EXPRESSION'`.
    pub fn compile(source: &str) -> Result<Self, FilterError> {
        let code = format!("{SANDBOX_DEFINITIONS}{}", ensure_shallow(extract_expression(source)?)?);
        let defs = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let funs = jaq_core::funs::<JaqDataKind>().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let modules = Loader::new(defs).load(&arena, File { code: &code, path: () }).map_err(syntax_error)?;
        let program = Compiler::default().with_funs(funs).compile(modules).map_err(undefined_name_error)?;
        Ok(Self { program })
    }

    /// Returns the values for one line, strings as they are and everything else as JSON. `null` and empty strings
    /// are left out, and a line that is no JSON yields nothing.
    pub fn apply_to_line(&self, line: &[u8]) -> FilterOutput {
        let mut said = FilterOutput::default();
        let Some(input) = parse_line(line) else { return said };
        let context = Ctx::<JaqDataKind>::new(&self.program.lut, Vars::new([]));
        let mut left = MAX_BYTES_PER_LINE;
        for value in self.program.id.run((context, input)).take(MAX_VALUES_PER_LINE) {
            let text = match value.map(value_to_text) {
                Ok(text) => text,
                Err(error) => {
                    said.error = error.get_err().ok().map(|error| to_one_line(&error.to_string(), MAX_ERROR_CHARS));
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
fn parse_line(line: &[u8]) -> Option<Val> {
    let mut shape = JsonCursor::new(line);
    shape.skip_value().and_then(|()| shape.expect_end()).ok()?;
    read::parse_single(line).ok()
}

fn value_to_text(value: Val) -> String {
    match value {
        Val::Null => String::new(),
        Val::TStr(text) | Val::BStr(text) => String::from_utf8_lossy(&text).into_owned(),
        other @ (Val::Bool(_) | Val::Num(_) | Val::Arr(_) | Val::Obj(_)) => other.to_string(),
    }
}

fn syntax_error(errors: load::Errors<&str, ()>) -> FilterError {
    let place = errors.into_iter().find_map(|(_, error)| match error {
        load::Error::Io(found) => found.first().map(|(path, _)| (*path).to_owned()),
        load::Error::Lex(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
        load::Error::Parse(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
    });
    let problem = match place.map(|place| to_one_line(&place, 40)) {
        Some(place) if !place.is_empty() => format!("it cannot be read at {place:?}"),
        Some(_) | None => "it ends too early".to_owned(),
    };
    FilterError::InvalidExpression { problem }
}

fn undefined_name_error(errors: compile::Errors<&str, ()>) -> FilterError {
    let first = errors.into_iter().flat_map(|(_, found)| found).next();
    let problem = first.map_or_else(String::new, |(name, kind)| format!("there is no {} {name:?}", kind.as_str()));
    FilterError::InvalidExpression { problem }
}

/// Refuses an expression with more open brackets than people write: jaq reads recursively.
fn ensure_shallow(expression: String) -> Result<String, FilterError> {
    let mut open = 0_usize;
    for byte in expression.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_BRACKET_DEPTH {
            return Err(FilterError::NestedTooDeep);
        }
    }
    Ok(expression)
}

/// Returns the expression inside the written form.
fn extract_expression(source: &str) -> Result<String, FilterError> {
    let source = source.trim();
    if source.is_empty() {
        return Err(FilterError::Empty);
    }
    let is_command = source.strip_prefix("jq").is_some_and(|rest| rest.starts_with([' ', '\t', '\n']));
    if !is_command {
        let quoted = source.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        return Ok(quoted.unwrap_or(source).to_owned());
    }
    let words = shell_words::split_words(source).map_err(|_| FilterError::UnclosedQuote)?;
    let mut words = words.into_iter().skip(1).filter(|word| !is_print_only_flag(word));
    let expression = words.next().ok_or(FilterError::Empty)?;
    if expression.starts_with('-') && expression.len() > 1 {
        return Err(FilterError::UnsupportedOption { option: expression });
    }
    words.next().map_or(Ok(expression), |word| Err(FilterError::TrailingWord { word }))
}

fn is_print_only_flag(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.is_empty());
    PRINT_ONLY_FLAGS.contains(&word) || letters.is_some_and(|l| l.chars().all(|c| PRINT_ONLY_LETTERS.contains(c)))
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
