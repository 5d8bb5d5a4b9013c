//! Wraps lines to the width of a terminal. Hand-written because rows align with the text after a label, and colours
//! take no columns.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Lines are not wrapped to fewer columns than this.
const MIN_WRAP_COLUMNS: usize = 16;

/// Wraps a line into rows of at most `columns`, between words where possible. All rows have the indentation of the first.
pub(super) fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(MIN_WRAP_COLUMNS);
    let words = line.trim_start_matches(' ');
    let indent = (line.len() - words.len()).min(columns / 2);
    let mut rows = Vec::new();
    let mut rest = words.trim_end();
    loop {
        let (row, later) = split_row(rest, columns - indent);
        rows.push(format!("{:indent$}{row}", ""));
        if later.is_empty() {
            return rows;
        }
        rest = later;
    }
}

/// Wraps a line between words only: a word that is longer than a row is not split, so that it can be copied. Further rows
/// align with the text after the label, as in `outcome  exhausted: …`, or after the last of several labels.
pub(super) fn wrap_with_hanging_indent(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(MIN_WRAP_COLUMNS);
    let indent = hanging_indent(line, columns / 2);
    let mut rows = vec![String::new()];
    for word in line.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if fits_in_row(word, row, indent, columns) => row.push_str(word),
            Some(_) | None => rows.push(format!("{:indent$}{word}", "")),
        }
    }
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

/// Returns whether a word belongs in this row: it fits, or a new row would have no more room. Spaces never start a row.
fn fits_in_row(word: &str, row: &str, indent: usize, columns: usize) -> bool {
    let taken = display_width(row);
    let word = word.trim_end();
    taken + display_width(word) <= columns || taken <= indent || row.trim().is_empty() || word.is_empty()
}

/// Returns the indentation of the rows after the first.
fn hanging_indent(line: &str, max_indent: usize) -> usize {
    let follows_gap = |at: usize| line[..at].is_empty() || line[..at].ends_with("  ");
    let starts = line.char_indices().filter(|(at, letter)| *letter != ' ' && follows_gap(*at));
    let columns = starts.map(|(at, _)| display_width(&line[..at]));
    columns.take_while(|column| *column <= max_indent).last().unwrap_or(0)
}

/// Returns the number of columns of a text. Colours take none.
fn display_width(text: &str) -> usize {
    let mut pieces = text.split("\x1b[");
    let plain = pieces.next().unwrap_or_default();
    let coloured = pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, text)| text));
    std::iter::once(plain).chain(coloured).map(UnicodeWidthStr::width).sum()
}

/// Truncates a line and marks the end with an ellipsis.
#[must_use]
pub fn truncate_line(line: &str, columns: usize) -> String {
    if fitting_end(line, columns) == line.len() {
        return line.to_owned();
    }
    let (shown, _) = line.split_at(fitting_end(line, columns.saturating_sub(1)));
    format!("{shown}…")
}

/// Splits off as many words as fit, or a part of a word that is longer than the room.
fn split_row(text: &str, room: usize) -> (&str, &str) {
    let end = fitting_end(text, room);
    let (head, tail) = text.split_at(end);
    let between = if tail.is_empty() || tail.starts_with(' ') { Some(end) } else { head.rfind(' ') };
    let (row, later) = text.split_at(between.unwrap_or(end));
    (row.trim_end(), later.trim_start_matches(' '))
}

