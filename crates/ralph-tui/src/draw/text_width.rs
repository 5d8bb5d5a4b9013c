//! Cuts and pads text by the columns that it takes in a terminal.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Cuts a text to at most this many columns; a cut is marked.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut used = 0;
    for character in text.chars() {
        let width = character.width().unwrap_or(0);
        if used + width >= columns {
            break;
        }
        shown.push(character);
        used += width;
    }
    if columns > 0 {
        shown.push('…');
    }
    shown
}

/// Cuts or pads a text to exactly this many columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let missing = columns.saturating_sub(fitted.width());
    format!("{fitted}{}", " ".repeat(missing))
}

/// Splits a text into lines of at most this many columns, between words where there are some.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split_inclusive(' ') {
            if !current.is_empty() && current.width() + word.trim_end().width() > columns {
                lines.push(std::mem::take(&mut current).trim_end().to_owned());
            }
            for character in word.chars() {
                if current.width() + character.width().unwrap_or(0) > columns {
                    lines.push(std::mem::take(&mut current));
                    if character == ' ' {
                        continue;
                    }
                }
                current.push(character);
            }
        }
        lines.push(current.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U4
    #[test]
    fn wide_characters_are_cut_and_padded_by_their_columns() {
        assert_eq!(fit("日本語テキスト", 7), "日本語…");
        assert_eq!(pad("日本", 6), "日本  ");
        assert_eq!(fit("short", 10), "short");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    }
}
