//! Decides whether a statement is about the past: it is no longer true, it was fixed, or other work was done instead.

use crate::claim::pattern::matches_any;
use crate::claim::prose_words::{ProseWord, find_any_match, has_match};

use super::cues::{GOOD_OUTCOMES, HISTORY_CUES, INITIAL_STATE_CUES, REPAIR_VERBS};
use crate::contradiction::open_statements::{OpenWorkHit, StatementKind};

/// Phrases that say that a state ended when the speaker started to work.
const BEFORE_OWN_WORK: &[&str] = &[
    "before my/this/the/that change/fix/patch/commit/work",
    "before/until i/we fixed/changed/started/began/touched/rewrote/added/made/came/took/patched/\
        refactored/did/set/\
        removed/replaced/updated/moved/switched/found",
    "beforehand",
];

pub(super) fn is_history(sentence: &[ProseWord], hit: &OpenWorkHit, next: &[ProseWord]) -> bool {
    let before = sentence.get(..hit.range.start).unwrap_or(&[]);
    let inside = sentence.get(hit.range.clone()).unwrap_or(&[]);
    let after = sentence.get(hit.range.end..).unwrap_or(&[]);
    if has_match(after, &["with/in/under/on the old/previous/former"]) {
        return true;
    }
    let ends_well = has_good_outcome(after) || has_good_outcome(next);
    let past = has_match(inside, &["was/were/had"]) || has_match(before, &["was/were/had the/a/an/my/our? $"]);
    if past && !has_match(inside, &["was/were/had"]) && has_good_outcome(before) {
        return true;
    }
    if has_match(inside, &["still", "yet", "currently"]) {
        return past && ends_well && (matches_any(before, HISTORY_CUES) || matches_any(sentence, INITIAL_STATE_CUES));
    }
    if has_match(inside, &["continues/continue/keeps/keep/persists/persist"]) {
        return false;
    }
    let present = has_match(inside, &["is/are/fails"]) && has_match(after, &["also/too/already", "as well"]);
    let is_told_as_past = (matches_any(before, HISTORY_CUES) && !present)
        || has_match(inside, &["formerly/previously/originally/initially"])
        || (past && has_match(after, &["at first", "in the beginning", "initially"]))
        || (find_any_match(after, BEFORE_OWN_WORK).is_some() && !present);
    let is_told_as_past = is_told_as_past && (hit.kind != StatementKind::Admission || ends_well);
    is_told_as_past || (matches_any(sentence, INITIAL_STATE_CUES) && ends_well)
}

fn has_good_outcome(words: &[ProseWord]) -> bool {
    has_repair(words) || matches_any(words, GOOD_OUTCOMES)
}

/// Returns whether a sentence says that the problem is fixed now.
pub(in crate::contradiction) fn reports_repair(words: &[ProseWord]) -> bool {
    has_good_outcome(words) && !has_match(words, &["not/still/except/but/some"])
}

pub(super) fn has_repair(words: &[ProseWord]) -> bool {
    words
        .iter()
        .enumerate()
        .any(|(at, word)| REPAIR_VERBS.split('/').any(|known| known == word.text) && !super::is_unfulfilled(words, at))
}

/// Returns whether other work was done instead, as in "… ran out of time, so I did it on my own".
pub(super) fn is_replaced_by_other_work(after: &[ProseWord]) -> bool {
    const IRREGULAR_VERBS: &str = "went/did/ran/wrote/built/rewrote/took/made/read/set/reran/re-ran/split/got/\
        put/kept/chose/\
        found/brought/began/came/gave/held/met/redid/sent/thought/wound";
    const PARTIAL_WORK: &[&str] = &[
        "not/only/nothing/cannot",
        "todo/todos/stub/stubs/placeholder/guess/guessed/mock/mocked/mocks/later/partial/partially/\
        dummy/copies/\
            skipped/stopped/disabled/ignored/left/stubbed/commented/deferred/postponed/assumed/\
        hard-coded/hardcoded/\
            excluded/omitted/marked/deleted/removed/moved/paused/decided/limited/faked",
    ];
    let Some(at) = find_any_match(after, &["so/therefore/hence/instead i/we then/just/simply/instead/have/now?"])
    else {
        return false;
    };
    let action = after.get(at.end..).unwrap_or(&[]);
    let end = action.iter().position(|word| word.text == ";").unwrap_or(action.len());
    let action = action.get(..end).unwrap_or(action);
    let verb = action.first().map_or("", |word| word.text.as_str());
    let acted = verb.ends_with("ed") || IRREGULAR_VERBS.split('/').any(|known| known == verb);
    acted && !has_match(action, PARTIAL_WORK)
}

/// Returns whether the next sentence reports the repair: "Two tests failed at first. I fixed both."
pub(super) fn is_repaired_next(next: &[ProseWord]) -> bool {
    let reports_fix = has_match(
        next,
        &[
            "< i/we .. fixed/resolved/repaired/solved/removed/corrected/addressed/replaced",
            "< i/we have? then/now/also/therefore? added/updated/changed/adjusted/installed/pinned/\
        bumped/regenerated/wrote/rewrote/\
                moved/made/set/raised/switched/did/finished/completed/cleared/rebuilt/restored .. it/\
        them/both/that/\
                those/these/missing/dependency/all",
            "< that/this/it/both/they/all/these/those .. fixed/resolved/gone/repaired/solved/green/done/\
                pass/passes/works",
            "< after .. pass/passed/green/works",
            "< fixed",
            "< now .. pass/passes/green",
            "< it/they/that does/do now",
            "< with .. pass/passed/green",
        ],
    );
    reports_fix && !has_match(next, &["not", "still", "one of", "but", "except", "some of"])
}
