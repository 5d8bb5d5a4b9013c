//! Reads the logs that a message shows. The last summary counts, unless the words around it tell that it
//! is an old one, an example, or already repaired.

use alloc::vec::Vec;
use core::ops::Range;

use super::sections::Sentence;
use super::settled::tells_of_repair;
use crate::claim::cut;
use crate::claim::layout::Kind;
use crate::claim::place::View;
use crate::claim::words::{find, has, words};

/// Kinds of fences that hold logs.
const LOGS: &[&str] = &[
    "",
    "text",
    "txt",
    "console",
    "bash",
    "sh",
    "shell",
    "log",
    "output",
    "plain",
    "plaintext",
    "terminal",
    "zsh",
];

/// How many lines of a log are read, from the last one on.
const READ_LINES: usize = 60;

/// Returns the line of the last log that tells of a failure.
pub(super) fn failure(view: &View<'_>, prose: &[Sentence]) -> Option<Range<usize>> {
    let block =
        blocks(view).into_iter().rev().find(|block| is_log(view, block) && has_summary(view, block))?;
    let line =
        block.clone().rev().take(READ_LINES).find(|&line| is_failure(cut(view.text, view.range(line))))?;
    let start = view.range(block.start).start;
    let before = prose.iter().rev().find(|sentence| sentence.end <= start);
    let near = before.filter(|sentence| {
        let between = cut(view.text, sentence.end..start);
        between.trim().is_empty()
    });
    let current = near.is_none_or(|sentence| has(&sentence.words, NOW) && !has(&sentence.words, OLD));
    let repaired =
        prose.iter().filter(|sentence| sentence.end > start).any(|sentence| tells_of_repair(&sentence.words));
    (current && !repaired).then(|| view.range(line))
}

/// Words that introduce the log of a check that was just run.
const NOW: &[&str] =
    &["run/ran/running/result/results/output/suite/tests/test/check/checks/build/status/summary/final/\
        current/currently/last/now/\
        lint/ci/verification/log/report/`"];
/// Words that introduce another log.
const OLD: &[&str] =
    &["before/was/were/used/failed/old/previously/example/sample/looks/format/message/prints/rejects/\
        given/when/if/\
        reproduce/reproduced/original/originally/reported/user/bug/expected/first/initially/initial/\
        earlier/fixed/fix/without/\
        error/errors/like/instead/would/shows/showed/broken/fails/baseline"];

/// Returns the blocks of code as ranges of lines.
fn blocks(view: &View<'_>) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for line in (0..view.lines.len()).filter(|&line| view.kind(line) == Kind::Code) {
        match out.last_mut() {
            Some(block) if block.end == line && !closes(view, block) => block.end = line + 1,
            Some(_) | None => out.push(line..line + 1),
        }
    }
    out
}

/// Tells whether the last line of the block closes its fence.
fn closes(view: &View<'_>, block: &Range<usize>) -> bool {
    let raw = cut(view.text, view.range(block.end - 1)).trim();
    block.len() > 1 && matches!(raw, "```" | "~~~")
}

fn is_log(view: &View<'_>, block: &Range<usize>) -> bool {
    let first = cut(view.text, view.range(block.start)).trim();
    let info = first.strip_prefix("```").or_else(|| first.strip_prefix("~~~"));
    info.is_none_or(|info| LOGS.iter().any(|known| info.trim().eq_ignore_ascii_case(known)))
}

/// Tells whether a block shows how a check ended.
fn has_summary(view: &View<'_>, block: &Range<usize>) -> bool {
    block.clone().rev().take(READ_LINES).any(|line| {
        let raw = cut(view.text, view.range(line));
        is_failure(raw)
            || has(
                &words(raw, 0),
                &["# passed/passing/tests", "0 failed/failures/errors/problems", "ok", "pass", "passed"],
            )
    })
}

fn is_failure(raw: &str) -> bool {
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
    let words = words(raw, 0);
    loud.iter().any(|mark| raw.starts_with(mark))
        || find(&words, "# failed/failing/failures/failure/errors/error/problems").is_some()
        || has(
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
