//! Stories and criteria by their number ("AC5 fails", "US-9 is open"), words such as "unconverted", and
//! perfect passives such as "have not been converted".

use crate::claim::pattern::{Marked, Pattern, pattern, patterns};

use super::{Hit, Sort};

/// Denied participles that are good news.
const HARMLESS: &str = "changed/touched/modified/affected/altered/broken/removed/seen/observed/needed/\
        required/used/lost/noticed/\
    renamed/exceeded/violated/dropped/harmed/reduced/weakened/disabled/expired/received/confirmed/\
        reported/published/called/\
    requested/set/given/passed/found/introduced/compromised/leaked/moved/made/deleted/skipped/shown";

/// Words in "un-" that are no lack.
const NO_LACK: &str = "unchanged/unaffected/untouched/unrelated/unlimited/unused/united/unmodified/\
        unsigned/unbounded/undefined/\
    untyped/unauthenticated/unauthorized/unauthorised/undisturbed/unaltered/unopened/unbroken/unloaded/\
        unblocked/undeleted";

/// Returns places that are told by their form and not by a list of words.
pub(crate) fn by_form(marked: &Marked<'_>) -> impl Iterator<Item = Hit> {
    const READERS: &[fn(&Marked<'_>, usize) -> Option<Hit>] = &[ticket, lacking, perfect, needing, passive];
    let doing = doing(marked);
    let found = (0..marked.words.len()).filter_map(|at| READERS.iter().find_map(|read| read(marked, at)));
    doing.into_iter().chain(found)
}

/// "AC5 fails".
fn ticket(marked: &Marked<'_>, at: usize) -> Option<Hit> {
    const BAD: &[Pattern] = patterns![
        "still/currently/now? fails/fail/failed/broken/red/incomplete/unfinished/unmet",
        "is/was/remains/stays still/currently/now? open/red/broken/pending/missing/incomplete/\
        unfinished/failing/unmet/blocked/violated",
    ];
    let word = marked.words.get(at)?;
    let digits = word.text.trim_start_matches(|c: char| c.is_ascii_lowercase());
    let letters = word.text.len() - digits.len();
    let number = digits.trim_start_matches('-');
    let named =
        (1..=5).contains(&letters) && !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
    let bad = BAD.iter().find_map(|pattern| pattern.at(marked, at + 1))?;
    named.then_some(Hit { range: at..bad.end, sort: Sort::State })
}

/// "Three call sites remain unconverted".
fn lacking(marked: &Marked<'_>, at: usize) -> Option<Hit> {
    const REMAINS: Pattern = pattern!("remain/remains/stays/stay/left/still/currently/remained *");
    let range = REMAINS.at(marked, at)?;
    let word = &marked.words.get(range.end - 1)?.text;
    let form = word.starts_with("un") && (word.ends_with("ed") || word.ends_with("en")) && word.len() > 6;
    let harmless = NO_LACK.split('/').any(|known| known == word);
    (form && !harmless).then_some(Hit { range, sort: Sort::State })
}

/// "Some call sites have not been converted".
fn perfect(marked: &Marked<'_>, at: usize) -> Option<Hit> {
    const BEEN: Pattern =
        pattern!("has/have not yet/all/fully/actually/really? been yet/all/fully/actually/really? *");
    let range = BEEN.at(marked, at)?;
    let verb = &marked.words.get(range.end - 1)?.text;
    let harmless = HARMLESS.split('/').any(|known| known == verb);
    let participle = verb.ends_with("ed")
        || verb.ends_with("en")
        || matches!(verb.as_str(), "done" | "run" | "built" | "met");
    (participle && !harmless).then_some(Hit { range, sort: Sort::Denial })
}

fn is_doing(text: &str) -> bool {
    text.len() > 5 && text.ends_with("ing") && !text.ends_with("thing") && text != "string"
}

/// "Downloading the icons failed".
fn doing(marked: &Marked<'_>) -> Option<Hit> {
    const FAILED: Pattern = pattern!("* .. failed/fails/crashes/crashed/errors/errored");
    marked.words.first().filter(|word| is_doing(&word.text))?;
    FAILED.at(marked, 0).map(|range| Hit { range, sort: Sort::State })
}

/// "The code needs cleaning up".
fn needing(marked: &Marked<'_>, at: usize) -> Option<Hit> {
    const NEEDS: Pattern = pattern!("need/needs *");
    let range = NEEDS.at(marked, at)?;
    is_doing(&marked.words.get(range.end - 1)?.text).then_some(Hit { range, sort: Sort::State })
}

/// "The tag was not pushed".
fn passive(marked: &Marked<'_>, at: usize) -> Option<Hit> {
    const WAS_NOT: Pattern = pattern!("was/were not yet/fully/actually/really? *");
    let range = WAS_NOT.at(marked, at)?;
    let verb = marked.words.get(range.end - 1)?.text.as_str();
    let harmless = [HARMLESS, NO_WORK].iter().any(|list| list.split('/').any(|known| known == verb));
    let participle = verb.ends_with("ed") || matches!(verb, "built" | "run" | "done" | "sent" | "written");
    (participle && verb != "need" && !harmless).then_some(Hit { range, sort: Sort::Denial })
}

/// Participles that tell how things were, and not what was left undone.
const NO_WORK: &str = "expected/intended/supposed/allowed/specified/documented/caused/shared/escaped/\
        cached/closed/released/locked/\
    sorted/checked/awaited/cleared/flushed/initialised/initialized/propagated/validated/indexed/quoted/\
        encoded/trimmed/\
    normalised/normalized/surprised/related/involved/limited/asked/excluded/counted/recognised/\
        recognized/rendered/returned";
