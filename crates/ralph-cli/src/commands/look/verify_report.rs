//! The result of `ralph verify` as text and as JSON.
use std::fmt::Write;
use std::time::Duration;

use ralph_app::verification::ReverificationReport;
use ralph_app::view::short_id;
use ralph_core::evidence::CheckEvidence;
use ralph_core::receipt::ReceiptCheck;
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

fn non_repeatable_checks(report: &ReverificationReport) -> impl Iterator<Item = &ReceiptCheck> {
    report.receipt.findings.checks.iter().filter(|check| !check.is_repeatable())
}
