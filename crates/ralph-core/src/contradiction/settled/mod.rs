//! Decides whether a statement of open work is already settled: denied, repaired, told as history,
//! conditional, or a description of what the program does.

mod cues;
mod history;

use crate::claim::pattern::matches_any;
use crate::claim::words::{Word, find, has, number};

use super::open::{Hit, Sort};
use cues::{BEHAVIOUR, CONDITIONAL, GOOD_ENDS, INTENDED, OUT_OF_SCOPE};
pub(super) use history::tells_of_repair;
use history::{has_repair, is_history, is_repaired_next, is_replaced};

/// Tells whether the statement at `hit` says nothing about open work after all.
pub(crate) fn is_settled(sentence: &[Word], hit: &Hit, next: &[Word]) -> bool {
    let before = sentence.get(..hit.range.start).unwrap_or(&[]);
    let inside = sentence.get(hit.range.clone()).unwrap_or(&[]);
    let after = sentence.get(hit.range.end..).unwrap_or(&[]);
    let clause = last_clause(before);
    is_none(clause, inside, after, hit.sort)
        || is_object_of_repair(clause, inside, after, hit.sort)
        || matches_any(sentence, OUT_OF_SCOPE)
        || is_history(sentence, hit, next)
        || is_replaced(after)
        || is_hypothetical(clause, inside, hit.sort)
        || is_behaviour(statement_of(sentence, hit), inside, hit.sort)
        || is_rule_of_the_program(sentence, hit)
        || is_limit(before, inside, after)
        || ends_well(clause, inside, after, hit.sort)
        || addresses_the_reader(clause, inside)
        || (is_repaired_next(next) && (!has(inside, STILL) || is_past(clause, inside)))
        || (has(next, NONE_BELOW) && !says_something(after))
}

/// What stands below a heading of open work when there is none.
const NONE_BELOW: &[&str] = &[
    "< none",
    "< nothing",
    "< n/a",
    "< no $",
    "< no .. work/blockers/issues/problems/items/todos/questions/points/known/left/remaining/open/steps/\
        gaps/bugs/tasks",
    "< all done",
];

/// Tells whether a statement is about what was.
fn is_past(clause: &[Word], inside: &[Word]) -> bool {
    clause.last().is_some_and(|word| matches!(word.text.as_str(), "was" | "were" | "had"))
        || has(inside, &["was/were/had still?"])
}

const STILL: &[&str] = &["still", "yet", "currently", "remain", "remains", "at the moment"];

fn says_something(words: &[Word]) -> bool {
    words.iter().any(|word| !word.is_mark())
}

fn last_clause(before: &[Word]) -> &[Word] {
    let start = before.iter().rposition(|word| {
        matches!(word.text.as_str(), ";" | "," | "-" | ":" | "but" | "however" | "(" | "and")
    });
    before.get(start.map_or(0, |at| at + 1)..).unwrap_or(before)
}

