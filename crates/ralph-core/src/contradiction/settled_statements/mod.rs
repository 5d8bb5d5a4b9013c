//! Decides whether a statement of open work is settled: denied, fixed, about the past, conditional, or a description of
//! the program's behaviour.

mod cues;
mod history;

use crate::claim::pattern::matches_any;
use crate::claim::prose_words::{ProseWord, find_match, has_match, parse_number};

use super::open_statements::{OpenWorkHit, StatementKind};
use cues::{BEHAVIOUR_CUES, CONDITIONAL_WORDS, GOOD_OUTCOMES, INTENTION_CUES, OUT_OF_SCOPE};
pub(super) use history::reports_repair;
use history::{has_repair, is_history, is_repaired_next, is_replaced_by_other_work};

/// Returns whether the statement at `hit` is not about open work. `next` is the sentence after it.
pub(crate) fn is_settled(sentence: &[ProseWord], hit: &OpenWorkHit, next: &[ProseWord]) -> bool {
    let before = sentence.get(..hit.range.start).unwrap_or(&[]);
    let inside = sentence.get(hit.range.clone()).unwrap_or(&[]);
    let after = sentence.get(hit.range.end..).unwrap_or(&[]);
    let clause = last_clause(before);
    is_denied(clause, inside, after, hit.kind)
        || is_object_of_repair(clause, inside, after, hit.kind)
        || matches_any(sentence, OUT_OF_SCOPE)
        || is_history(sentence, hit, next)
        || is_replaced_by_other_work(after)
        || is_hypothetical(clause, inside, hit.kind)
        || is_program_behaviour(statement_around(sentence, hit), inside, hit.kind)
        || is_program_rule(sentence, hit)
        || is_limit_or_manner(before, inside, after)
        || has_good_ending(clause, inside, after, hit.kind)
        || is_addressed_to_reader(clause, inside)
        || (is_repaired_next(next) && (!has_match(inside, STILL_OPEN_WORDS) || is_past(clause, inside)))
        || (has_match(next, NOTHING_OPEN_PHRASES) && !has_words(after))
}

/// Entries below a heading of open work that say that there is none.
const NOTHING_OPEN_PHRASES: &[&str] = &[
    "< none",
    "< nothing",
    "< n/a",
    "< no $",
    "< no .. work/blockers/issues/problems/items/todos/questions/points/known/left/remaining/open/steps/\
        gaps/bugs/tasks",
    "< all done",
];

/// Returns whether a statement is in the past tense.
fn is_past(clause: &[ProseWord], inside: &[ProseWord]) -> bool {
    clause.last().is_some_and(|word| matches!(word.text.as_str(), "was" | "were" | "had"))
        || has_match(inside, &["was/were/had still?"])
}

const STILL_OPEN_WORDS: &[&str] = &["still", "yet", "currently", "remain", "remains", "at the moment"];

fn has_words(words: &[ProseWord]) -> bool {
    words.iter().any(|word| !word.is_punctuation())
}

fn last_clause(before: &[ProseWord]) -> &[ProseWord] {
    let start = before
        .iter()
        .rposition(|word| matches!(word.text.as_str(), ";" | "," | "-" | ":" | "but" | "however" | "(" | "and"));
    before.get(start.map_or(0, |at| at + 1)..).unwrap_or(before)
}

/// Returns whether the statement is denied: "No tests fail", "nothing is still open", "TODO: none".
fn is_denied(clause: &[ProseWord], inside: &[ProseWord], after: &[ProseWord], kind: StatementKind) -> bool {
    const NOTHING_WORDS: &[&str] = &[
        "no",
        "none",
        "nothing",
        "zero",
        "0",
        "without",
        "neither",
        "never",
        "not a single",
        "not one",
        "not a",
        "no more",
        "any longer",
        "not any",
        "not have any",
        "not leave",
        "nor",
    ];
    let denied = match kind {
        StatementKind::Label => has_match(after, &["< none", "< nothing", "< n/a", "< -", "< 0", "< no"]),
        StatementKind::State => {
            has_match(inside, &["not", "never", "no longer", "none", "nothing", "no", "0", "zero"])
                && !has_match(inside, &["not only"])
        }
        StatementKind::Count => has_match(inside, &["without", "no", "zero", "0"]),
        StatementKind::Denial => {
            has_match(inside, &["not .. and/but *", "not break/affect/change/need/touch/alter/influence/slow"])
        }
        StatementKind::Partial => has_match(inside, &["no/none/nothing/zero"]),
        StatementKind::Admission => false,
    };
    denied
        || has_match(clause, NOTHING_WORDS)
        || (has_match(clause, &["not"]) && kind != StatementKind::Denial)
        || has_match(after, &["< none/0/zero", "< : none/0/zero/nothing"])
}

