//! Measures that miss their goal: "412 kB, more than the 350 kB allowed", "78, the goal was 90".

use crate::claim::pattern::{MaskedSentence, WordPattern, patterns};
use crate::claim::prose_words::{ProseWord, find_any_match, has_match, parse_number};

use super::{OpenWorkHit, StatementKind};

/// Goals that are a least, unless their unit is one of cost.
const MINIMUM_GOAL_WORDS: &[&str] =
    &["goal/target/required/requires/demands/wanted/minimum/threshold/asks/asked/needed/expected"];
/// Goals that are a most.
const MAXIMUM_GOAL_WORDS: &[&str] = &["allowed/limit/budget/maximum/max/cap/ceiling/permitted"];
/// Units of cost: less is better.
const COST_UNITS: &str = "ms/s/sec/seconds/minutes/min/kb/mb/gb/kib/mib/bytes/allocations/queries/us/ns";

/// Returns a measure that is on the wrong side of its goal.
pub(crate) fn find_missed_goal(sentence: &[ProseWord]) -> Option<OpenWorkHit> {
    let numbers: alloc::vec::Vec<(usize, u64)> =
        sentence.iter().enumerate().filter_map(|(at, word)| Some((at, parse_digits(word)?))).collect();
    let [(first, measure), (second, goal)] = numbers[..] else { return None };
    let most = find_any_match(sentence, MAXIMUM_GOAL_WORDS);
    let cue = most.clone().or_else(|| find_any_match(sentence, MINIMUM_GOAL_WORDS))?;
    let near = cue.start > first && cue.start.abs_diff(second) <= 5;
    let costly = sentence
        .get(second + 1)
        .or_else(|| sentence.get(first + 1))
        .is_some_and(|word| COST_UNITS.split('/').any(|unit| unit == word.text));
    let bad = if most.is_some() || costly { measure > goal } else { measure < goal };
    let moved = has_match(sentence, &["from/of", "down to", "up to"]);
    (near && bad && !moved).then_some(OpenWorkHit { range: first..first + 1, kind: StatementKind::Partial })
}

/// Returns what is told to be against the task: "it isn't rebuilt, which the story requires".
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

/// Only digits measure: "one" and "two" are words.
fn parse_digits(word: &ProseWord) -> Option<u64> {
    let written = word.text.starts_with(|c: char| c.is_ascii_digit());
    if written { parse_number(&word.text) } else { None }
}
