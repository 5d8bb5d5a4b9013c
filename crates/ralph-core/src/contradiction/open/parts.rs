//! Parts that are less than the whole: "10/12 pass", "three of the five are done", "all except two",
//! "80 % complete".

use crate::claim::pattern::{Marked, Pattern, pattern, patterns};
use crate::claim::words::{has, number};

use super::{Hit, Sort};

const TOLD: Pattern = pattern!(
    "work/pass/passes/passed/passing/done/covered/complete/completed/green/implemented/\
    finished/met/works/working/checked/ticked/far/closed/translated/ported/migrated/ready/succeed/\
    succeeded/fixed/converted/resolved/repaired"
);

/// Returns a part that is told to be less than its whole.
pub(crate) fn part_of_whole(marked: &Marked<'_>) -> Option<Hit> {
    const OF: Pattern = pattern!("#/0 of/out/from of? the/all/my/our/these? #");
    let sentence = marked.words;
    let told = TOLD.find(marked).is_some();
    let labelled = |at: usize| {
        at.checked_sub(1).and_then(|before| sentence.get(before)).is_some_and(|word| word.text == ":")
    };
    let fraction = sentence.iter().position(|word| is_proper_fraction(&word.text));
    if let Some(at) = fraction.filter(|&at| told || (labelled(at) && at + 1 < sentence.len())) {
        return Some(Hit { range: at..at + 1, sort: Sort::Part });
    }
    (0..sentence.len()).find_map(|at| {
        let range = OF.at(marked, at)?;
        let part = number(&sentence.get(at)?.text)?;
        let whole = number(&sentence.get(range.end - 1)?.text)?;
        let only =
            at.checked_sub(1).and_then(|before| sentence.get(before)).is_some_and(|word| word.text == "only");
        (part < whole && (told || only)).then_some(Hit { range, sort: Sort::Part })
    })
}

/// Tells whether a word such as "10/12" is less than the whole.
fn is_proper_fraction(word: &str) -> bool {
    let Some((part, whole)) = word.split_once('/') else { return false };
    part.parse::<u64>().ok().zip(whole.parse::<u64>().ok()).is_some_and(|(part, whole)| part < whole)
}

/// Returns a part that is named after its whole: "of the eight reports, five are converted".
pub(crate) fn of_whole(marked: &Marked<'_>) -> Option<Hit> {
    const OF: Pattern = pattern!("of the/our/these/all? #");
    let whole = OF.find(marked)?;
    let count = |word: &crate::claim::words::Word| number(&word.text);
    let all = marked.words.get(whole.end - 1).and_then(count)?;
    let later = marked.words.get(whole.end..)?;
    let parts: alloc::vec::Vec<u64> = later.iter().filter_map(count).collect();
    let at = whole.end + later.iter().position(|word| number(&word.text).is_some())?;
    let comma = later.iter().any(|word| word.text == ",");
    let told = has(marked.words.get(at..)?, &["work/is/are/were/was/have/has/pass/build/start"])
        && TOLD.find(marked).is_some();
    let less = parts.iter().sum::<u64>() < all;
    (comma && told && less).then_some(Hit { range: at..at + 1, sort: Sort::Part })
}

/// Returns the exception from something that is done: "everything works apart from the filter".
pub(crate) fn all_except(marked: &Marked<'_>) -> Option<Hit> {
    const EXCEPT: &[Pattern] = patterns![
        "except/excluding/barring/minus/besides/bar",
        "apart/aside from",
        "other than",
        "with the/one/two exception/exceptions",
        "save for",
        "all/everything/every but",
        "but not",
        "but for",
        "only .. not",
    ];
    const DONE: &str = "work/pass/passes/passed/passing/green/done/works/working/implemented/complete/\
        completed/finished/migrated/ported/translated/place/there/ready/clean/builds/compiles/covered/\
        met/ticked";
    let range = marked.find(EXCEPT)?;
    let sentence = marked.words;
    let before = sentence.get(..range.start + 1)?;
    let whole = has(before, &["all/everything/every/each/most/spec/rest/suite/both", DONE]);
    let none = has(before, &["no/nothing/none/never/nobody"]);
    (whole && !none && has(sentence, &[DONE])).then_some(Hit { range, sort: Sort::Part })
}

/// Returns a share below a hundred per cent that is told to be done, or to miss its mark.
pub(crate) fn percentage(marked: &Marked<'_>) -> Option<Hit> {
    const SHARE: Pattern = pattern!(
        "* of? the/our/my/this? work/task/tests/plan/spec/files/migration/port/way? is/are/has/have? \
        been? now/currently? complete/completed/done/finished/implemented/ready/migrated/ported/translated/\
        passing/green/there"
    );
    let sentence = marked.words;
    const PROGRESS: Pattern = pattern!(
        "work/translation/migration/port/progress/completion/conversion/rollout ... is/at/: at/about? *"
    );
    let percents = || sentence.iter().enumerate().filter_map(|(at, word)| Some((at, percent(&word.text)?)));
    let share = percents()
        .filter(|(_, value)| *value < 100.0)
        .find_map(|(at, _)| SHARE.at(marked, at))
        .map(|range| Hit { range, sort: Sort::Part });
    let progress = PROGRESS.find(marked).filter(|range| {
        marked
            .words
            .get(range.end - 1)
            .and_then(|word| percent(&word.text))
            .is_some_and(|value| value < 100.0)
    });
    let share = share.or_else(|| progress.map(|range| Hit { range, sort: Sort::Part }));
    share.or_else(|| {
        let mut values = percents();
        let (at, first) = values.next()?;
        let (_, second) = values.next()?;
        let gated = has(
            sentence,
            &["gate/target/goal/threshold/asks/requires/demands/required/wanted/minimum/needs"],
        ) && !has(sentence, &["from", "above", "over", "budget"]);
        (values.next().is_none() && first < second && gated)
            .then_some(Hit { range: at..at + 1, sort: Sort::Part })
    })
}

fn percent(word: &str) -> Option<f64> {
    word.strip_suffix('%')?.parse().ok()
}
