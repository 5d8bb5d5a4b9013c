//! The tables of labelled outputs: every case must be read as a person reads it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod extract;

use ralph_core::claim::{Claim, ClaimFinder, ClaimReading, ClaimRules, Promise, TranscriptEvent};
use serde_json::Value;

const CORPUS: &str = include_str!("../data/claims.jsonl");
const MORE: &str = include_str!("../data/more_claims.jsonl");

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case.get(field).and_then(Value::as_str).unwrap_or("")
}

/// Returns the reading, or nothing when the promise is refused.
fn read(case: &Value, feed: impl Fn(&mut ClaimFinder)) -> Option<ClaimReading> {
    let promise = Promise::parse(text(case, "promise")).ok()?;
    let mut finder = ClaimFinder::new(ClaimRules::new(promise), text(case, "prompt"));
    feed(&mut finder);
    Some(finder.finish())
}

/// Returns what is wrong about the reading of a case.
fn complaint(
    case: &Value,
    reading: Option<&ClaimReading>,
    claimed: bool,
    contradiction: Option<bool>,
) -> Option<String> {
    let id = text(case, "id");
    let why = text(case, "why");
    match reading.map(|reading| &reading.claim) {
        None if !claimed => None,
        None => Some(format!("{id}: refused, but: {why}")),
        Some(Claim::None { .. }) if !claimed => None,
        Some(Claim::None { why: reason }) => Some(format!("{id}: no claim because {reason}, but: {why}")),
        Some(Claim::Made { .. }) if !claimed => Some(format!("{id}: claimed, but: {why}")),
        Some(Claim::Made { contradiction: found, .. }) => (contradiction
            .is_some_and(|wanted| wanted != found.is_some()))
        .then(|| format!("{id}: contradiction {found:?}, but: {why}")),
    }
}

fn check(table: &str, judge: impl Fn(&Value) -> Option<String>) -> usize {
    let cases: Vec<Value> = table.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let complaints: Vec<String> = cases.iter().filter_map(judge).collect();
    assert!(complaints.is_empty(), "{} of {} wrong:\n{}", complaints.len(), cases.len(), complaints.join("\n"));
    cases.len()
}

// spec: S1, S2, S3, S4, S7, S8
#[test]
fn every_output_of_the_corpus_is_read_right() {
    let count = check(CORPUS, |case| {
        let reading = read(case, |finder| extract::feed(text(case, "format"), text(case, "output"), finder));
        let contradiction = case.get("contradiction_expected").and_then(Value::as_bool);
        complaint(case, reading.as_ref(), text(case, "expected") == "complete", contradiction)
    });
    assert_eq!(count, 273);
}

fn read_further_message(case: &Value) -> Option<ClaimReading> {
    let message = text(case, "message");
    read(case, |finder| finder.handle_event(TranscriptEvent::AgentText { message: 1, text: message }))
}

// spec: S3, S4
#[test]
fn every_claim_in_a_further_message_is_read_right() {
    let count = check(MORE, |case| {
        let claimed = case.get("claimed").and_then(Value::as_bool).unwrap();
        complaint(case, read_further_message(case).as_ref(), claimed, None)
    });
    assert!(count >= 150);
}

/// The wordings for open work are endless, so the rules find most of them; a false alarm is worse than a missed one.
// spec: S7
// finding: N23
#[test]
fn contradictions_in_further_messages_are_found_without_false_alarms() {
    let (mut open, mut found, mut fine, mut alarms) = (0, 0, 0, Vec::new());
    for line in MORE.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(Claim::Made { contradiction, .. }) = read_further_message(&case).map(|reading| reading.claim) else {
            continue;
        };
        match case.get("contradiction").and_then(Value::as_bool) {
            Some(true) => {
                open += 1;
                found += usize::from(contradiction.is_some());
            }
            Some(false) => {
                fine += 1;
                alarms.extend(contradiction.map(|open| open.sentence));
            }
            None => {}
        }
    }
    assert!(found * 10 >= open * 6, "only {found} of {open} contradictions are found");
    assert!(alarms.len() * 200 <= fine, "{} false alarms in {fine} messages: {alarms:?}", alarms.len());
}
