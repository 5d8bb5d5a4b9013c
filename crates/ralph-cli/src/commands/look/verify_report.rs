//! The result of `ralph verify` as text and as JSON.
use std::fmt::Write;
use std::time::Duration;

use ralph_app::verification::ReverificationReport;
use ralph_app::view::short_id;
use ralph_core::baseline::BaselineCheck;
use ralph_core::evidence::CheckEvidence;
use ralph_core::receipt::{BaselineRecheck, ReceiptCheck};
use ralph_util::duration;
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

pub(super) fn report_json(report: &ReverificationReport) -> Value {
    json!({
        "run": report.receipt.input.run,
        "confirmed": report.discrepancies.is_empty(),
        "doubts": report.discrepancies.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "commit": report.commit,
        "tree": report.rerun.tree,
        "criteria_sha256": report.rerun.criteria_sha256,
        "checks": report.rerun.checks,
        "base_commit": report.base_commit,
        "baseline": report.rerun.baseline.checks().iter().map(baseline_json).collect::<Vec<_>>(),
        "baseline_not_repeated": baseline_not_repeated(report),
        "proof": report.receipt.findings.proof().level.as_str(),
        "repeated_proof": report.repeated_proof.level.as_str(),
        "repeated_proof_reason": report.repeated_proof.reason,
        "not_repeated": non_repeatable_checks(report).map(|check| check.command.as_str()).collect::<Vec<_>>(),
    })
}

pub(super) fn report_text(report: &ReverificationReport) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "run       {}", short_id(&report.receipt.input.run));
    let _ = writeln!(text, "commit    {}", report.commit);
    for check in &report.evidence.checks {
        write_check(report, &mut text, check);
    }
    for check in non_repeatable_checks(report) {
        let _ = writeln!(text, "{:<9} `{}`: {} cannot be repeated", "as before", check.command, check.method.as_str());
    }
    write_baseline(report, &mut text);
    let _ = writeln!(text, "{:<9} {}; repeated: {}", "proof", recorded_proof(report), report.repeated_proof.describe());
    for doubt in &report.discrepancies {
        let _ = writeln!(text, "{:<9} {doubt}", "doubt");
    }
    let _ = writeln!(text, "{}", if report.discrepancies.is_empty() { "confirmed" } else { "not confirmed" });
    sanitize_text(&text)
}

fn write_check(report: &ReverificationReport, text: &mut String, check: &CheckEvidence) {
    let took = duration::format_rounded(Duration::from_millis(check.duration_ms));
    let _ = writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
    if !check.log.is_empty() {
        let _ = writeln!(text, "{:<9} {}", "", report.log_folder.join(&check.log).display());
    }
    for stage in &check.stages {
        write_check(report, text, stage);
    }
}

fn write_baseline(report: &ReverificationReport, text: &mut String) {
    if let Some(reason) = baseline_not_repeated(report) {
        let _ = writeln!(text, "{:<9} not repeated: {reason}", "baseline");
        return;
    }
    let _ = writeln!(text, "{:<9} {}", "base", report.base_commit.as_deref().unwrap_or_default());
    for check in report.rerun.baseline.checks() {
        let _ = writeln!(text, "{:<9} {}", "baseline", check.describe());
    }
}

fn baseline_not_repeated(report: &ReverificationReport) -> Option<&str> {
    match &report.rerun.baseline {
        BaselineRecheck::Finished(_) => None,
        BaselineRecheck::NotRepeated { reason } => Some(reason),
    }
}

fn recorded_proof(report: &ReverificationReport) -> &'static str {
    report.receipt.findings.proof().display_word()
}

fn baseline_json(check: &BaselineCheck) -> Value {
    json!({
        "name": check.evidence.name,
        "command": check.evidence.command,
        "standing": check.standing,
        "reason": check.evidence.reason,
        "exit_code": check.evidence.exit_code,
        "duration_ms": check.evidence.duration_ms,
        "required": check.evidence.required,
    })
}

fn non_repeatable_checks(report: &ReverificationReport) -> impl Iterator<Item = &ReceiptCheck> {
    report.receipt.findings.checks.iter().filter(|check| !check.is_repeatable())
}
