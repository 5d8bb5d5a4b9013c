//! Results that are less than the whole: "10/12 pass", "three of the five are done", "all except two", "80 % complete".

use crate::claim::pattern::{MaskedSentence, WordPattern, pattern, patterns};
use crate::claim::prose_words::{has_match, parse_number};

use super::{OpenWorkHit, StatementKind};

const COMPLETION_VERBS: WordPattern = pattern!(
    "work/pass/passes/passed/passing/done/covered/complete/completed/green/implemented/\
    finished/met/works/working/checked/ticked/far/closed/translated/ported/migrated/ready/succeed/\
    succeeded/fixed/converted/resolved/repaired"
);

/// Returns a completed part that is less than its whole.
pub(crate) fn find_part_of_whole(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const PART_OF_WHOLE: WordPattern = pattern!("#/0 of/out/from of? the/all/my/our/these? #");
    let sentence = marked.words;
    let is_completion = COMPLETION_VERBS.find_in(marked).is_some();
    let labelled =
        |at: usize| at.checked_sub(1).and_then(|before| sentence.get(before)).is_some_and(|word| word.text == ":");
    let fraction = sentence.iter().position(|word| is_proper_fraction(&word.text));
    if let Some(at) = fraction.filter(|&at| is_completion || (labelled(at) && at + 1 < sentence.len())) {
        return Some(OpenWorkHit { range: at..at + 1, kind: StatementKind::Partial });
    }
    (0..sentence.len()).find_map(|at| {
        let range = PART_OF_WHOLE.match_at(marked, at)?;
        let part = parse_number(&sentence.get(at)?.text)?;
        let whole = parse_number(&sentence.get(range.end - 1)?.text)?;
        let only = at.checked_sub(1).and_then(|before| sentence.get(before)).is_some_and(|word| word.text == "only");
        (part < whole && (is_completion || only)).then_some(OpenWorkHit { range, kind: StatementKind::Partial })
    })
}

/// Returns whether a word is a fraction below one, such as "10/12".
fn is_proper_fraction(word: &str) -> bool {
    let Some((part, whole)) = word.split_once('/') else { return false };
    part.parse::<u64>().ok().zip(whole.parse::<u64>().ok()).is_some_and(|(part, whole)| part < whole)
}

/// Returns a part that follows its whole: "of the eight reports, five are converted".
pub(crate) fn find_whole_before_part(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const WHOLE_COUNT: WordPattern = pattern!("of the/our/these/all? #");
    let whole = WHOLE_COUNT.find_in(marked)?;
    let count = |word: &crate::claim::prose_words::ProseWord| parse_number(&word.text);
    let all = marked.words.get(whole.end - 1).and_then(count)?;
    let later = marked.words.get(whole.end..)?;
    let parts: alloc::vec::Vec<u64> = later.iter().filter_map(count).collect();
    let at = whole.end + later.iter().position(|word| parse_number(&word.text).is_some())?;
    let comma = later.iter().any(|word| word.text == ",");
    let is_completion = has_match(marked.words.get(at..)?, &["work/is/are/were/was/have/has/pass/build/start"])
        && COMPLETION_VERBS.find_in(marked).is_some();
    let less = parts.iter().sum::<u64>() < all;
    (comma && is_completion && less).then_some(OpenWorkHit { range: at..at + 1, kind: StatementKind::Partial })
}

/// Returns an exception to completed work: "everything works apart from the filter".
pub(crate) fn find_exception(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const EXCEPTIONS: &[WordPattern] = patterns![
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
    const DONE_WORDS: &str = "work/pass/passes/passed/passing/green/done/works/working/implemented/complete/\
        completed/finished/migrated/ported/translated/place/there/ready/clean/builds/compiles/covered/\
        met/ticked";
    let range = marked.find_any(EXCEPTIONS)?;
    let sentence = marked.words;
    let before = sentence.get(..range.start + 1)?;
    let whole = has_match(before, &["all/everything/every/each/most/spec/rest/suite/both", DONE_WORDS]);
    let none = has_match(before, &["no/nothing/none/never/nobody"]);
    (whole && !none && has_match(sentence, &[DONE_WORDS]))
        .then_some(OpenWorkHit { range, kind: StatementKind::Partial })
}

/// Returns a percentage below 100 of completed work, or a percentage that misses its target.
pub(crate) fn find_partial_percentage(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const SHARE: WordPattern = pattern!(
        "* of? the/our/my/this? work/task/tests/plan/spec/files/migration/port/way? is/are/has/have? \
        been? now/currently? complete/completed/done/finished/implemented/ready/migrated/ported/translated/\
        passing/green/there"
    );
    let sentence = marked.words;
    const PROGRESS: WordPattern =
        pattern!("work/translation/migration/port/progress/completion/conversion/rollout ... is/at/: at/about? *");
    let percents = || sentence.iter().enumerate().filter_map(|(at, word)| Some((at, parse_percent(&word.text)?)));
    let share = percents()
        .filter(|(_, value)| *value < 100.0)
        .find_map(|(at, _)| SHARE.match_at(marked, at))
        .map(|range| OpenWorkHit { range, kind: StatementKind::Partial });
    let progress = PROGRESS.find_in(marked).filter(|range| {
        marked.words.get(range.end - 1).and_then(|word| parse_percent(&word.text)).is_some_and(|value| value < 100.0)
    });
    let share = share.or_else(|| progress.map(|range| OpenWorkHit { range, kind: StatementKind::Partial }));
    share.or_else(|| {
        let mut values = percents();
        let (at, first) = values.next()?;
        let (_, second) = values.next()?;
        let gated =
            has_match(sentence, &["gate/target/goal/threshold/asks/requires/demands/required/wanted/minimum/needs"])
                && !has_match(sentence, &["from", "above", "over", "budget"]);
        (values.next().is_none() && first < second && gated)
            .then_some(OpenWorkHit { range: at..at + 1, kind: StatementKind::Partial })
    })
}

fn parse_percent(word: &str) -> Option<f64> {
    word.strip_suffix('%')?.parse().ok()
}
