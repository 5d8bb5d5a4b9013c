//! Renders an explanation: its headline, the deciding rule with evidence and numbers, and the rules that did not decide.
use std::fmt::Write;

use ralph_core::explanation::{DecisionExplanation, EvidenceLine, NumberUnit, RuleNumber, UnappliedRule};
use ralph_engine::run_driver::Clock;
use ralph_util::sanitize::sanitize_text;
use serde_json::{Map, Value, json};

use super::text_format::{format_clock_time, micros_to_dollars};
use super::timestamp_json;

/// Returns the keys of an explanation for JSON.
#[must_use]
pub fn explanation_json(explained: &DecisionExplanation) -> Map<String, Value> {
    let evidence: Vec<Value> = explained.evidence.iter().map(evidence_json).collect();
    let numbers: Vec<Value> = explained.numbers.iter().map(|number| Value::Object(number_json(number))).collect();
    let not_applied: Vec<Value> = explained.not_applied.iter().map(unapplied_json).collect();
    Map::from_iter([
        ("headline".to_owned(), json!(explained.headline)),
        ("rule".to_owned(), json!(explained.rule.as_str())),
        ("sentence".to_owned(), json!(explained.rule.sentence())),
        ("evidence".to_owned(), evidence.into()),
        ("numbers".to_owned(), numbers.into()),
        ("not_applied".to_owned(), not_applied.into()),
        ("until".to_owned(), json!(explained.until.map(|until| timestamp_json(until.0)))),
    ])
}

fn evidence_json(line: &EvidenceLine) -> Value {
    json!({ "seq": line.seq, "text": line.text })
}

fn number_json(number: &RuleNumber) -> Map<String, Value> {
    let amount = |amount: Option<u64>| match number.unit {
        NumberUnit::Count(_) | NumberUnit::Milliseconds => json!(amount),
        NumberUnit::Dollars => json!(micros_to_dollars(amount.map(|micros| i64::try_from(micros).unwrap_or(i64::MAX)))),
    };
    Map::from_iter([
        ("name".to_owned(), json!(number.name)),
        ("value".to_owned(), amount(number.used)),
        ("limit".to_owned(), amount(number.limit)),
        ("scope".to_owned(), json!(number.scope)),
        ("text".to_owned(), json!(number.text())),
    ])
}

fn unapplied_json(unapplied: &UnappliedRule) -> Value {
    let mut object = Map::from_iter([("rule".to_owned(), json!(unapplied.rule.as_str()))]);
    if let Some(number) = &unapplied.number {
        object.extend(number_json(number));
    }
    object.insert("text".to_owned(), json!(unapplied.text()));
    Value::Object(object)
}

/// Returns the lines below the headline. `others` is the heading of the rules that did not decide.
#[must_use]
pub fn explanation_text(explained: &DecisionExplanation, others: &str) -> String {
    let mut text = format!("rule      {}: {}\n", explained.rule.label(), explained.rule.sentence());
    for number in &explained.numbers {
        let _ = writeln!(text, "number    {}", number.text());
    }
    if let Some(until) = explained.until {
        let _ = writeln!(text, "until     {}", format_clock_time(until, Clock::wall_now()));
    }
    if !explained.evidence.is_empty() {
        text.push_str("\nevidence\n");
    }
    for line in &explained.evidence {
        let seq = line.seq.map(|seq| format!("#{seq}")).unwrap_or_default();
        let _ = writeln!(text, "  {seq:<5} {}", line.text);
    }
    if !explained.not_applied.is_empty() {
        let _ = writeln!(text, "\n{others}");
    }
    for unapplied in &explained.not_applied {
        let _ = writeln!(text, "  {}", unapplied.text());
    }
    // Stored text may come from an agent or from an untrusted file.
    sanitize_text(&text)
}