/// "No tests fail", "nothing is still open", "TODO: none".
fn is_none(clause: &[Word], inside: &[Word], after: &[Word], sort: Sort) -> bool {
    const NONE: &[&str] = &[
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
    let denied = match sort {
        Sort::Label => has(after, &["< none", "< nothing", "< n/a", "< -", "< 0", "< no"]),
        Sort::State => {
            has(inside, &["not", "never", "no longer", "none", "nothing", "no", "0", "zero"])
                && !has(inside, &["not only"])
        }
        Sort::Count => has(inside, &["without", "no", "zero", "0"]),
        Sort::Denial => {
            has(inside, &["not .. and/but *", "not break/affect/change/need/touch/alter/influence/slow"])
        }
        Sort::Part => has(inside, &["no/none/nothing/zero"]),
        Sort::Admission => false,
    };
    denied
        || has(clause, NONE)
        || (has(clause, &["not"]) && sort != Sort::Denial)
        || has(after, &["< none/0/zero", "< : none/0/zero/nothing"])
}

/// "Removed the TODO: comment", "fixed the failing tests".
fn is_object_of_repair(clause: &[Word], inside: &[Word], after: &[Word], sort: Sort) -> bool {
    const MENDING: &str = "removed/resolved/fixed/cleared/dropped/deleted/renamed/replaced/closed/\
        addressed/\
    solved/eliminated/repaired/corrected/finished/removes/fixes/resolves/\
        fixing/removing/resolving/unblocked/rewrote/completed/completes/ported/enabled/re-enabled/\
        unskipped";
    const TESTING: &str = "covers/covered/adds/added/handles/handled/catches/detects/reproduced/\
        investigated/reran/re-ran/implemented/describes/documents/explains/explained";
    let done = |verbs: &str| find(clause, verbs).is_some_and(|at| !is_weak(clause, at.start));
    let fails = has(
        inside,
        &["%fail", "failure", "failures", "error", "errors", "%crash", "missing", "incomplete", "pending"],
    );
    (done(MENDING) || (fails && done(TESTING)))
        && !matches!(sort, Sort::Denial | Sort::Part | Sort::Admission)
        && !has(after, STILL)
}

/// Tells whether the word at `at` is denied, wished for or only planned.
fn is_weak(words: &[Word], at: usize) -> bool {
    let before = words.get(at.saturating_sub(3)..at).unwrap_or(&[]);
    has(
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

/// "When the tests fail, the hook stops the commit."
fn is_hypothetical(clause: &[Word], inside: &[Word], sort: Sort) -> bool {
    let supposed = find(clause, CONDITIONAL).is_some() || has(clause, &["in case"]);
    let within =
        find(inside, "when/if/whenever/unless/would/could/might/should/expected/that/which/until/or")
            .is_some();
    let ruled = find(inside, "when/if/whenever/unless").is_some() && !has(inside, &["still/yet/currently"]);
    let counted = inside.iter().any(|word| number(&word.text).is_some());
    let relative = is_relative(clause) && !has(inside, &["i", "we"]);
    let shown = [clause, inside]
        .iter()
        .any(|part| has(part, &["lists/shows/displays/counts/marks/filters/highlights"]))
        && !counted
        && !clause.iter().any(|word| number(&word.text).is_some());
    let tested = [clause, inside].iter().any(|part| {
        has(part, &["cover/simulates/verifies/asserts/covers/expects/proves/ensures/exercises/pins"])
    }) && !has(inside, STILL);
    match sort {
        Sort::State | Sort::Denial if relative && !counted => true,
        Sort::State | Sort::Count if tested || ruled || shown && !has(inside, STILL) => true,
        Sort::State | Sort::Count => supposed || (within && !counted && !has(inside, STILL)),
        Sort::Denial | Sort::Admission | Sort::Part => supposed && !has(inside, &["yet"]),
        Sort::Label => false,
    }
}

/// "Jobs that have not finished": the statement only tells which ones are meant.
fn is_relative(clause: &[Word]) -> bool {
    let verb = |word: &Word| {
        matches!(word.text.as_str(), "is" | "are" | "was" | "were" | "has" | "have" | "do" | "does" | "did")
    };
    let mut words = clause.iter().rev().skip_while(|word| verb(word));
    let opens = words.next().is_some_and(|word| matches!(word.text.as_str(), "that" | "who" | "whose"));
    let which = clause.last().is_some_and(|word| word.text == "which");
    (opens && words.next().is_some()) || which
}

/// Returns the part between semicolons that holds the hit.
fn statement_of<'a>(sentence: &'a [Word], hit: &Hit) -> &'a [Word] {
    let ends = |word: &Word| word.text == ";";
    let start = sentence.iter().take(hit.range.start).rposition(ends).map_or(0, |at| at + 1);
    let end =
        sentence.iter().skip(hit.range.end).position(ends).map_or(sentence.len(), |at| hit.range.end + at);
    sentence.get(start..end).unwrap_or(sentence)
}

const NOWADAYS: &[&str] = &[
    "i/we/still/yet/currently/unfortunately/sadly/but/\
        however",
    "at the moment",
    "right now",
    "at present",
];

fn is_behaviour(sentence: &[Word], inside: &[Word], sort: Sort) -> bool {
    if matches_any(sentence, INTENDED) && sort != Sort::Part {
        return true;
    }
    let codes = has(sentence, &["exit/status code"]);
    matches_any(sentence, BEHAVIOUR)
        && !has(sentence, NOWADAYS)
        && !matches!(sort, Sort::Admission | Sort::Part)
        && (codes || !inside.iter().any(|word| number(&word.text).is_some()))
}

/// "If a test fails, the hook aborts", "exits with 2 on a bad flag": the program is meant to do so.
fn is_rule_of_the_program(sentence: &[Word], hit: &Hit) -> bool {
    let after = sentence.get(hit.range.end..).unwrap_or(&[]);
    let inside = sentence.get(hit.range.clone()).unwrap_or(&[]);
    let plain = matches!(hit.sort, Sort::State | Sort::Count) && !has(sentence, NOWADAYS);
    let ruled = has(sentence, &["< if/when/whenever/unless/once/on/for"])
        && !has(sentence, &["running/run/executing/checking"])
        && hit.range.start > 0;
    let exits = has(inside, &["%exit/%return/non-zero/nonzero"])
        && has(after, &["if/when/on/for/whenever/unless/once/after/as"]);
    let gate = has(inside, &["check/gate/hook/ci/lint/linter/build/pipeline/job"])
        && has(after, &["< if/when/whenever/unless/for", "< the/a/an * if/when/whenever/unless"]);
    let waits = has(inside, &["stays/remains/is/are"]) && has(after, &["< until"]);
    let refuses =
        has(inside, &["refuses/refuse"]) && has(after, &["while/if/when/unless/until/without/once/for"]);
    let supposed =
        has(sentence, &["< if/unless/whenever"]) && !has(sentence, &["i/we/still"]) && hit.range.start > 0;
    let any_one = has(sentence, &["< a/an/any/each/every * that/which/who/whose/without/with"])
        && hit.range.start > 0
        && !has(sentence, NOWADAYS);
    let bare = hit.range.start == 0
        && has(inside, &["< failing/broken/flaky/red"])
        && after.first().is_some_and(|word| !word.is_mark())
        && !has(after, &["< is/are/remain/remains/in/still/left/were/was/to"]);
    supposed || any_one || plain && (bare || ruled || exits || gate || waits || refuses)
}

/// The sentence goes on to tell of a repair or of a good end.
fn ends_well(clause: &[Word], inside: &[Word], after: &[Word], sort: Sort) -> bool {
    let motive = &["< so that/the/ci/it/we/i", "< to get/make/keep/let/have/unblock"];
    if sort == Sort::Admission
        && (has(after, motive) || has(after, &["dropped/deleted/removed/reverted/closed"]))
    {
        return false;
    }
    // "… have yet to" + "be fixed": the repair belongs to the statement.
    let planned = inside.last().is_some_and(|word| matches!(word.text.as_str(), "to" | "be" | "yet" | "not"));
    let after = after.get(if planned { after.len().min(2) } else { 0 }..).unwrap_or(after);
    if has_repair(after)
        || has(
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
    if has(after, &["< that/whether/if/how"]) {
        return false;
    }
    let past = clause.last().is_some_and(|word| matches!(word.text.as_str(), "was" | "were" | "had"));
    let unfinished = (has(inside, STILL) && !past) || sort == Sort::Label;
    !unfinished
        && (!matches!(sort, Sort::Count | Sort::Part) || has(inside, &["was/were"]))
        && matches_any(after, GOOD_ENDS)
        && !is_summary(after)
}

/// "After five failures", "fails fast": a limit or a manner of the program.
fn is_limit(before: &[Word], inside: &[Word], after: &[Word]) -> bool {
    let about =
        has(inside, &["tests/test/cases for/of/about/around the/a? failure/failures/failed/failing $"]);
    let spec = before.last().is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "spec" | "ticket" | "issue" | "design" | "prd" | "rfc" | "standard" | "story"
        )
    });
    let tested =
        has(inside, &["there is/are .. test/tests/case/cases/check/guard for/of/against/about/that"])
            && !has(inside, &["no"]);
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
    }) && has(inside, &["open"]);
    let beside = has(inside, &["disabled .. in/for/during/from test/tests"]);
    if held || beside {
        return true;
    }
    if about || tested || (spec && has(inside, &["left"])) {
        return true;
    }
    let counted = inside.first().is_some_and(|word| number(&word.text).is_some());
    let limit = before.last().is_some_and(|word| {
        matches!(
            word.text.as_str(),
            "after" | "every" | "per" | "than" | "to" | "until" | "least" | "most" | "maximum"
        )
    });
    (counted && limit)
        || !has(inside, &["not"]) && has(after, &["< fast/early/closed/loudly/gracefully/cleanly/softly"])
}

/// "…, 41 passed": a count beside another count settles nothing.
fn is_summary(after: &[Word]) -> bool {
    let passed = find(after, "# passed/passing/pass/tests/green");
    passed.is_some() && !has(after, &["all"])
}

/// "You still need to set the key" tells the reader what to do, not what is undone.
fn addresses_the_reader(clause: &[Word], inside: &[Word]) -> bool {
    let reader = has(
        clause,
        &["you", "callers", "clients", "users", "consumers", "operators", "admins", "who", "they"],
    );
    reader && has(inside, &["need", "needs", "have", "has", "must", "to be"])
}
