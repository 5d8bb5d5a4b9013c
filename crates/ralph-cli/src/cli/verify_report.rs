//! What came of verifying a receipt again, for people and for programs.
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::receipt::{Again, Checked, Doubt, Receipt};
use serde_json::{Value, json};

use ralph_app::view::short_id;
use ralph_util::duration;
use ralph_util::sanitize::sanitize;

pub(super) struct Found<'a> {
    pub(super) receipt: &'a Receipt,
    pub(super) commit: &'a str,
    pub(super) again: Again,
    pub(super) evidence: Evidence,
    pub(super) doubts: Vec<Doubt>,
}

impl Found<'_> {
    pub(super) fn json(&self) -> Value {
        json!({
            "run": self.receipt.given.run,
            "confirmed": self.doubts.is_empty(),
            "doubts": self.doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "commit": self.commit,
            "tree": self.again.tree,
            "criteria_sha256": self.again.criteria_sha256,
            "checks": self.again.checks,
            "not_repeated": self.not_repeated().map(|check| check.command.as_str()).collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self, logs: &Path) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "run       {}", short_id(&self.receipt.given.run));
        let _ = writeln!(text, "commit    {}", self.commit);
        for check in &self.evidence.checks {
            self.check(&mut text, logs, check);
        }
        for check in self.not_repeated() {
            let _ = writeln!(
                text,
                "{:<9} `{}`: {} cannot be repeated",
                "as before",
                check.command,
                check.method.as_str()
            );
        }
        for doubt in &self.doubts {
            let _ = writeln!(text, "{:<9} {doubt}", "doubt");
        }
        let _ = writeln!(text, "{}", if self.doubts.is_empty() { "confirmed" } else { "not confirmed" });
        sanitize(&text)
    }

    fn check(&self, text: &mut String, logs: &Path, check: &CheckEvidence) {
        let took = duration::show(Duration::from_millis(check.duration_ms));
        let _ =
            writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
        if !check.log.is_empty() {
            let _ = writeln!(text, "{:<9} {}", "", logs.join(&check.log).display());
        }
        for stage in &check.stages {
            self.check(text, logs, stage);
        }
    }

    fn not_repeated(&self) -> impl Iterator<Item = &Checked> {
        self.receipt.told.checks.iter().filter(|check| !check.is_repeatable())
    }
}
