//! Labelled outputs: what counts as the agent's final text. These tests only check whether the promise is part of it;
//! claim detection is tested in ralph-core.
use serde::Deserialize;

use super::{final_text, parse_events};
use crate::OutputFormat;

const CLAIM_CASES: &str = include_str!("../../../ralph-core/tests/data/claims.jsonl");

/// Classes of cases in which the promise occurs only outside of the agent's final message.
const NON_FINAL_CLASSES: &[&str] = &[
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
struct ClaimCase {
    id: String,
    class: String,
    format: String,
    promise: String,
    output: String,
    expected: String,
}

fn claim_cases() -> Vec<ClaimCase> {
    CLAIM_CASES
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|case: &ClaimCase| case.format != "text")
        .collect()
}

fn final_text_of(case: &ClaimCase) -> String {
    final_text(&parse_events(case.format.parse::<OutputFormat>().unwrap(), &case.output)).to_lowercase()
}

#[test] // spec: S2, S3, S4
fn every_claim_is_in_the_final_text() {
    let positive: Vec<_> = claim_cases().into_iter().filter(|case| case.expected == "complete").collect();
    assert!(positive.len() > 50);
    for case in positive {
        let text = final_text_of(&case);
        assert!(text.contains("<promise>"), "{}: {text}", case.id);
        assert!(text.contains(case.promise.trim().to_lowercase().split_whitespace().next().unwrap()), "{}", case.id);
    }
}

#[test] // spec: S2, S4
fn a_promise_elsewhere_never_reaches_the_final_text() {
    let negative: Vec<_> =
        claim_cases().into_iter().filter(|case| NON_FINAL_CLASSES.contains(&case.class.as_str())).collect();
    assert!(negative.len() > 40);
    for case in negative {
        let text = final_text_of(&case);
        assert!(!text.contains("<promise>"), "{}: {text}", case.id);
    }
}

#[test] // spec: S2, F2
fn without_a_display_the_final_text_is_the_same() {
    for case in claim_cases() {
        let format = case.format.parse::<OutputFormat>().unwrap();
        let mut parser = crate::parser_for_format(format);
        parser.skip_display_events();
        let mut events = Vec::new();
        parser.push(case.output.as_bytes(), &mut events);
        parser.finish(&mut events);
        assert_eq!(final_text(&events), final_text(&parse_events(format, &case.output)), "{}", case.id);
    }
}
