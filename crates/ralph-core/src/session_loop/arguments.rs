//! Parses the arguments of `/ralph`, one text with a task in plain language and options around it. No shell has parsed
//! it, so quotation marks and dollar signs in the task are literal. Ambiguous input is an error, because a truncated
//! check would prove less than requested. Hand-written because argument parsers expect words that a shell has split.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The task, and the options as written, without their dashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoopArguments {
    pub task: String,
    pub options: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoopArgumentError {
    #[error("--{name} has no value")]
    MissingValue { name: String },
    #[error("--{name} is not a loop option")]
    UnknownOption { name: String },
    #[error("{word} is not a loop option: write --{name} with two dashes")]
    WrongDash { word: String, name: String },
    #[error("the quotation mark in the value of --{name} is not closed")]
    UnclosedQuote { name: String },
    #[error("the value of --{name} is in typographic quotation marks")]
    TypographicQuote { name: String },
    #[error("the task has words before and after --{name}")]
    SplitTask { name: String },
    #[error("--{name} is between quotation marks, and it is ambiguous which one closes the task")]
    AmbiguousQuote { name: String },
    #[error("the task is missing")]
    MissingTask,
}

/// Parses the text. `known_options` are the names of the options; each option takes a value.
pub fn parse_loop_arguments(text: &str, known_options: &[&str]) -> Result<LoopArguments, LoopArgumentError> {
    let (mut task, mut options) = (String::new(), Vec::<(String, String)>::new());
    let (mut rest, mut is_task_ended) = (text, false);
    while let Some(piece) = ArgumentPiece::split_first(rest) {
        rest = piece.rest;
        let Some((name, after)) = piece.as_option(text) else {
            if let Some((name, _)) = options.last().filter(|_| is_task_ended && !piece.word.is_empty()) {
                return Err(LoopArgumentError::SplitTask { name: name.clone() });
            }
            reject_misplaced_option(&piece, known_options)?;
            task.push_str(piece.with_leading_space);
            continue;
        };
        if !known_options.contains(&name) {
            return Err(LoopArgumentError::UnknownOption { name: name.to_string() });
        }
        let (value, remainder) = parse_value(name, after)?;
        options.push((name.to_string(), value));
        rest = remainder;
        is_task_ended = !task.trim().is_empty();
    }
    match strip_outer_quotes(task.trim()) {
        "" => Err(LoopArgumentError::MissingTask),
        task => Ok(LoopArguments { task: task.to_string(), options }),
    }
}

/// Refuses words of the task that were probably meant as an option.
fn reject_misplaced_option(piece: &ArgumentPiece<'_>, known_options: &[&str]) -> Result<(), LoopArgumentError> {
    let name_of = |word: &str| {
        let name = word.split(|c: char| !c.is_ascii_alphabetic() && c != '-').next().unwrap_or("");
        known_options.iter().find(|known| **known == name).map(ToString::to_string)
    };
    // Some keyboards replace two dashes by one long dash.
    if let Some(name) = piece.word.strip_prefix(['-', '\u{2013}', '\u{2014}']).and_then(name_of) {
        return Err(LoopArgumentError::WrongDash { word: piece.word.to_string(), name });
    }
    let inside = strip_outer_quotes(piece.word);
    let inner_quotes = piece.word.chars().next().map_or(0, |quote| inside.matches(quote).count());
    let swallowed = inside.split("--").skip(1).find_map(name_of);
    match swallowed.filter(|_| inside.len() < piece.word.len() && inner_quotes > 0) {
        Some(name) => Err(LoopArgumentError::AmbiguousQuote { name }),
        None => Ok(()),
    }
}

/// A word and the white space before it.
struct ArgumentPiece<'a> {
    with_leading_space: &'a str,
    word: &'a str,
    rest: &'a str,
}

impl<'a> ArgumentPiece<'a> {
    /// Splits off the first word, or the trailing white space.
    fn split_first(text: &'a str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let start = text.len() - text.trim_start().len();
        let after = text.get(start..).unwrap_or("");
        let plain = after.find(char::is_whitespace).unwrap_or(after.len());
        let (whole, rest) = text.split_at_checked(start + find_task_quote_end(after).unwrap_or(plain))?;
        Some(Self { with_leading_space: whole, word: whole.get(start..).unwrap_or(""), rest })
    }

    /// If this word is an option, returns its name and the text that starts with its value.
    fn as_option(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let option = self.word.strip_prefix("--")?;
        if !option.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        let Some((name, value)) = option.split_once('=') else {
            return Some((option, self.rest.trim_start()));
        };
        let after = text.get(text.len() - self.rest.len() - value.len()..)?;
        Some((name, after))
    }
}

