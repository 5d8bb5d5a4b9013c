//! Measurements that miss their goal: "412 kB, more than the 350 kB allowed", "78, the goal was 90".

use crate::claim::pattern::{MaskedSentence, WordPattern, patterns};
use crate::claim::prose_words::{ProseWord, find_any_match, has_match, parse_number};

use super::{OpenWorkHit, StatementKind};

/// Words for a lower bound, unless the unit is a cost.
const MINIMUM_GOAL_WORDS: &[&str] =
    &["goal/target/required/requires/demands/wanted/minimum/threshold/asks/asked/needed/expected"];
/// Words for an upper bound.
const MAXIMUM_GOAL_WORDS: &[&str] = &["allowed/limit/budget/maximum/max/cap/ceiling/permitted"];
/// Units for which a lower value is better.
const COST_UNITS: &str = "ms/s/sec/seconds/minutes/min/kb/mb/gb/kib/mib/bytes/allocations/queries/us/ns";

/// Returns a measurement that misses its goal.
pub(crate) fn find_missed_goal(sentence: &[ProseWord]) -> Option<OpenWorkHit> {
    let numbers: alloc::vec::Vec<(usize, u64)> =
        sentence.iter().enumerate().filter_map(|(at, word)| Some((at, parse_digits(word)?))).collect();
    let [(first, measure), (second, goal)] = numbers[..] else { return None };
    let maximum = find_any_match(sentence, MAXIMUM_GOAL_WORDS);
    let cue = maximum.clone().or_else(|| find_any_match(sentence, MINIMUM_GOAL_WORDS))?;
    let near = cue.start > first && cue.start.abs_diff(second) <= 5;
    let costly = sentence
        .get(second + 1)
        .or_else(|| sentence.get(first + 1))
        .is_some_and(|word| COST_UNITS.split('/').any(|unit| unit == word.text));
    let bad = if maximum.is_some() || costly { measure > goal } else { measure < goal };
    let moved = has_match(sentence, &["from/of", "down to", "up to"]);
    (near && bad && !moved).then_some(OpenWorkHit { range: first..first + 1, kind: StatementKind::Partial })
}

/// Returns a reported violation of the task: "it isn't rebuilt, which the story requires".
pub(crate) fn find_task_violation(marked: &MaskedSentence<'_>) -> Option<OpenWorkHit> {
    const TASK_REFERENCES: &[WordPattern] = patterns![
        "which/although/though/but/whereas the/our/your? spec/specification/task/ticket/prd/story/issue/\
        criteria/criterion/plan/brief/\
            requirements/contract also/explicitly/clearly? demands/requires/asks/wants/calls/expects/\
        specifies/mandates/lists/needs",
    ];
    let range = marked.find_any(TASK_REFERENCES)?;
    let before = marked.words.get(..range.start)?;
    has_match(before, &["not/no/never/without/absent/missing/lacks/lack/cannot/descoped/only/irreversible"])
        .then_some(OpenWorkHit { range, kind: StatementKind::Partial })
}

/// Parses a number that is written in digits. "one" and "two" are not measurements.
fn parse_digits(word: &ProseWord) -> Option<u64> {
    let is_numeric = word.text.starts_with(|c: char| c.is_ascii_digit());
    if is_numeric { parse_number(&word.text) } else { None }
}
