//! What came of verifying a receipt again, for people and for programs.
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::receipt::{Receipt, ReceiptCheck, ReceiptDiscrepancy, ReceiptRecheck};
use serde_json::{Value, json};

use ralph_app::view::short_id;
use ralph_util::duration;
use ralph_util::sanitize::sanitize_text;

pub(super) struct ReverificationReport<'a> {
    pub(super) receipt: &'a Receipt,
    pub(super) commit: &'a str,
    pub(super) rerun: ReceiptRecheck,
    pub(super) evidence: Evidence,
    pub(super) doubts: Vec<ReceiptDiscrepancy>,
}

impl ReverificationReport<'_> {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "run": self.receipt.input.run,
            "confirmed": self.doubts.is_empty(),
            "doubts": self.doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "commit": self.commit,
            "tree": self.rerun.tree,
            "criteria_sha256": self.rerun.criteria_sha256,
            "checks": self.rerun.checks,
            "not_repeated": self.non_repeatable_checks().map(|check| check.command.as_str()).collect::<Vec<_>>(),
        })
    }

    pub(super) fn to_text(&self, logs: &Path) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "run       {}", short_id(&self.receipt.input.run));
        let _ = writeln!(text, "commit    {}", self.commit);
        for check in &self.evidence.checks {
            self.write_check(&mut text, logs, check);
        }
        for check in self.non_repeatable_checks() {
            let _ =
                writeln!(text, "{:<9} `{}`: {} cannot be repeated", "as before", check.command, check.method.as_str());
        }
        for doubt in &self.doubts {
            let _ = writeln!(text, "{:<9} {doubt}", "doubt");
        }
        let _ = writeln!(text, "{}", if self.doubts.is_empty() { "confirmed" } else { "not confirmed" });
        sanitize_text(&text)
    }

    fn write_check(&self, text: &mut String, logs: &Path, check: &CheckEvidence) {
        let took = duration::format_rounded(Duration::from_millis(check.duration_ms));
        let _ = writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
        if !check.log.is_empty() {
            let _ = writeln!(text, "{:<9} {}", "", logs.join(&check.log).display());
        }
        for stage in &check.stages {
            self.write_check(text, logs, stage);
        }
    }

    fn non_repeatable_checks(&self) -> impl Iterator<Item = &ReceiptCheck> {
        self.receipt.findings.checks.iter().filter(|check| !check.is_repeatable())
    }
}
