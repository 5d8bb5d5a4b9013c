//! What came of a landing, for people and for programs.
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::receipt::Checked;
use serde_json::{Value, json};

use ralph_engine::tree::{Landing, Removal};
use ralph_util::duration;
use ralph_util::sanitize::sanitize;

#[derive(Debug)]
pub struct Report {
    landing: Landing,
    pub is_landed: bool,
    pub evidence: Evidence,
    pub removal: Removal,
    /// Where the checks left their output.
    pub logs: PathBuf,
}

impl Report {
    pub fn of(landing: &Landing, logs: PathBuf) -> Self {
        let evidence = Evidence { checks: Vec::new() };
        Self { landing: landing.clone(), is_landed: false, evidence, removal: Removal::None, logs }
    }

    pub fn json(&self) -> Value {
        let Landing { name, onto, accepted, merged } = &self.landing;
        let checks: Vec<Checked> = self.evidence.checks.iter().map(Checked::from).collect();
        json!({
            "task": name,
            "landed": self.is_landed,
            "branch": onto.shown(),
            "commit": if self.is_landed { Some(merged) } else { None },
            "work": accepted,
            "verified": self.is_landed && !checks.is_empty(),
            "checks": checks,
            "tree": match &self.removal {
                Removal::Removed => "removed",
                Removal::Kept(_) => "kept",
                Removal::None => "none",
            },
        })
    }

    pub fn text(&self) -> String {
        let Landing { name, onto, merged, .. } = &self.landing;
        let mut text = String::new();
        for check in &self.evidence.checks {
            self.check(&mut text, check);
        }
        let branch = onto.shown();
        if !self.is_landed {
            let _ = writeln!(text, "{name} is not landed: the checks fail on what {branch} would be");
        } else if self.landing.is_there_already() {
            let _ = writeln!(text, "{name} is on {branch} already");
        } else {
            let short = merged.get(..12).unwrap_or(merged);
            let _ = writeln!(text, "{name} is landed on {branch}: {short}");
            if self.evidence.checks.is_empty() {
                let _ = writeln!(text, "unverified: the task has no check that can be repeated");
            }
        }
        if let Removal::Kept(why) = &self.removal {
            let _ = writeln!(text, "its work tree stays: {why}");
        }
        sanitize(&text)
    }

    fn check(&self, text: &mut String, check: &CheckEvidence) {
        let took = duration::show(Duration::from_millis(check.duration_ms));
        let _ =
            writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
        if !check.log.is_empty() {
            let _ = writeln!(text, "{:<9} {}", "", self.logs.join(&check.log).display());
        }
        check.stages.iter().for_each(|stage| self.check(text, stage));
    }
}
