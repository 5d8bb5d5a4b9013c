//! The labelled outputs: what counts as the agent's final words. Whether they claim anything is decided
//! elsewhere; here the promise must be in them, or must not.
use serde::Deserialize;

use super::{events, final_text};
use crate::Format;

const CLAIMS: &str = include_str!("../../../ralph-core/tests/data/claims.jsonl");

/// Cases in which the promise stands only in what is not the agent's final message.
const NOT_FINAL_WORDS: &[&str] = &[
    "neg-tool-result",
    "neg-thinking",
    "neg-subagent",
    "neg-tool-input",
    "neg-user-message",
    "neg-old-transcript",
    "neg-then-work",
    "neg-noise",
    "neg-error",
    "neg-claim-then-error",
    "neg-cutoff",
];

#[derive(Deserialize)]
struct Case {
    id: String,
    class: String,
    format: String,
    promise: String,
    output: String,
    expected: String,
}

fn cases() -> Vec<Case> {
    CLAIMS
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|case: &Case| case.format != "text")
        .collect()
}

fn final_words(case: &Case) -> String {
    final_text(&events(case.format.parse::<Format>().unwrap(), &case.output)).to_lowercase()
}

#[test] // spec: S2, S3, S4
fn every_claim_stands_in_the_final_words() {
    let positive: Vec<_> = cases().into_iter().filter(|case| case.expected == "complete").collect();
    assert!(positive.len() > 50);
    for case in positive {
        let words = final_words(&case);
        assert!(words.contains("<promise>"), "{}: {words}", case.id);
        assert!(
            words.contains(case.promise.trim().to_lowercase().split_whitespace().next().unwrap()),
            "{}",
            case.id
        );
    }
}

#[test] // spec: S2, S4
fn a_promise_elsewhere_never_reaches_the_final_words() {
    let negative: Vec<_> =
        cases().into_iter().filter(|case| NOT_FINAL_WORDS.contains(&case.class.as_str())).collect();
    assert!(negative.len() > 40);
    for case in negative {
        let words = final_words(&case);
        assert!(!words.contains("<promise>"), "{}: {words}", case.id);
    }
}

#[test] // spec: S2, F2
fn where_nobody_looks_the_same_words_are_heard() {
    for case in cases() {
        let format = case.format.parse::<Format>().unwrap();
        let mut parser = crate::parser(format);
        parser.unwatched();
        let mut heard = Vec::new();
        parser.push(case.output.as_bytes(), &mut heard);
        parser.finish(&mut heard);
        assert_eq!(final_text(&heard), final_text(&events(format, &case.output)), "{}", case.id);
    }
}
