//! Breaks lines so that they fit a terminal. Text in, text out; it prints nothing.
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A terminal that is narrower than this is left to break lines itself.
const LEAST_COLUMNS: usize = 16;

/// Breaks a line into rows of at most so many columns, between words where it can. All rows are indented as the first.
pub(super) fn wrapped(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(LEAST_COLUMNS);
    let words = line.trim_start_matches(' ');
    let indent = (line.len() - words.len()).min(columns / 2);
    let mut rows = Vec::new();
    let mut rest = words.trim_end();
    loop {
        let (row, later) = split(rest, columns - indent);
        rows.push(format!("{:indent$}{row}", ""));
        if later.is_empty() {
            return rows;
        }
        rest = later;
    }
}

/// Breaks a line between words only: what is longer than a row stays whole, so that it can be copied. What follows stands
/// below the words behind the label, as in `outcome  exhausted: …`, or behind the last of several.
pub(super) fn hanging(line: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(LEAST_COLUMNS);
    let indent = hang(line, columns / 2);
    let mut rows = vec![String::new()];
    for word in line.split_inclusive(' ') {
        match rows.last_mut() {
            Some(row) if is_for(word, row, (indent, columns)) => row.push_str(word),
            Some(_) | None => rows.push(format!("{:indent$}{word}", "")),
        }
    }
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

/// Tells whether a word belongs into this row: there is room for it, or a new row would have no more. Spaces begin no row.
fn is_for(word: &str, row: &str, (indent, columns): (usize, usize)) -> bool {
    let taken = width(row);
    let word = word.trim_end();
    taken + width(word) <= columns || taken <= indent || row.trim().is_empty() || word.is_empty()
}

/// Returns how far the rows after the first are indented.
fn hang(line: &str, most: usize) -> usize {
    let is_behind_gap = |at: usize| line[..at].is_empty() || line[..at].ends_with("  ");
    let starts = line.char_indices().filter(|(at, letter)| *letter != ' ' && is_behind_gap(*at));
    let columns = starts.map(|(at, _)| width(&line[..at]));
    columns.take_while(|column| *column <= most).last().unwrap_or(0)
}

/// Returns how many columns a text takes. Colours take none.
fn width(text: &str) -> usize {
    let mut pieces = text.split("\x1b[");
    let plain = pieces.next().unwrap_or_default();
    let coloured = pieces.map(|piece| piece.split_once('m').map_or(piece, |(_, text)| text));
    std::iter::once(plain).chain(coloured).map(UnicodeWidthStr::width).sum()
}

/// Cuts a line that is only a glimpse anyway, and marks the cut.
pub(super) fn fitting(line: &str, columns: usize) -> String {
    if end_within(line, columns) == line.len() {
        return line.to_owned();
    }
    let (shown, _) = line.split_at(end_within(line, columns.saturating_sub(1)));
    format!("{shown}…")
}

/// Splits off as many words as there is room for, or a piece of a word that is longer than that.
fn split(text: &str, room: usize) -> (&str, &str) {
    let end = end_within(text, room);
    let (head, tail) = text.split_at(end);
    let between = if tail.is_empty() || tail.starts_with(' ') { Some(end) } else { head.rfind(' ') };
    let (row, later) = text.split_at(between.unwrap_or(end));
    (row.trim_end(), later.trim_start_matches(' '))
}

/// Returns where a text has filled its room. One character is taken whatever the room is.
fn end_within(text: &str, room: usize) -> usize {
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
    fn a_line_is_broken_between_words() {
        assert_eq!(
            wrapped("the tests pass now and the plan is done", 20),
            ["the tests pass now", "and the plan is done"]
        );
        assert_eq!(wrapped("it fits", 20), ["it fits"]);
        assert_eq!(wrapped("", 20), [""]);
    }

    #[test] // spec: U1
    fn what_follows_is_indented_as_the_beginning_is() {
        assert_eq!(wrapped("    let sum = first + second;", 20), ["    let sum = first", "    + second;"]);
        let deep = wrapped(&format!("{:60}deep down", ""), 20);
        assert_eq!(deep, ["          deep down"], "half of the room stays for words");
    }

    #[test] // spec: U1
    fn spaces_inside_a_row_stay_and_those_at_its_end_go() {
        assert_eq!(wrapped("name   size", 20), ["name   size"]);
        assert_eq!(wrapped("a word at the edge    next", 18), ["a word at the edge", "next"]);
    }

    #[test] // spec: U1
    fn a_word_that_is_too_long_is_broken_where_the_room_ends() {
        assert_eq!(
            wrapped("see https://example.org/a/long/way", 20),
            ["see", "https://example.org/", "a/long/way"]
        );
    }

    #[test] // spec: U1
    fn wide_characters_take_two_columns() {
        assert_eq!(wrapped("完了しました、すべて", 16), ["完了しました、す", "べて"]);
        assert_eq!(fitting("完了しました", 7), "完了し…");
    }

    #[test] // spec: U1
    fn a_glimpse_is_cut_with_a_mark_and_is_never_wider_than_its_room() {
        assert_eq!(fitting("● Bash  cargo test", 18), "● Bash  cargo test");
        assert_eq!(fitting("● Bash  cargo test", 17), "● Bash  cargo te…");
    }

    #[test] // spec: U1
    fn what_follows_a_label_stands_below_the_words_behind_it() {
        assert_eq!(
            hanging("outcome  exhausted: no claim within two iterations", 30),
            ["outcome  exhausted: no claim", "         within two iterations"]
        );
        assert_eq!(
            hanging("  claimed   the last message says so", 26),
            ["  claimed   the last", "            message says", "            so"]
        );
        assert_eq!(
            hanging("  good  disk   there is much room left", 30),
            ["  good  disk   there is much", "               room left"]
        );
        assert_eq!(hanging("", 30), [""]);
        assert_eq!(
            hanging("a label that is far too long  and words", 20),
            ["a label that is far", "too long  and words"]
        );
    }

    #[test] // spec: U1
    fn a_word_that_is_longer_than_a_row_can_still_be_copied() {
        assert_eq!(
            hanging("log  see /home/me/project/.ralph/logs/build.log there", 20),
            ["log  see", "     /home/me/project/.ralph/logs/build.log", "     there"]
        );
        let alone = "log  /home/me/project/.ralph/logs/build.log";
        assert_eq!(hanging(alone, 20), [alone], "a label does not stand alone");
    }

    #[test] // spec: U1
    fn the_spaces_between_columns_begin_no_row() {
        assert_eq!(
            hanging("4711  completed      1 iteration  1 check passed", 24),
            ["4711  completed      1", "      iteration  1 check", "      passed"]
        );
        assert_eq!(hanging("4711  exhausted         no claim", 16), ["4711  exhausted", "      no claim"]);
    }

    #[test] // spec: U1
    fn colours_take_no_room() {
        assert_eq!(hanging("\x1b[1mralph run\x1b[0m · twenty", 18), ["\x1b[1mralph run\x1b[0m · twenty"]);
    }

    proptest! {
        #[test] // spec: U1
        fn no_word_is_broken_and_none_is_lost(line in "[ a-zé完]{0,200}", columns in 16_usize..90) {
            let rows = hanging(&line, columns);
            let words: Vec<&str> = rows.iter().flat_map(|row| row.split_whitespace()).collect();
            prop_assert_eq!(words, line.split_whitespace().collect::<Vec<_>>());
            // Or one word is too long, alone or behind a label.
            let before_last = |row: &str| row.rfind(' ').map_or(0, |end| row[..end].trim_end().width());
            let fits = |row: &String| row.width() <= columns || before_last(row) <= columns / 2;
            prop_assert!(rows.iter().all(fits), "{:?}", rows);
        }

        #[test] // spec: U1
        fn nothing_is_lost_and_no_row_is_too_wide(line in "[ a-zé完]{0,200}", columns in 16_usize..90) {
            let rows = wrapped(&line, columns);
            let without_spaces = |text: &str| text.replace(' ', "");
            prop_assert_eq!(without_spaces(&rows.concat()), without_spaces(&line));
            prop_assert!(rows.iter().all(|row| row.width() <= columns), "{:?}", rows);
        }
    }
}
