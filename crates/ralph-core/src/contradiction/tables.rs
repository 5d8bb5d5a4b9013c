//! Reads the tables of a message: a cross or a bad word in a column of results says that work is open.

use alloc::vec::Vec;
use core::ops::Range;

use crate::claim::cut;
use crate::claim::layout::Kind;
use crate::claim::place::View;
use crate::claim::words::{Word, has};

/// Columns that tell how things are.
const STATUS: &[&str] =
    &["status/state/result/results/done/passes/pass/passed/check/outcome/verdict/progress/now/after/ok/\
        current/\
        currently/today/complete/completed/implemented/verified/tests/ci/build/met/ready/finished"];
/// Columns that tell of something else, whatever stands in them.
const OTHER: &[&str] =
    &["before/old/previously/was/example/input/meaning/description/response/condition/expected/case"];

/// Words that make a cell of a result column bad.
const BAD: &[&str] = &[
    "< fail/failed/failing/fails/red/broken/todo/pending/missing/incomplete/partial/partially/open/\
        blocked/tbd/wip/\
        unfinished/untested/outstanding/skipped/error/errors/crashes/flaky/deferred/stub/stubbed/no/\
        unverified",
    "not .. done/implemented/started/run/tested/verified/complete/finished/yet/working/met",
    "in progress",
    "to do",
    "# failed/failing/failures/errors",
];

/// Returns the range of the first row that says so.
pub(super) fn open_row(view: &View<'_>) -> Option<Range<usize>> {
    let mut head: Vec<Vec<Word>> = Vec::new();
    for line in 0..view.lines.len() {
        let range = view.range(line);
        if view.kind(line) != Kind::Table {
            head.clear();
            continue;
        }
        if head.is_empty() {
            head = cells(view, &range).into_iter().map(|cell| view.words(cell)).collect();
            continue;
        }
        let bad =
            cells(view, &range).into_iter().zip(&head).skip(1).any(|(cell, head)| is_bad(view, cell, head));
        if bad {
            return Some(range);
        }
    }
    None
}

fn is_bad(view: &View<'_>, cell: Range<usize>, head: &[Word]) -> bool {
    let crossed = cut(view.text, cell.clone()).contains([
        '\u{274c}',
        '\u{2717}',
        '\u{2718}',
        '\u{2716}',
        '\u{1f534}',
        '\u{26d4}',
        '\u{1f6a7}',
        '\u{23f3}',
    ]);
    let words = view.words(cell);
    let words = words.get(words.iter().take_while(|word| word.text == "\u{274c}").count()..).unwrap_or(&[]);
    let bad = has(words, BAD) && !has(words, &["fixed/resolved/repaired"]) && words.len() <= 12;
    let status = has(head, STATUS) && !has(head, OTHER);
    (crossed && (status || bad) && !has(head, OTHER)) || (status && bad)
}

/// Returns the ranges of the cells of a row.
fn cells(view: &View<'_>, row: &Range<usize>) -> Vec<Range<usize>> {
    let text = cut(view.text, row.clone());
    let mut out = Vec::new();
    let mut start = None;
    for (at, _) in text.match_indices('|') {
        out.extend(start.map(|start| row.start + start..row.start + at));
        start = Some(at + 1);
    }
    out.extend(start.filter(|start| *start < text.trim_end().len()).map(|start| row.start + start..row.end));
    out
}