/// Returns whether the statement names what was fixed: "Removed the TODO: comment", "fixed the failing tests".
fn is_object_of_repair(clause: &[ProseWord], inside: &[ProseWord], after: &[ProseWord], kind: StatementKind) -> bool {
    const REPAIR_ACTIONS: &str = "removed/resolved/fixed/cleared/dropped/deleted/renamed/replaced/closed/\
        addressed/\
    solved/eliminated/repaired/corrected/finished/removes/fixes/resolves/\
        fixing/removing/resolving/unblocked/rewrote/completed/completes/ported/enabled/re-enabled/\
        unskipped";
    const TESTING_ACTIONS: &str = "covers/covered/adds/added/handles/handled/catches/detects/reproduced/\
        investigated/reran/re-ran/implemented/describes/documents/explains/explained";
    let done = |verbs: &str| find_match(clause, verbs).is_some_and(|at| !is_unfulfilled(clause, at.start));
    let fails = has_match(
        inside,
        &["%fail", "failure", "failures", "error", "errors", "%crash", "missing", "incomplete", "pending"],
    );
    (done(REPAIR_ACTIONS) || (fails && done(TESTING_ACTIONS)))
        && !matches!(kind, StatementKind::Denial | StatementKind::Partial | StatementKind::Admission)
        && !has_match(after, STILL_OPEN_WORDS)
}

/// Returns whether the verb at `at` is denied, required or only planned.
fn is_unfulfilled(words: &[ProseWord], at: usize) -> bool {
    let before = words.get(at.saturating_sub(3)..at).unwrap_or(&[]);
    has_match(
        before,
        &[
            "not",
            "never",
            "to be",
            "will",
            "must",
            "should",
            "until",
            "unless",
            "once",
            "if",
            "needs",
            "need",
            "can",
            "cannot",
            "only",
            "partly",
            "partially",
            "yet",
            "after",
        ],
    ) || before.last().is_some_and(|word| word.text == "to")
}

/// Returns whether the statement is hypothetical: "When the tests fail, the hook stops the commit."
fn is_hypothetical(clause: &[ProseWord], inside: &[ProseWord], kind: StatementKind) -> bool {
    let supposed = find_match(clause, CONDITIONAL_WORDS).is_some() || has_match(clause, &["in case"]);
    let within =
        find_match(inside, "when/if/whenever/unless/would/could/might/should/expected/that/which/until/or").is_some();
    let ruled = find_match(inside, "when/if/whenever/unless").is_some() && !has_match(inside, &["still/yet/currently"]);
    let counted = inside.iter().any(|word| parse_number(&word.text).is_some());
    let relative = is_relative_clause(clause) && !has_match(inside, &["i", "we"]);
    let shown =
        [clause, inside].iter().any(|part| has_match(part, &["lists/shows/displays/counts/marks/filters/highlights"]))
            && !counted
            && !clause.iter().any(|word| parse_number(&word.text).is_some());
    let tested = [clause, inside].iter().any(|part| {
        has_match(part, &["cover/simulates/verifies/asserts/covers/expects/proves/ensures/exercises/pins"])
    }) && !has_match(inside, STILL_OPEN_WORDS);
    match kind {
        StatementKind::State | StatementKind::Denial if relative && !counted => true,
        StatementKind::State | StatementKind::Count
            if tested || ruled || shown && !has_match(inside, STILL_OPEN_WORDS) =>
        {
            true
        }
        StatementKind::State | StatementKind::Count => {
            supposed || (within && !counted && !has_match(inside, STILL_OPEN_WORDS))
        }
        StatementKind::Denial | StatementKind::Admission | StatementKind::Partial => {
            supposed && !has_match(inside, &["yet"])
        }
        StatementKind::Label => false,
    }
}

