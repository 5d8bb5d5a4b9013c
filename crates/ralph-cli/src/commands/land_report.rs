//! What came of a landing, for people and for programs.
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::receipt::ReceiptCheck;
use serde_json::{Value, json};

use ralph_engine::worktree::{PreparedLanding, WorktreeRemoval};
use ralph_util::duration;
use ralph_util::sanitize::sanitize_text;

#[derive(Debug)]
pub struct LandReport {
    landing: PreparedLanding,
    pub is_landed: bool,
    pub evidence: Evidence,
    pub removal: WorktreeRemoval,
    /// Where the checks left their output.
    pub log_folder: PathBuf,
}

impl LandReport {
    pub fn new(landing: &PreparedLanding, log_folder: PathBuf) -> Self {
        let evidence = Evidence { checks: Vec::new() };
        Self { landing: landing.clone(), is_landed: false, evidence, removal: WorktreeRemoval::NotFound, log_folder }
    }

    pub fn to_json(&self) -> Value {
        let PreparedLanding { task_id: name, target: onto, accepted, merged } = &self.landing;
        let checks: Vec<ReceiptCheck> = self.evidence.checks.iter().map(ReceiptCheck::from).collect();
        json!({
            "task": name,
            "landed": self.is_landed,
            "branch": onto.short_branch_name(),
            "commit": if self.is_landed { Some(merged) } else { None },
            "work": accepted,
            "verified": self.is_landed && !checks.is_empty(),
            "checks": checks,
            "tree": match &self.removal {
                WorktreeRemoval::Removed => "removed",
                WorktreeRemoval::Kept(_) => "kept",
                WorktreeRemoval::NotFound => "none",
            },
        })
    }

    pub fn to_text(&self) -> String {
        let PreparedLanding { task_id: name, target: onto, merged, .. } = &self.landing;
        let mut text = String::new();
        for check in &self.evidence.checks {
            self.write_check(&mut text, check);
        }
        let branch = onto.short_branch_name();
        if !self.is_landed {
            let _ = writeln!(text, "{name} is not landed: the checks fail on what {branch} would be");
        } else if self.landing.is_already_landed() {
            let _ = writeln!(text, "{name} is on {branch} already");
        } else {
            let short = merged.get(..12).unwrap_or(merged);
            let _ = writeln!(text, "{name} is landed on {branch}: {short}");
            if self.evidence.checks.is_empty() {
                let _ = writeln!(text, "unverified: the task has no check that can be repeated");
            }
        }
        if let WorktreeRemoval::Kept(why) = &self.removal {
            let _ = writeln!(text, "its work tree stays: {why}");
        }
        sanitize_text(&text)
    }

    fn write_check(&self, text: &mut String, check: &CheckEvidence) {
        let took = duration::format_rounded(Duration::from_millis(check.duration_ms));
        let _ = writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
        if !check.log.is_empty() {
            let _ = writeln!(text, "{:<9} {}", "", self.log_folder.join(&check.log).display());
        }
        check.stages.iter().for_each(|stage| self.write_check(text, stage));
    }
}