/// Returns the byte offset up to which a text fits. The first character always fits.
fn fitting_end(text: &str, room: usize) -> usize {
    let mut taken = 0;
    let beyond = text.char_indices().find(|(at, character)| {
        taken += character.width().unwrap_or(0);
        taken > room && *at > 0
    });
    beyond.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test] // spec: U1
    fn a_line_is_wrapped_between_words() {
        assert_eq!(
            wrap_line("the tests pass now and the plan is done", 20),
            ["the tests pass now", "and the plan is done"]
        );
        assert_eq!(wrap_line("it fits", 20), ["it fits"]);
        assert_eq!(wrap_line("", 20), [""]);
    }

    #[test] // spec: U1
    fn continuation_rows_keep_the_indent() {
        assert_eq!(wrap_line("    let sum = first + second;", 20), ["    let sum = first", "    + second;"]);
        let deep = wrap_line(&format!("{:60}deep down", ""), 20);
        assert_eq!(deep, ["          deep down"], "half of the width is left for words");
    }

    #[test] // spec: U1
    fn spaces_inside_a_row_are_kept_and_trailing_spaces_are_removed() {
        assert_eq!(wrap_line("name   size", 20), ["name   size"]);
        assert_eq!(wrap_line("a word at the edge    next", 18), ["a word at the edge", "next"]);
    }

    #[test] // spec: U1
    fn a_word_that_is_too_long_is_split_at_the_row_end() {
        assert_eq!(wrap_line("see https://example.org/a/long/way", 20), ["see", "https://example.org/", "a/long/way"]);
    }

    #[test] // spec: U1
    fn wide_characters_take_two_columns() {
        assert_eq!(wrap_line("完了しました、すべて", 16), ["完了しました、す", "べて"]);
        assert_eq!(truncate_line("完了しました", 7), "完了し…");
    }

    #[test] // spec: U1
    fn a_truncated_line_ends_with_an_ellipsis_and_is_never_too_wide() {
        assert_eq!(truncate_line("● Bash  cargo test", 18), "● Bash  cargo test");
        assert_eq!(truncate_line("● Bash  cargo test", 17), "● Bash  cargo te…");
    }

    #[test] // spec: U1
    fn continuation_rows_align_with_the_text_after_the_label() {
        assert_eq!(
            wrap_with_hanging_indent("outcome  exhausted: no claim within two iterations", 30),
            ["outcome  exhausted: no claim", "         within two iterations"]
        );
        assert_eq!(
            wrap_with_hanging_indent("  claimed   the last message says so", 26),
            ["  claimed   the last", "            message says", "            so"]
        );
        assert_eq!(
            wrap_with_hanging_indent("  good  disk   there is much room left", 30),
            ["  good  disk   there is much", "               room left"]
        );
        assert_eq!(wrap_with_hanging_indent("", 30), [""]);
        assert_eq!(
            wrap_with_hanging_indent("a label that is far too long  and words", 20),
            ["a label that is far", "too long  and words"]
        );
    }

    #[test] // spec: U1
    fn a_word_that_is_longer_than_a_row_can_still_be_copied() {
        assert_eq!(
            wrap_with_hanging_indent("log  see /home/me/project/.ralph/logs/build.log there", 20),
            ["log  see", "     /home/me/project/.ralph/logs/build.log", "     there"]
        );
        let alone = "log  /home/me/project/.ralph/logs/build.log";
        assert_eq!(wrap_with_hanging_indent(alone, 20), [alone], "a label is never alone in its row");
    }

    #[test] // spec: U1
    fn no_row_starts_with_column_spacing() {
        assert_eq!(
            wrap_with_hanging_indent("4711  completed      1 iteration  1 check passed", 24),
            ["4711  completed      1", "      iteration  1 check", "      passed"]
        );
        assert_eq!(
            wrap_with_hanging_indent("4711  exhausted         no claim", 16),
            ["4711  exhausted", "      no claim"]
        );
    }

    #[test] // spec: U1
    fn colors_take_no_columns() {
        assert_eq!(
            wrap_with_hanging_indent("\x1b[1mralph run\x1b[0m · twenty", 18),
            ["\x1b[1mralph run\x1b[0m · twenty"]
        );
    }

    proptest! {
        #[test] // spec: U1
        fn no_word_is_split_and_none_is_lost(line in "[ a-zé完]{0,200}", columns in 16_usize..90) {
            let rows = wrap_with_hanging_indent(&line, columns);
            let words: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
            prop_assert_eq!(words, line.split_whitespace().collect::<Vec<_>>());
            // A longer row contains one long word, alone or after a label.
            let before_last = |row: &str| row.rfind(' ').map_or(0, |end| row[..end].trim_end().width());
            let fits = |row: &String| row.width() <= columns || before_last(row) <= columns / 2;
            prop_assert!(rows.iter().all(fits), "{:?}", rows);
        }

        #[test] // spec: U1
        fn nothing_is_lost_and_no_row_is_too_wide(line in "[ a-zé完]{0,200}", columns in 16_usize..90) {
            let rows = wrap_line(&line, columns);
            let without_spaces = |text: &str| text.replace(' ', "");
            prop_assert_eq!(without_spaces(&rows.concat()), without_spaces(&line));
            prop_assert!(rows.iter().all(|row| row.width() <= columns), "{:?}", rows);
        }
    }
}
