//! The user's filters: jq expressions that are applied to one line at a time. They have no access to the environment,
//! the clock or the terminal, and `halt` only ends the filter.
use jaq_core::data::JustLut;
use jaq_core::load::{self, Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, compile};
use jaq_json::{Val, read};
use serde::{Deserialize, Serialize};

use crate::stream::tool_summary::to_one_line;
use ralph_util::json::JsonCursor;
use ralph_util::shell_words;

/// Overrides the jq functions that reach beyond their input.
const SANDBOX_DEFINITIONS: &str = "def env: {}; def now: null; def stderr: .; def debug: .; def debug(f): .; \
    def halt: empty; def halt(f): empty; def halt_error: empty; def halt_error(f): empty; ";

/// The hidden ralph subcommand that runs a filter in a separate process, and the memory limit of that process.
pub const FILTER_SUBCOMMAND: &str = "filter-lines";
pub const FILTER_MEMORY_MB: u64 = 512;

/// Maximum length of a reported jq error.
const MAX_ERROR_CHARS: usize = 160;

/// Maximum nesting depth of brackets in a filter.
const MAX_BRACKET_DEPTH: usize = 200;

/// Output limits for one line.
const MAX_VALUES_PER_LINE: usize = 1_000;
const MAX_BYTES_PER_LINE: usize = 1 << 20;

/// Flags of `jq` that only affect its output formatting. They are accepted and ignored.
const PRINT_ONLY_FLAGS: &[&str] =
    &["--raw-output", "--join-output", "--compact-output", "--unbuffered", "--monochrome-output", "--ascii-output"];
const PRINT_ONLY_LETTERS: &str = "rjcMa";

const FILTER_HINT: &str = "write a jq expression, alone or as `jq -r 'EXPRESSION'`; other commands are not run";

type JaqDataKind = JustLut<Val>;

/// A compiled jq expression.
pub struct JqFilter {
    program: jaq_core::Filter<JaqDataKind>,
}

/// The output of a filter for one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterOutput {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// The error that stopped the filter, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("the filter is empty")]
    Empty,
    #[error("the filter uses `jq {option}`, which is not supported for single lines")]
    UnsupportedOption { option: String },
    #[error("unexpected {word:?} after the jq expression")]
    TrailingWord { word: String },
    #[error("the filter has an unclosed quote")]
    UnclosedQuote,
    #[error("the filter is nested too deeply")]
    NestedTooDeep,
    #[error("the filter is not a valid jq expression: {problem}")]
    InvalidExpression { problem: String },
}

impl FilterError {
    /// Returns a hint that describes valid filters.
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

    /// Returns the values for one line: strings unchanged, everything else as JSON. `null` and empty strings are
    /// omitted, and a line that is not JSON yields nothing.
    pub fn apply_to_line(&self, line: &[u8]) -> FilterOutput {
        let mut output = FilterOutput::default();
        let Some(input) = parse_line(line) else { return output };
        let context = Ctx::<JaqDataKind>::new(&self.program.lut, Vars::new([]));
        let mut left = MAX_BYTES_PER_LINE;
        for value in self.program.id.run((context, input)).take(MAX_VALUES_PER_LINE) {
            let text = match value.map(value_to_text) {
                Ok(text) => text,
                Err(error) => {
                    output.error = error.get_err().ok().map(|error| to_one_line(&error.to_string(), MAX_ERROR_CHARS));
                    break;
                }
            };
            let Some(rest) = left.checked_sub(text.len()) else { break };
            left = rest;
            if !text.is_empty() {
                output.values.push(text);
            }
        }
        output
    }
}

/// Parses a line. jaq parses recursively, so lines that are nested too deeply are rejected first.
fn parse_line(line: &[u8]) -> Option<Val> {
    let mut cursor = JsonCursor::new(line);
    cursor.skip_value().and_then(|()| cursor.expect_end()).ok()?;
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
    let position = errors.into_iter().find_map(|(_, error)| match error {
        load::Error::Io(found) => found.first().map(|(path, _)| (*path).to_owned()),
        load::Error::Lex(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
        load::Error::Parse(found) => found.first().map(|(_, rest)| (*rest).to_owned()),
    });
    let problem = match position.map(|rest| to_one_line(&rest, 40)) {
        Some(rest) if !rest.is_empty() => format!("syntax error at {rest:?}"),
        Some(_) | None => "unexpected end".to_owned(),
    };
    FilterError::InvalidExpression { problem }
}

fn undefined_name_error(errors: compile::Errors<&str, ()>) -> FilterError {
    let first = errors.into_iter().flat_map(|(_, found)| found).next();
    let problem = first.map_or_else(String::new, |(name, kind)| format!("undefined {} {name:?}", kind.as_str()));
    FilterError::InvalidExpression { problem }
}

/// Rejects an expression that is nested too deeply, because jaq parses recursively.
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

/// Returns the expression in `source`, which may be a bare expression, a quoted one, or a `jq` command line.
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
