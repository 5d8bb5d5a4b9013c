//! The preparation of a run: sealed files, and the baseline results of the checks.
use std::path::Path;

use ralph_core::baseline::BaselineCheck;
use ralph_core::evidence::{CheckEvidence, EvidenceKind, Verdict};
use ralph_core::fact::Fact;
use ralph_core::seal::Seal;
use serde_json::{Value, json};

use super::text_format::pluralize;
use ralph_store::{CheckRow, Store, StoreError};

/// Characters of a hash in text output.
const SHORT_HASH_CHARS: usize = 12;

#[derive(Debug, Default)]
pub(super) struct RunPreparation {
    seal: Option<Seal>,
    seal_breaches: Vec<SealedFileChanges>,
    /// Changes of sealed files that the run allows.
    allowed_changes: Vec<SealedFileChanges>,
    baseline: Vec<BaselineCheck>,
}

/// Changes of sealed files before a claim.
#[derive(Debug)]
struct SealedFileChanges {
    iteration: u32,
    changes: Vec<String>,
}

impl SealedFileChanges {
    fn to_text(&self) -> String {
        format!("at iteration {}: {}", self.iteration, self.changes.join(", "))
    }

    fn to_json(&self) -> Value {
        json!({ "iteration": self.iteration, "changes": self.changes })
    }
}

impl RunPreparation {
    /// Loads the preparation from the journal. Ignores facts that only a newer ralph knows.
    pub(super) async fn load(store: &Store, run: &str, checks: &[CheckRow]) -> Result<Self, StoreError> {
        let mut rows = store.events_of_kinds(run, ["run.sealed", "baseline"]).await?;
        if checks.iter().any(|check| check.method == EvidenceKind::Seal.as_str()) {
            rows.extend(store.events_of_kinds(run, ["verdict", "verdict"]).await?);
        }
        let mut found = Self::default();
        rows.iter().filter_map(|row| serde_json::from_str(&row.body).ok()).for_each(|fact| found.apply_fact(fact));
        Ok(found)
    }

    fn apply_fact(&mut self, fact: Fact) {
        if let Fact::RunSealed { seal } = fact {
            self.seal = Some(seal);
        } else if let Fact::Baseline { checks } = fact {
            self.baseline = checks;
        } else if let Fact::Verdict { iteration, checks, .. } = fact {
            checks
                .iter()
                .filter(|check| check.method == EvidenceKind::Seal)
                .for_each(|check| self.add_seal_check(iteration, check));
        }
    }

    fn add_seal_check(&mut self, iteration: u32, check: &CheckEvidence) {
        let changed = SealedFileChanges { iteration, changes: listed_changes(check) };
        match check.verdict {
            Verdict::Rejected => self.seal_breaches.push(changed),
            Verdict::Accepted if !changed.changes.is_empty() => self.allowed_changes.push(changed),
            Verdict::Accepted | Verdict::CouldNotEvaluate => {}
        }
    }

    /// Returns the lines of `ralph show`, each with its label.
    pub(super) fn to_lines(&self) -> Vec<(&'static str, String)> {
        let mut lines: Vec<(&'static str, String)> = Vec::new();
        if let Some(seal) = &self.seal {
            lines.push(("sealed", describe_seal(seal)));
            lines.extend(self.seal_breaches.iter().map(|breach| ("BROKEN", breach.to_text())));
            lines.extend(self.allowed_changes.iter().map(|allowed| ("allowed", allowed.to_text())));
            lines.extend(seal.notes.iter().map(|note| ("note", note.clone())));
        }
        lines.extend(self.baseline.iter().map(|check| ("baseline", check.describe())));
        lines
    }

    /// Returns the seal as JSON.
    pub(super) fn seal_json(&self) -> Value {
        let Some(seal) = &self.seal else { return Value::Null };
        json!({
            "sha256": seal.digest,
            "criteria_sha256": seal.criteria_digest,
            "base": seal.base,
            "files": seal.files,
            "notes": seal.notes,
            "broken": self.seal_breaches.iter().map(SealedFileChanges::to_json).collect::<Vec<_>>(),
            "allowed": self.allowed_changes.iter().map(SealedFileChanges::to_json).collect::<Vec<_>>(),
        })
    }

    /// Returns the baseline result of each check as JSON.
    pub(super) fn baseline_json(&self, logs: &Path) -> Vec<Value> {
        let one = |check: &BaselineCheck| {
            let CheckEvidence { name, command, reason, exit_code, duration_ms, required, log, .. } = &check.evidence;
            json!({
                "standing": check.standing,
                "name": name,
                "command": command,
                "reason": reason,
                "exit_code": exit_code,
                "duration_ms": duration_ms,
                "required": required,
                "log": logs.join(log).display().to_string(),
            })
        };
        self.baseline.iter().map(one).collect()
    }
}

fn describe_seal(seal: &Seal) -> String {
    let count = i64::try_from(seal.files.len()).unwrap_or(i64::MAX);
    let files = if count == 0 { String::new() } else { format!(" and {}", pluralize(count, "file")) };
    let short = seal.digest.get(..SHORT_HASH_CHARS).unwrap_or(&seal.digest);
    format!("the criteria{files}, {short}")
}

/// Returns the changed files, one sentence each.
fn listed_changes(check: &CheckEvidence) -> Vec<String> {
    check.tail.lines().map(str::to_owned).collect()
}