/// Reads the value at the start of a text, and returns it with the text after it. A value in quotation marks ends at
/// the closing mark; `\"` does not close it. A mark inside an unquoted value must be closed within the word.
fn parse_value<'a>(name: &str, text: &'a str) -> Result<(String, &'a str), LoopArgumentError> {
    let unclosed = || LoopArgumentError::UnclosedQuote { name: name.to_string() };
    let plain = text.find(char::is_whitespace).unwrap_or(text.len());
    match text.chars().next().filter(|_| plain > 0) {
        None => Err(LoopArgumentError::MissingValue { name: name.to_string() }),
        Some('"' | '\'') => {
            let end = find_value_quote_end(text).ok_or_else(unclosed)?;
            let inside = text.get(1..end - 1).unwrap_or("");
            let inside = if text.starts_with('"') { inside.replace("\\\"", "\"") } else { inside.to_string() };
            Ok((inside, text.get(end..).unwrap_or("")))
        }
        Some(first) if TYPOGRAPHIC_QUOTES.contains(first) => {
            Err(LoopArgumentError::TypographicQuote { name: name.to_string() })
        }
        Some(_) => {
            let (word, rest) = text.split_at_checked(plain).unwrap_or((text, ""));
            let is_odd = |quote: char| word.matches(quote).count() % 2 == 1;
            if is_odd('"') || is_odd('\'') { Err(unclosed()) } else { Ok((word.to_string(), rest)) }
        }
    }
}

/// Quotation marks that some keyboards insert instead of plain ones.
const TYPOGRAPHIC_QUOTES: &str =
    "\u{201c}\u{201d}\u{201e}\u{201f}\u{2018}\u{2019}\u{201a}\u{201b}\u{ab}\u{bb}\u{2039}\u{203a}\u{ff02}\u{ff07}";

/// Returns the end of the quotation at the start of a task: the first closing mark that also ends a word. Other
/// quotation marks are literal.
fn find_task_quote_end(text: &str) -> Option<usize> {
    closing_quote_ends(text)?.find(|end| text.get(*end..).is_some_and(is_word_boundary))
}

/// Returns the end of the quotation at the start of a value. In double quotes, `\"` does not close it.
fn find_value_quote_end(text: &str) -> Option<usize> {
    let is_closing = |end: &usize| {
        let before = text.get(..end - 1).unwrap_or("");
        !(text.starts_with('"') && before.ends_with('\\')) && text.get(*end..).is_some_and(is_word_boundary)
    };
    closing_quote_ends(text)?.find(is_closing)
}

/// Returns the ends of all marks that could close the quotation at the start of a text.
fn closing_quote_ends(text: &str) -> Option<impl Iterator<Item = usize>> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    Some(text.match_indices(quote).map(|(at, _)| at + 1).skip(1))
}

fn is_word_boundary(after: &str) -> bool {
    after.is_empty() || after.starts_with(char::is_whitespace)
}

