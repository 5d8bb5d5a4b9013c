//! Searches the log blocks of a message for failures. The last block with a summary counts, unless the text around it
//! says that it is old, an example, or already fixed.

use alloc::vec::Vec;
use core::ops::Range;

use super::sections::MessageSentence;
use super::settled_statements::reports_repair;
use crate::claim::markdown_lines::LineKind;
use crate::claim::parsed_message::ParsedMessage;
use crate::claim::prose_words::{find_match, has_match, split_words};
use crate::claim::slice_or_empty;

/// Info strings of code blocks that may contain logs.
const LOG_LANGUAGES: &[&str] =
    &["", "text", "txt", "console", "bash", "sh", "shell", "log", "output", "plain", "plaintext", "terminal", "zsh"];

/// How many lines of a log are read, counted from its end.
const MAX_LOG_LINES: usize = 60;

/// Returns the last line of the last log that reports a failure.
pub(super) fn find_failure_line(view: &ParsedMessage<'_>, prose: &[MessageSentence]) -> Option<Range<usize>> {
    let block =
        code_blocks(view).into_iter().rev().find(|block| is_log_block(view, block) && has_summary(view, block))?;
    let line = block
        .clone()
        .rev()
        .take(MAX_LOG_LINES)
        .find(|&line| is_failure_line(slice_or_empty(view.text, view.line_range(line))))?;
    let start = view.line_range(block.start).start;
    let before = prose.iter().rev().find(|sentence| sentence.end <= start);
    let near = before.filter(|sentence| {
        let between = slice_or_empty(view.text, sentence.end..start);
        between.trim().is_empty()
    });
    let current = near.is_none_or(|sentence| {
        has_match(&sentence.words, CURRENT_LOG_WORDS) && !has_match(&sentence.words, OTHER_LOG_WORDS)
    });
    let repaired = prose.iter().filter(|sentence| sentence.end > start).any(|sentence| reports_repair(&sentence.words));
    (current && !repaired).then(|| view.line_range(line))
}

/// Words that introduce the log of a check that was just run.
const CURRENT_LOG_WORDS: &[&str] =
    &["run/ran/running/result/results/output/suite/tests/test/check/checks/build/status/summary/final/\
        current/currently/last/now/\
        lint/ci/verification/log/report/`"];
/// Words that introduce an old log or an example.
const OTHER_LOG_WORDS: &[&str] =
    &["before/was/were/used/failed/old/previously/example/sample/looks/format/message/prints/rejects/\
        given/when/if/\
        reproduce/reproduced/original/originally/reported/user/bug/expected/first/initially/initial/\
        earlier/fixed/fix/without/\
        error/errors/like/instead/would/shows/showed/broken/fails/baseline"];

/// Returns the code blocks as ranges of lines.
fn code_blocks(view: &ParsedMessage<'_>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for line in (0..view.lines.len()).filter(|&line| view.line_kind(line) == LineKind::Code) {
        match out.last_mut() {
            Some(block) if block.end == line && !has_closing_marker(view, block) => block.end = line + 1,
            Some(_) | None => out.push(line..line + 1),
        }
    }
    out
}

/// Returns whether the last line of the block closes it.
fn has_closing_marker(view: &ParsedMessage<'_>, block: &Range<usize>) -> bool {
    let raw = slice_or_empty(view.text, view.line_range(block.end - 1)).trim();
    block.len() > 1 && matches!(raw, "```" | "~~~")
}

fn is_log_block(view: &ParsedMessage<'_>, block: &Range<usize>) -> bool {
    let first = slice_or_empty(view.text, view.line_range(block.start)).trim();
    let info = first.strip_prefix("```").or_else(|| first.strip_prefix("~~~"));
    info.is_none_or(|info| LOG_LANGUAGES.iter().any(|known| info.trim().eq_ignore_ascii_case(known)))
}

/// Returns whether a block contains the result of a check.
fn has_summary(view: &ParsedMessage<'_>, block: &Range<usize>) -> bool {
    block.clone().rev().take(MAX_LOG_LINES).any(|line| {
        let raw = slice_or_empty(view.text, view.line_range(line));
        is_failure_line(raw)
            || has_match(
                &split_words(raw, 0),
                &["# passed/passing/tests", "0 failed/failures/errors/problems", "ok", "pass", "passed"],
            )
    })
}

fn is_failure_line(raw: &str) -> bool {
    let raw = raw.trim();
    let good = ["\u{2713}", "\u{2714}", "\u{2705}", "ok ", "PASS"].iter().any(|mark| raw.starts_with(mark));
    let loud = [
        "FAILED",
        "FAIL ",
        "FAIL\t",
        "--- FAIL",
        "npm ERR!",
        "error[E",
        "error: could not compile",
        "make: ***",
        "not ok ",
    ];
    if good || raw.ends_with(" ok") || raw.starts_with('#') || raw.starts_with("//") {
        return false;
    }
    let words = split_words(raw, 0);
    loud.iter().any(|mark| raw.starts_with(mark))
        || find_match(&words, "# failed/failing/failures/failure/errors/error/problems").is_some()
        || has_match(
            &words,
            &[
                "failed/failures/failing/errors :/- #",
                "result : failed",
                "< build failed $",
                "error ts2304/ts2322/ts2345/ts2339/ts7006/ts2307 :",
                "exit/exited .. code/status/with :? #",
                "panicked at",
                "\u{274c}",
            ],
        )
}
