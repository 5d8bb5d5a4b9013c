//! Renders a criterion of a claim: method, verdict, reason, and the path of its full output.
use std::fmt::Write;
use std::path::Path;

use ralph_core::evidence::JudgeReport;
use serde_json::{Value, json};

use super::text_format::{format_elapsed, pluralize};
use ralph_store::CheckRow;

/// Returns the criteria of a claim with nested stages.
pub(super) fn criteria_json(rows: &[&CheckRow], logs: &Path) -> Vec<Value> {
    criteria_at_depth(rows, 0, logs)
}

/// Rows are in order: each criterion precedes its stages.
fn criteria_at_depth(rows: &[&CheckRow], depth: usize, logs: &Path) -> Vec<Value> {
    let heads: Vec<usize> = (0..rows.len()).filter(|&at| criterion_depth(rows[at]) == depth).collect();
    let ends = heads.iter().skip(1).copied().chain([rows.len()]);
    let parts = heads.iter().zip(ends).map(|(&head, end)| &rows[head..end]);
    parts
        .filter_map(|part| {
            Some(criterion_json(part.first()?, &criteria_at_depth(part.get(1..)?, depth + 1, logs), logs))
        })
        .collect()
}

fn criterion_json(check: &CheckRow, stages: &[Value], logs: &Path) -> Value {
    json!({
        "method": check.method,
        "name": check.name,
        "command": check.command,
        "verdict": check.verdict,
        "reason": check.reason,
        "exit_code": check.exit_code,
        "duration_ms": check.duration_ms,
        "required": check.required,
        "tries": check.tries,
        "cached": check.cached,
        "output_sha256": check.output_digest,
        "judgement": parse_judgement(check),
        "log": log_path(check, logs),
        "stages": stages,
    })
}

/// Writes a criterion as text. Stages are indented below their criterion.
pub(super) fn write_criterion(text: &mut String, check: &CheckRow, logs: &Path) {
    let margin = " ".repeat(2 + 2 * criterion_depth(check));
    let name = check.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let _ = writeln!(
        text,
        "{margin}{:<8}  {name}`{}` ({}): {} ({})",
        verdict_word(check),
        check.command,
        check.method,
        check.reason,
        format_elapsed(check.duration_ms)
    );
    let below = format!("{margin}{:10}", "");
    for remark in criterion_remarks(check) {
        let _ = writeln!(text, "{below}{remark}");
    }
    if let Some(log) = log_path(check, logs) {
        let _ = writeln!(text, "{below}{log}");
    }
}

/// Returns remarks about retries, caching and optional criteria, and the findings of a judge.
fn criterion_remarks(check: &CheckRow) -> Vec<String> {
    let flaky = (check.tries > 1).then(|| match check.verdict.as_str() {
        "accepted" => format!("flaky: failed {} before it passed", pluralize(check.tries - 1, "time")),
        _ => format!("checked {}", pluralize(check.tries, "time")),
    });
    let cached = check.cached.then(|| "cached: nothing has changed since the last check".to_owned());
    let optional = (!check.required).then(|| "optional: a failure only warns".to_owned());
    [flaky, cached, optional].into_iter().flatten().chain(judge_findings(check)).collect()
}

fn judge_findings(check: &CheckRow) -> Vec<String> {
    let Some(judged) = parse_judgement(check) else { return Vec::new() };
    let judge = judged.model.map_or(judged.judge.clone(), |model| format!("{} ({model})", judged.judge));
    let findings = judged.findings.iter().map(|finding| {
        let word = if finding.met { "met" } else { "not met" };
        format!("{word}: {} - {:?}", finding.criterion, finding.quotation)
    });
    std::iter::once(format!("judged by {judge}")).chain(findings).collect()
}

fn parse_judgement(check: &CheckRow) -> Option<JudgeReport> {
    check.judgement.as_deref().and_then(|text| serde_json::from_str(text).ok())
}

/// Returns the path of the full output.
fn log_path(check: &CheckRow, logs: &Path) -> Option<String> {
    (!check.log_file.is_empty()).then(|| logs.join(&check.log_file).display().to_string())
}

fn criterion_depth(check: &CheckRow) -> usize {
    check.outline_number.matches('.').count()
}

/// Returns the displayed word for a stored verdict, the same as during a run.
fn verdict_word(check: &CheckRow) -> &str {
    if check.verdict == "could_not_evaluate" { "unproven" } else { &check.verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample_row(place: &str, command: &str) -> CheckRow {
        CheckRow {
            iteration: 1,
            position: 1,
            outline_number: place.to_owned(),
            method: "external".to_owned(),
            name: None,
            command: command.to_owned(),
            verdict: "accepted".to_owned(),
            reason: "so".to_owned(),
            exit_code: Some(0),
            duration_ms: 1_000,
            log_file: String::new(),
            required: true,
            tries: 1,
            cached: false,
            output_digest: None,
            judgement: None,
        }
    }

    // spec: V14
    #[test]
    fn stages_are_nested_inside_their_criterion() {
        let rows = [
            sample_row("1", "a"),
            sample_row("1.1", "b"),
            sample_row("1.2", "c"),
            sample_row("1.2.1", "d"),
            sample_row("2", "e"),
        ];
        let found = criteria_json(&rows.iter().collect::<Vec<_>>(), Path::new("logs"));
        assert_eq!((&found[0]["command"], &found[1]["command"]), (&"a".into(), &"e".into()));
        assert_eq!(found[0]["stages"][1]["command"], "c");
        assert_eq!(found[0]["stages"][1]["stages"][0]["command"], "d");
        assert_eq!(found[1]["stages"], serde_json::json!([]));
    }

    // spec: V14
    #[test]
    fn the_text_names_retries_caching_and_optional_criteria() {
        let judged = serde_json::json!({"judge": "claude", "model": "haiku", "findings": [
            {"criterion": "no secrets", "met": true, "quotation": "none found", "reason": ""}]});
        let odd = CheckRow {
            name: Some("judge".to_owned()),
            tries: 3,
            cached: true,
            required: false,
            log_file: "iteration-001.check-1.log".to_owned(),
            judgement: Some(judged.to_string()),
            ..sample_row("1.1", "1 judged criterion")
        };
        let mut shown = String::new();
        write_criterion(&mut shown, &odd, Path::new("logs"));
        insta::assert_snapshot!(shown, @r#"
            accepted  judge: `1 judged criterion` (external): so (1.0s)
                      flaky: failed 2 times before it passed
                      cached: nothing has changed since the last check
                      optional: a failure only warns
                      judged by claude (haiku)
                      met: no secrets - "none found"
                      logs/iteration-001.check-1.log
        "#);
    }
}