/// Removes the quotation marks around a text.
fn strip_outer_quotes(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    match inside('"').or_else(|| inside('\'')) {
        Some(inside) if find_task_quote_end(text) == Some(text.len()) => inside,
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN_OPTIONS: &[&str] = &["max-iterations", "completion-promise", "check"];

    #[track_caller]
    fn assert_parses_as(text: &str, task: &str, options: &[(&str, &str)]) {
        let parsed = parse_loop_arguments(text, KNOWN_OPTIONS).unwrap();
        let found: Vec<_> = parsed.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((parsed.task.as_str(), found.as_slice()), (task, options), "{text}");
    }

    // spec: H2, H5
    #[test]
    fn options_are_accepted_with_and_without_an_equals_sign_before_and_after_the_task() {
        let both = [("max-iterations", "25"), ("completion-promise", "ALL_FIXED")];
        assert_parses_as("\"Fix src/\" --max-iterations=25 --completion-promise=ALL_FIXED", "Fix src/", &both);
        assert_parses_as("--max-iterations 25 'Fix src/' --completion-promise ALL_FIXED", "Fix src/", &both);
        assert_parses_as("fix it --check \"cargo test --all\"", "fix it", &[("check", "cargo test --all")]);
        assert_parses_as(
            "fix it --check='make \"a b\"' --check true",
            "fix it",
            &[("check", "make \"a b\""), ("check", "true")],
        );
    }

    // spec: H2, X1
    // fault: 114
    #[test]
    fn a_task_is_plain_language_and_nothing_in_it_is_expanded() {
        assert_parses_as("don't touch $HOME, `id` or \"x\" --- ok", "don't touch $HOME, `id` or \"x\" --- ok", &[]);
        assert_parses_as("line one\r\nline  two\n---\n", "line one\r\nline  two\n---", &[]);
        assert_parses_as("\"say 'hi' to 'them'\" --check x", "say 'hi' to 'them'", &[("check", "x")]);
        // It is ambiguous which mark closes the quotation, so the marks are kept.
        assert_parses_as("\"say \"hi\" to them\" --check x", "\"say \"hi\" to them\"", &[("check", "x")]);
        assert_parses_as("\"a\" and \"b\"", "\"a\" and \"b\"", &[]);
        assert_parses_as("\"make --help work\"", "make --help work", &[]);
        assert_parses_as("-- --5 -x", "-- --5 -x", &[]);
    }

    // spec: H2
    #[test]
    fn a_double_quoted_value_may_contain_escaped_quotes() {
        assert_parses_as("fix --check \"sh -c \\\"a b\\\"\"", "fix", &[("check", "sh -c \"a b\"")]);
        assert_parses_as("fix --check=\"echo \\\" x\"", "fix", &[("check", "echo \" x")]);
        assert_parses_as(
            "fix --check='grep \\\"x' --check \"a \\\\ b\"",
            "fix",
            &[("check", "grep \\\"x"), ("check", "a \\\\ b")],
        );
        assert_parses_as("--check 'it''s' fix", "fix", &[("check", "it''s")]);
        assert_parses_as("fix --check A=\"b\"", "fix", &[("check", "A=\"b\"")]);
    }

    // spec: H2, V2
    #[test]
    fn a_truncated_check_is_never_accepted() {
        let error = |text| parse_loop_arguments(text, KNOWN_OPTIONS).unwrap_err().to_string();
        let split = "the task has words before and after --check";
        assert_eq!(error("fix it --check cargo test"), split);
        assert_eq!(error("\"fix it\" --max-iterations 3 --check=cargo test"), split);
        assert_eq!(error("fix --check \"a\" it"), split);
        let unclosed = "the quotation mark in the value of --check is not closed";
        assert_eq!(error("fix it --check \"cargo test"), unclosed);
        assert_eq!(error("fix it --check='cargo test"), unclosed);
        assert_eq!(error("--check \"a\"b fix it"), unclosed);
        assert_eq!(error("--check A=\"b c\" fix it"), unclosed);
        assert_eq!(error("fix --check \""), unclosed);
        let typographic = "the value of --check is in typographic quotation marks";
        assert_eq!(error("fix it --check \u{201c}cargo test\u{201d}"), typographic);
        assert_eq!(error("fix it --check=\u{201e}cargo test\u{201c}"), typographic);
        assert_eq!(error("fix it --check \u{2019}true\u{2019}"), typographic);
    }

    // spec: H2, V2
    #[test]
    fn a_check_never_becomes_part_of_the_task() {
        let error = |text| parse_loop_arguments(text, KNOWN_OPTIONS).unwrap_err().to_string();
        assert_eq!(
            error("fix it \u{2014}check \"cargo test\""),
            "\u{2014}check is not a loop option: write --check with two dashes"
        );
        assert_eq!(error("fix -check=x"), "-check=x is not a loop option: write --check with two dashes");
        assert_eq!(
            error("\"fix it --check \"cargo test\""),
            "--check is between quotation marks, and it is ambiguous which one closes the task"
        );
        assert_parses_as("\"explain --check and -check\"", "explain --check and -check", &[]);
        assert_parses_as("say -x \u{2014} or \u{2014}checks", "say -x \u{2014} or \u{2014}checks", &[]);
    }

    // spec: H2
    #[test]
    fn unknown_options_and_missing_values_are_rejected() {
        let error = |text| parse_loop_arguments(text, KNOWN_OPTIONS).unwrap_err().to_string();
        assert_eq!(error("fix --max-iteration 3"), "--max-iteration is not a loop option");
        assert_eq!(error("fix --check"), "--check has no value");
        assert_eq!(error("fix --check  "), "--check has no value");
        assert_eq!(error("fix --check= x"), "--check has no value");
        assert_eq!(error(" \n"), "the task is missing");
        assert_eq!(error("\"\" --check x"), "the task is missing");
    }

    proptest::proptest! {
        // spec: H2
        #[test]
        fn no_input_makes_the_parser_panic(text in ".*") {
            drop(parse_loop_arguments(&text, KNOWN_OPTIONS));
        }

        // spec: H2
        // fault: 114
        #[test]
        fn a_quoted_task_is_parsed_unchanged(task in "[^\"]*[^\"\\s]") {
            let task = task.trim();
            let parsed = parse_loop_arguments(&alloc::format!("\"{task}\" --check x"), KNOWN_OPTIONS).unwrap();
            proptest::prop_assert_eq!(parsed.task, task);
        }
    }
}
