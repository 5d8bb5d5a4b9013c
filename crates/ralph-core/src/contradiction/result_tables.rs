//! Searches the tables of a message: a cross or a bad word in a status column means that work is open.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::markdown_lines::LineKind;
use crate::claim::parsed_message::ParsedMessage;
use crate::claim::prose_words::{ProseWord, has_match};
use crate::claim::slice_or_empty;

/// Headings of columns that contain the current status.
const STATUS_COLUMNS: &[&str] =
    &["status/state/result/results/done/passes/pass/passed/check/outcome/verdict/progress/now/after/ok/\
        current/\
        currently/today/complete/completed/implemented/verified/tests/ci/build/met/ready/finished"];
/// Headings of columns whose content is never a status.
const OTHER_COLUMNS: &[&str] =
    &["before/old/previously/was/example/input/meaning/description/response/condition/expected/case"];

/// Words that mark open work in a status column.
const BAD_CELL_WORDS: &[&str] = &[
    "< fail/failed/failing/fails/red/broken/todo/pending/missing/incomplete/partial/partially/open/\
        blocked/tbd/wip/\
        unfinished/untested/outstanding/skipped/error/errors/crashes/flaky/deferred/stub/stubbed/no/\
        unverified",
    "not .. done/implemented/started/run/tested/verified/complete/finished/yet/working/met",
    "in progress",
    "to do",
    "# failed/failing/failures/errors",
];

/// Returns the byte range of the first row that reports open work.
pub(super) fn find_open_row(view: &ParsedMessage<'_>) -> Option<Range<usize>> {
    let mut head: Vec<Vec<ProseWord>> = Vec::new();
    for line in 0..view.lines.len() {
        let range = view.line_range(line);
        if view.line_kind(line) != LineKind::Table {
            head.clear();
            continue;
        }
        if head.is_empty() {
            head = cell_ranges(view, &range).into_iter().map(|cell| view.words_in(cell)).collect();
            continue;
        }
        let bad =
            cell_ranges(view, &range).into_iter().zip(&head).skip(1).any(|(cell, head)| is_bad_cell(view, cell, head));
        if bad {
            return Some(range);
        }
    }
    None
}

fn is_bad_cell(view: &ParsedMessage<'_>, cell: Range<usize>, head: &[ProseWord]) -> bool {
    let crossed = slice_or_empty(view.text, cell.clone()).contains([
        '\u{274c}',
        '\u{2717}',
        '\u{2718}',
        '\u{2716}',
        '\u{1f534}',
        '\u{26d4}',
        '\u{1f6a7}',
        '\u{23f3}',
    ]);
    let words = view.words_in(cell);
    let words = words.get(words.iter().take_while(|word| word.text == "\u{274c}").count()..).unwrap_or(&[]);
    let bad = has_match(words, BAD_CELL_WORDS) && !has_match(words, &["fixed/resolved/repaired"]) && words.len() <= 12;
    let status = has_match(head, STATUS_COLUMNS) && !has_match(head, OTHER_COLUMNS);
    (crossed && (status || bad) && !has_match(head, OTHER_COLUMNS)) || (status && bad)
}

/// Returns the byte ranges of the cells of a row.
fn cell_ranges(view: &ParsedMessage<'_>, row: &Range<usize>) -> Vec<Range<usize>> {
    let text = slice_or_empty(view.text, row.clone());
    let mut out = Vec::new();
    let mut start = None;
    for (at, _) in text.match_indices('|') {
        out.extend(start.map(|start| row.start + start..row.start + at));
        start = Some(at + 1);
    }
    out.extend(start.filter(|start| *start < text.trim_end().len()).map(|start| row.start + start..row.end));
    out
}