/// Returns whether the statement is in a relative clause that only identifies something: "jobs that have not finished".
fn is_relative_clause(clause: &[ProseWord]) -> bool {
    let verb = |word: &ProseWord| {
        matches!(word.text.as_str(), "is" | "are" | "was" | "were" | "has" | "have" | "do" | "does" | "did")
    };
    let mut words = clause.iter().rev().skip_while(|word| verb(word));
    let opens = words.next().is_some_and(|word| matches!(word.text.as_str(), "that" | "who" | "whose"));
    let which = clause.last().is_some_and(|word| word.text == "which");
    (opens && words.next().is_some()) || which
}

/// Returns the part between semicolons that contains the hit.
fn statement_around<'a>(sentence: &'a [ProseWord], hit: &OpenWorkHit) -> &'a [ProseWord] {
    let ends = |word: &ProseWord| word.text == ";";
    let start = sentence.iter().take(hit.range.start).rposition(ends).map_or(0, |at| at + 1);
    let end = sentence.iter().skip(hit.range.end).position(ends).map_or(sentence.len(), |at| hit.range.end + at);
    sentence.get(start..end).unwrap_or(sentence)
}

const PRESENT_STATE_WORDS: &[&str] = &[
    "i/we/still/yet/currently/unfortunately/sadly/but/\
        however",
    "at the moment",
    "right now",
    "at present",
];

fn is_program_behaviour(sentence: &[ProseWord], inside: &[ProseWord], kind: StatementKind) -> bool {
    if matches_any(sentence, INTENTION_CUES) && kind != StatementKind::Partial {
        return true;
    }
    let codes = has_match(sentence, &["exit/status code"]);
    matches_any(sentence, BEHAVIOUR_CUES)
        && !has_match(sentence, PRESENT_STATE_WORDS)
        && !matches!(kind, StatementKind::Admission | StatementKind::Partial)
        && (codes || !inside.iter().any(|word| parse_number(&word.text).is_some()))
}

/// Returns whether the statement is a rule of the program: "If a test fails, the hook aborts", "exits with 2 on a bad
/// flag".
fn is_program_rule(sentence: &[ProseWord], hit: &OpenWorkHit) -> bool {
    let after = sentence.get(hit.range.end..).unwrap_or(&[]);
    let inside = sentence.get(hit.range.clone()).unwrap_or(&[]);
    let plain =
        matches!(hit.kind, StatementKind::State | StatementKind::Count) && !has_match(sentence, PRESENT_STATE_WORDS);
    let ruled = has_match(sentence, &["< if/when/whenever/unless/once/on/for"])
        && !has_match(sentence, &["running/run/executing/checking"])
        && hit.range.start > 0;
    let exits = has_match(inside, &["%exit/%return/non-zero/nonzero"])
        && has_match(after, &["if/when/on/for/whenever/unless/once/after/as"]);
    let gate = has_match(inside, &["check/gate/hook/ci/lint/linter/build/pipeline/job"])
        && has_match(after, &["< if/when/whenever/unless/for", "< the/a/an * if/when/whenever/unless"]);
    let waits = has_match(inside, &["stays/remains/is/are"]) && has_match(after, &["< until"]);
    let refuses =
        has_match(inside, &["refuses/refuse"]) && has_match(after, &["while/if/when/unless/until/without/once/for"]);
    let supposed =
        has_match(sentence, &["< if/unless/whenever"]) && !has_match(sentence, &["i/we/still"]) && hit.range.start > 0;
    let any_one = has_match(sentence, &["< a/an/any/each/every * that/which/who/whose/without/with"])
        && hit.range.start > 0
        && !has_match(sentence, PRESENT_STATE_WORDS);
    let bare = hit.range.start == 0
        && has_match(inside, &["< failing/broken/flaky/red"])
        && after.first().is_some_and(|word| !word.is_punctuation())
        && !has_match(after, &["< is/are/remain/remains/in/still/left/were/was/to"]);
    supposed || any_one || plain && (bare || ruled || exits || gate || waits || refuses)
}

