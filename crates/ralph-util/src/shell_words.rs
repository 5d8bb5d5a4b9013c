//! Splits a command line into words like a shell, without expansion.
//!
//! Hand-written because the `shlex` crate treats a word that begins with `#` as a comment and drops the rest of the
//! line. Here it is an argument of the user and must not be lost.

/// The command line has a quotation mark that is not closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a quotation mark is not closed")]
pub struct UnclosedQuote;

/// Returns the words. Quotation marks and backslashes quote; `$` and backquotes have no special meaning.
pub fn split_words(source: &str) -> Result<Vec<String>, UnclosedQuote> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = source.chars();
    while let Some(character) = rest.next() {
        match character {
            '\'' | '"' => word.get_or_insert_default().push_str(&read_quoted(character, &mut rest)?),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            space if space.is_whitespace() => words.extend(word.take()),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Reads to the closing quote. Inside double quotes a backslash escapes only `"`, `\`, `$` and a backquote.
fn read_quoted(quote: char, rest: &mut std::str::Chars<'_>) -> Result<String, UnclosedQuote> {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            end if end == quote => return Ok(text),
            '\\' if quote == '"' => {
                let next = rest.next().ok_or(UnclosedQuote)?;
                if !matches!(next, '"' | '\\' | '$' | '`') {
                    text.push('\\');
                }
                text.push(next);
            }
            plain => text.push(plain),
        }
    }
    Err(UnclosedQuote)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, proptest};

    use super::*;

    #[test] // spec: C2
    fn words_are_split_as_a_shell_would_and_nothing_is_expanded() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            ("  -p  --verbose ", &["-p", "--verbose"]),
            ("--say 'two words' \"and $HOME\"", &["--say", "two words", "and $HOME"]),
            ("a\\ b '' \"\\\"\"", &["a b", "", "\""]),
            ("$(ls) `ls` *", &["$(ls)", "`ls`", "*"]),
            ("--issue #3 b\r\nc", &["--issue", "#3", "b", "c"]),
        ];
        for (line, words) in cases {
            assert_eq!(split_words(line).unwrap(), *words, "{line}");
        }
        assert_eq!(split_words("'open"), Err(UnclosedQuote));
        assert_eq!(split_words("\"open\\"), Err(UnclosedQuote));
    }

    proptest! {
        #[test] // spec: C2
        fn any_text_is_split_or_refused(line in any::<String>()) {
            if let Ok(words) = split_words(&line) {
                prop_assert!(words.iter().map(String::len).sum::<usize>() <= line.len());
            }
        }
    }
}
