//! The words behind `/ralph`, which arrive as one text: a task in plain language, and options around it. No shell has
//! seen it, and quotation marks and dollars in the task mean themselves.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// The task, and the options as they were written, without their dashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    pub task: String,
    pub options: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("--{name} has no value")]
    NoValue { name: String },
    #[error("--{name} is no option of a loop")]
    Unknown { name: String },
    #[error("there is no task")]
    NoTask,
}

/// Reads the words. `known` are the names of the options, each with a value.
pub fn parse_arguments(text: &str, known: &[&str]) -> Result<Arguments, ArgumentError> {
    let (mut task, mut options) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(piece) = Piece::first(rest) {
        rest = piece.rest;
        match piece.option() {
            None => task.push_str(piece.whole),
            Some((name, _)) if !known.contains(&name) => {
                return Err(ArgumentError::Unknown { name: name.to_string() });
            }
            Some((name, Some(value))) => options.push((name.to_string(), unquoted(value).to_string())),
            Some((name, None)) => {
                let value = Piece::first(rest).filter(|next| !next.word.is_empty());
                let value = value.ok_or_else(|| ArgumentError::NoValue { name: name.to_string() })?;
                options.push((name.to_string(), unquoted(value.word).to_string()));
                rest = value.rest;
            }
        }
    }
    match unquoted(task.trim()) {
        "" => Err(ArgumentError::NoTask),
        task => Ok(Arguments { task: task.to_string(), options }),
    }
}

/// A word with the white space before it.
struct Piece<'a> {
    whole: &'a str,
    word: &'a str,
    rest: &'a str,
}

impl<'a> Piece<'a> {
    /// Returns the first word, or what is left of the white space.
    fn first(text: &'a str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let start = text.len() - text.trim_start().len();
        let after = text.get(start..).unwrap_or("");
        let end = start + word_end(after);
        let (whole, rest) = text.split_at_checked(end)?;
        Some(Self { whole, word: whole.get(start..).unwrap_or(""), rest })
    }

    /// Returns the option that this word is: its name, and its value where that is written behind `=`.
    fn option(&self) -> Option<(&'a str, Option<&'a str>)> {
        let option = self.word.strip_prefix("--")?;
        if !option.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        Some(option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value))))
    }
}

/// Returns where a word ends. A quotation mark at its beginning, or behind the `=` of an option, holds it together up to
/// its partner, if that ends the word too; any other quotation mark is a letter.
fn word_end(text: &str) -> usize {
    let plain = text.find(char::is_whitespace).unwrap_or(text.len());
    let opening = match text.strip_prefix("--") {
        None => Some(0),
        Some(_) => text.get(..plain).and_then(|word| word.find('=')).map(|at| at + 1),
    };
    opening.and_then(|at| Some(at + quoted_end(text.get(at..)?)?)).unwrap_or(plain)
}

/// Returns where the quotation ends that the text begins with.
fn quoted_end(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let ends = text.match_indices(quote).map(|(at, _)| at + 1).skip(1);
    ends.into_iter().find(|end| text.get(*end..).is_some_and(is_border))
}

fn is_border(after: &str) -> bool {
    after.is_empty() || after.starts_with(char::is_whitespace)
}

/// Returns a text without the quotation marks around all of it.
fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    match inside('"').or_else(|| inside('\'')) {
        Some(inside) if quoted_end(text) == Some(text.len()) => inside,
        Some(_) | None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[&str] = &["max-iterations", "completion-promise", "check"];

    #[track_caller]
    fn reads(text: &str, task: &str, options: &[(&str, &str)]) {
        let read = parse_arguments(text, KNOWN).unwrap();
        let found: Vec<_> =
            read.options.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((read.task.as_str(), found.as_slice()), (task, options), "{text}");
    }

    // spec: H2, H5
    #[test]
    fn options_are_written_with_and_without_an_equals_sign_before_and_behind_the_task() {
        let both = [("max-iterations", "25"), ("completion-promise", "ALL_FIXED")];
        reads("\"Fix src/\" --max-iterations=25 --completion-promise=ALL_FIXED", "Fix src/", &both);
        reads("--max-iterations 25 'Fix src/' --completion-promise ALL_FIXED", "Fix src/", &both);
        reads("fix it --check \"cargo test --all\"", "fix it", &[("check", "cargo test --all")]);
        reads(
            "fix it --check='make \"a b\"' --check true",
            "fix it",
            &[("check", "make \"a b\""), ("check", "true")],
        );
    }

    // spec: H2, X1
    // fault: 114
    #[test]
    fn a_task_is_plain_language_and_nothing_in_it_is_expanded() {
        reads("don't touch $HOME, `id` or \"x\" --- ok", "don't touch $HOME, `id` or \"x\" --- ok", &[]);
        reads("line one\r\nline  two\n---\n", "line one\r\nline  two\n---", &[]);
        reads("\"say 'hi' to 'them'\" --check x", "say 'hi' to 'them'", &[("check", "x")]);
        // Which mark closes which nobody knows: they stay.
        reads("\"say \"hi\" to them\" --check x", "\"say \"hi\" to them\"", &[("check", "x")]);
        reads("\"a\" and \"b\"", "\"a\" and \"b\"", &[]);
        reads("\"make --help work\"", "make --help work", &[]);
        reads("-- --5 -x", "-- --5 -x", &[]);
    }

    // spec: H2
    #[test]
    fn what_is_no_option_or_has_no_value_is_refused() {
        let error = |text| parse_arguments(text, KNOWN).unwrap_err().to_string();
        assert_eq!(error("fix --max-iteration 3"), "--max-iteration is no option of a loop");
        assert_eq!(error("fix --check"), "--check has no value");
        assert_eq!(error("fix --check  "), "--check has no value");
        assert_eq!(error(" \n"), "there is no task");
        assert_eq!(error("\"\" --check x"), "there is no task");
    }

    proptest::proptest! {
        // spec: H2
        #[test]
        fn no_text_brings_it_down(text in ".*") {
            drop(parse_arguments(&text, KNOWN));
        }

        // spec: H2
        // fault: 114
        #[test]
        fn a_task_in_quotation_marks_comes_out_as_it_went_in(task in "[^\"]*[^\"\\s]") {
            let task = task.trim();
            let read = parse_arguments(&alloc::format!("\"{task}\" --check x"), KNOWN).unwrap();
            proptest::prop_assert_eq!(read.task, task);
        }
    }
}
