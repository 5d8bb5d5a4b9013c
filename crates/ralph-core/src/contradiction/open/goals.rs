//! Measures that miss their goal: "412 kB, more than the 350 kB allowed", "78, the goal was 90".

use crate::claim::pattern::{Marked, Pattern, patterns};
use crate::claim::words::{Word, find_any, has, number};

use super::{Hit, Sort};

/// Goals that are a least, unless their unit is one of cost.
const LEAST: &[&str] =
    &["goal/target/required/requires/demands/wanted/minimum/threshold/asks/asked/needed/expected"];
/// Goals that are a most.
const MOST: &[&str] = &["allowed/limit/budget/maximum/max/cap/ceiling/permitted"];
/// Units of cost: less is better.
const COST: &str = "ms/s/sec/seconds/minutes/min/kb/mb/gb/kib/mib/bytes/allocations/queries/us/ns";

/// Returns a measure that is on the wrong side of its goal.
pub(crate) fn missed(sentence: &[Word]) -> Option<Hit> {
    let numbers: alloc::vec::Vec<(usize, u64)> =
        sentence.iter().enumerate().filter_map(|(at, word)| Some((at, digits(word)?))).collect();
    let [(first, measure), (second, goal)] = numbers[..] else { return None };
    let most = find_any(sentence, MOST);
    let cue = most.clone().or_else(|| find_any(sentence, LEAST))?;
    let near = cue.start > first && cue.start.abs_diff(second) <= 5;
    let costly = sentence
        .get(second + 1)
        .or_else(|| sentence.get(first + 1))
        .is_some_and(|word| COST.split('/').any(|unit| unit == word.text));
    let bad = if most.is_some() || costly { measure > goal } else { measure < goal };
    let moved = has(sentence, &["from/of", "down to", "up to"]);
    (near && bad && !moved).then_some(Hit { range: first..first + 1, sort: Sort::Part })
}

/// Returns what is told to be against the task: "it isn't rebuilt, which the story requires".
pub(crate) fn against_task(marked: &Marked<'_>) -> Option<Hit> {
    const TASK: &[Pattern] = patterns![
        "which/although/though/but/whereas the/our/your? spec/specification/task/ticket/prd/story/issue/\
        criteria/criterion/plan/brief/\
            requirements/contract also/explicitly/clearly? demands/requires/asks/wants/calls/expects/\
        specifies/mandates/lists/needs",
    ];
    let range = marked.find(TASK)?;
    let before = marked.words.get(..range.start)?;
    has(before, &["not/no/never/without/absent/missing/lacks/lack/cannot/descoped/only/irreversible"])
        .then_some(Hit { range, sort: Sort::Part })
}

/// Only digits measure: "one" and "two" are words.
fn digits(word: &Word) -> Option<u64> {
    let written = word.text.starts_with(|c: char| c.is_ascii_digit());
    if written { number(&word.text) } else { None }
}
