//! Statements of open work that are recognised by their grammatical form: numbered stories and criteria ("AC5 fails",
//! "US-9 is open"), words such as "unconverted", and perfect passives such as "have not been converted".

use crate::claim::pattern::{MaskedSentence, WordPattern, pattern, patterns};

use super::{OpenWorkHit, StatementKind};

/// Participles whose negation is harmless.
const HARMLESS_PARTICIPLES: &str = "changed/touched/modified/affected/altered/broken/removed/seen/observed/needed/\
        required/used/lost/noticed/\
    renamed/exceeded/violated/dropped/harmed/reduced/weakened/disabled/expired/received/confirmed/\
        reported/published/called/\
    requested/set/given/passed/found/introduced/compromised/leaked/moved/made/deleted/skipped/shown";

/// Words with "un-" that do not mean undone work.
const HARMLESS_UN_WORDS: &str = "unchanged/unaffected/untouched/unrelated/unlimited/unused/united/unmodified/\
        unsigned/unbounded/undefined/\
    untyped/unauthenticated/unauthorized/unauthorised/undisturbed/unaltered/unopened/unbroken/unloaded/\
        unblocked/undeleted";

/// Returns the statements that match a grammatical form.
pub(crate) fn find_by_form(marked: &MaskedSentence<'_>) -> impl Iterator<Item = OpenWorkHit> {
    const FORM_MATCHERS: &[fn(&MaskedSentence<'_>, usize) -> Option<OpenWorkHit>] =
        &[failed_ticket_at, remaining_un_word_at, denied_perfect_at, needed_gerund_at, denied_passive_at];
    let failed = failed_gerund(marked);
    let found = (0..marked.words.len()).filter_map(|at| FORM_MATCHERS.iter().find_map(|read| read(marked, at)));
    failed.into_iter().chain(found)
}

/// Matches "AC5 fails".
fn failed_ticket_at(marked: &MaskedSentence<'_>, at: usize) -> Option<OpenWorkHit> {
    const BAD_TICKET_STATES: &[WordPattern] = patterns![
        "still/currently/now? fails/fail/failed/broken/red/incomplete/unfinished/unmet",
        "is/was/remains/stays still/currently/now? open/red/broken/pending/missing/incomplete/\
        unfinished/failing/unmet/blocked/violated",
    ];
    let word = marked.words.get(at)?;
    let digits = word.text.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let letters = word.text.len() - digits.len();
    let number = digits.trim_start_matches('-');
    let named = (1..=5).contains(&letters) && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    let bad = BAD_TICKET_STATES.iter().find_map(|pattern| pattern.match_at(marked, at + 1))?;
    named.then_some(OpenWorkHit { range: at..bad.end, kind: StatementKind::State })
}

/// Matches "Three call sites remain unconverted".
fn remaining_un_word_at(marked: &MaskedSentence<'_>, at: usize) -> Option<OpenWorkHit> {
    const REMAINING_WORD: WordPattern = pattern!("remain/remains/stays/stay/left/still/currently/remained *");
    let range = REMAINING_WORD.match_at(marked, at)?;
    let word = &marked.words.get(range.end - 1)?.text;
    let form = word.starts_with("un") && (word.ends_with("ed") || word.ends_with("en")) && word.len() > 6;
    let harmless = HARMLESS_UN_WORDS.split('/').any(|known| known == word);
    (form && !harmless).then_some(OpenWorkHit { range, kind: StatementKind::State })
}

/// Matches "Some call sites have not been converted".
fn denied_perfect_at(marked: &MaskedSentence<'_>, at: usize) -> Option<OpenWorkHit> {
    const DENIED_PERFECT: WordPattern =
        pattern!("has/have not yet/all/fully/actually/really? been yet/all/fully/actually/really? *");
    let range = DENIED_PERFECT.match_at(marked, at)?;
    let verb = &marked.words.get(range.end - 1)?.text;
    let harmless = HARMLESS_PARTICIPLES.split('/').any(|known| known == verb);
    let participle =
        verb.ends_with("ed") || verb.ends_with("en") || matches!(verb.as_str(), "done" | "run" | "built" | "met");
    (participle && !harmless).then_some(OpenWorkHit { range, kind: StatementKind::Denial })
}

fn is_gerund(text: &str) -> bool {
    text.len() > 5 && text.ends_with("ing") && !text.ends_with("thing") && text != "string"
}

/// Matches "Downloading the icons failed".
fn failed_gerund(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const FAILED_ACTION: WordPattern = pattern!("* .. failed/fails/crashes/crashed/errors/errored");
    marked.words.first().filter(|word| is_gerund(&word.text))?;
    FAILED_ACTION.match_at(marked, 0).map(|range| OpenWorkHit { range, kind: StatementKind::State })
}

/// Matches "The code needs cleaning up".
fn needed_gerund_at(marked: &MaskedSentence<'_>, at: usize) -> Option<OpenWorkHit> {
    const NEEDED_ACTION: WordPattern = pattern!("need/needs *");
    let range = NEEDED_ACTION.match_at(marked, at)?;
    is_gerund(&marked.words.get(range.end - 1)?.text).then_some(OpenWorkHit { range, kind: StatementKind::State })
}

/// Matches "The tag was not pushed".
fn denied_passive_at(marked: &MaskedSentence<'_>, at: usize) -> Option<OpenWorkHit> {
    const DENIED_PASSIVE: WordPattern = pattern!("was/were not yet/fully/actually/really? *");
    let range = DENIED_PASSIVE.match_at(marked, at)?;
    let verb = marked.words.get(range.end - 1)?.text.as_str();
    let harmless =
        [HARMLESS_PARTICIPLES, DESCRIPTIVE_PARTICIPLES].iter().any(|list| list.split('/').any(|known| known == verb));
    let participle = verb.ends_with("ed") || matches!(verb, "built" | "run" | "done" | "sent" | "written");
    (participle && verb != "need" && !harmless).then_some(OpenWorkHit { range, kind: StatementKind::Denial })
}

/// Participles that describe a past state and not undone work.
const DESCRIPTIVE_PARTICIPLES: &str = "expected/intended/supposed/allowed/specified/documented/caused/shared/escaped/\
        cached/closed/released/locked/\
    sorted/checked/awaited/cleared/flushed/initialised/initialized/propagated/validated/indexed/quoted/\
        encoded/trimmed/\
    normalised/normalized/surprised/related/involved/limited/asked/excluded/counted/recognised/\
        recognized/rendered/returned";