/// Returns whether the rest of the sentence reports a repair or a good outcome.
fn has_good_ending(clause: &[ProseWord], inside: &[ProseWord], after: &[ProseWord], kind: StatementKind) -> bool {
    let motive = &["< so that/the/ci/it/we/i", "< to get/make/keep/let/have/unblock"];
    if kind == StatementKind::Admission
        && (has_match(after, motive) || has_match(after, &["dropped/deleted/removed/reverted/closed"]))
    {
        return false;
    }
    // In "… have yet to" + "be fixed", the repair is part of the statement of open work.
    let planned = inside.last().is_some_and(|word| matches!(word.text.as_str(), "to" | "be" | "yet" | "not"));
    let after = after.get(if planned { after.len().min(2) } else { 0 }..).unwrap_or(after);
    if has_repair(after)
        || has_match(
            after,
            &[
                "none now",
                "< to 0/zero/none",
                "none left",
                "are none",
                "is none",
                "now 0/zero/none",
                "0 now",
                "all gone",
            ],
        )
    {
        return true;
    }
    if has_match(after, &["< that/whether/if/how"]) {
        return false;
    }
    let past = clause.last().is_some_and(|word| matches!(word.text.as_str(), "was" | "were" | "had"));
    let unfinished = (has_match(inside, STILL_OPEN_WORDS) && !past) || kind == StatementKind::Label;
    !unfinished
        && (!matches!(kind, StatementKind::Count | StatementKind::Partial) || has_match(inside, &["was/were"]))
        && matches_any(after, GOOD_OUTCOMES)
        && !is_test_summary(after)
}

/// Returns whether the statement is a limit or a property of the program: "after five failures", "fails fast".
fn is_limit_or_manner(before: &[ProseWord], inside: &[ProseWord], after: &[ProseWord]) -> bool {
    let about = has_match(inside, &["tests/test/cases for/of/about/around the/a? failure/failures/failed/failing $"]);
    let spec = before.last().is_some_and(|word| {
        matches!(word.text.as_str(), "spec" | "ticket" | "issue" | "design" | "prd" | "rfc" | "standard" | "story")
    });
    let tested = has_match(inside, &["there is/are .. test/tests/case/cases/check/guard for/of/against/about/that"])
        && !has_match(inside, &["no"]);
    let held = before.last().is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "connection"
                | "socket"
                | "file"
                | "dialog"
                | "port"
                | "handle"
                | "stream"
                | "window"
                | "tab"
                | "modal"
                | "panel"
        )
    }) && has_match(inside, &["open"]);
    let disabled_in_tests = has_match(inside, &["disabled .. in/for/during/from test/tests"]);
    if held || disabled_in_tests {
        return true;
    }
    if about || tested || (spec && has_match(inside, &["left"])) {
        return true;
    }
    let counted = inside.first().is_some_and(|word| parse_number(&word.text).is_some());
    let limit = before.last().is_some_and(|word| {
        matches!(word.text.as_str(), "after" | "every" | "per" | "than" | "to" | "until" | "least" | "most" | "maximum")
    });
    (counted && limit)
        || !has_match(inside, &["not"]) && has_match(after, &["< fast/early/closed/loudly/gracefully/cleanly/softly"])
}

/// Returns whether the rest is a test summary such as "…, 41 passed", which does not settle a failure count.
fn is_test_summary(after: &[ProseWord]) -> bool {
    let passed = find_match(after, "# passed/passing/pass/tests/green");
    passed.is_some() && !has_match(after, &["all"])
}

/// Returns whether the statement is an instruction for the reader: "You still need to set the key".
fn is_addressed_to_reader(clause: &[ProseWord], inside: &[ProseWord]) -> bool {
    let reader =
        has_match(clause, &["you", "callers", "clients", "users", "consumers", "operators", "admins", "who", "they"]);
    reader && has_match(inside, &["need", "needs", "have", "has", "must", "to be"])
}
