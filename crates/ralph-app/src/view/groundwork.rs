//! What was settled before the first iteration: what must not change, and what the checks said of undone work.
use std::path::Path;

use ralph_core::baseline::BaselineCheck;
use ralph_core::evidence::{CheckEvidence, Kind, Verdict};
use ralph_core::fact::Fact;
use ralph_core::seal::Seal;
use serde_json::{Value, json};

use super::words::one_or_many;
use ralph_store::{CheckRow, Store, StoreError};

/// How much of a hash people need to see.
const SHORT: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Groundwork {
    seal: Option<Seal>,
    breaches: Vec<Changed>,
    /// What was changed by accepted work, as it may be.
    allowed: Vec<Changed>,
    baseline: Vec<BaselineCheck>,
}

/// A claim that came after something that decides was changed.
#[derive(Debug)]
struct Changed {
    iteration: u32,
    changes: Vec<String>,
}

impl Changed {
    fn words(&self) -> String {
        format!("at iteration {}: {}", self.iteration, self.changes.join(", "))
    }

    fn json(&self) -> Value {
        json!({ "iteration": self.iteration, "changes": self.changes })
    }
}

impl Groundwork {
    /// Reads it from the journal. Facts that only a newer ralph knows are passed over.
    pub(super) async fn of(store: &Store, run: &str, checks: &[CheckRow]) -> Result<Self, StoreError> {
        let mut rows = store.events_named(run, ["run.sealed", "baseline"]).await?;
        if checks.iter().any(|check| check.method == Kind::Seal.as_str()) {
            rows.extend(store.events_named(run, ["verdict", "verdict"]).await?);
        }
        let mut found = Self::default();
        rows.iter().filter_map(|row| serde_json::from_str(&row.body).ok()).for_each(|fact| found.heed(fact));
        Ok(found)
    }

    fn heed(&mut self, fact: Fact) {
        if let Fact::RunSealed { seal } = fact {
            self.seal = Some(seal);
        } else if let Fact::Baseline { checks } = fact {
            self.baseline = checks;
        } else if let Fact::Verdict { iteration, checks, .. } = fact {
            checks
                .iter()
                .filter(|check| check.method == Kind::Seal)
                .for_each(|check| self.seen(iteration, check));
        }
    }

    fn seen(&mut self, iteration: u32, check: &CheckEvidence) {
        let changed = Changed { iteration, changes: changes(check) };
        match check.verdict {
            Verdict::Rejected => self.breaches.push(changed),
            Verdict::Accepted if !changed.changes.is_empty() => self.allowed.push(changed),
            Verdict::Accepted | Verdict::CouldNotEvaluate => {}
        }
    }

    /// Returns the lines for people, each with its word.
    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines: Vec<(&'static str, String)> = Vec::new();
        if let Some(seal) = &self.seal {
            lines.push(("sealed", sealed(seal)));
            lines.extend(self.breaches.iter().map(|breach| ("BROKEN", breach.words())));
            lines.extend(self.allowed.iter().map(|allowed| ("allowed", allowed.words())));
            lines.extend(seal.notes.iter().map(|note| ("note", note.clone())));
        }
        lines.extend(self.baseline.iter().map(|check| ("baseline", check.words())));
        lines
    }

    /// Returns the seal for programs.
    pub(super) fn seal_json(&self) -> Value {
        let Some(seal) = &self.seal else { return Value::Null };
        json!({
            "sha256": seal.digest,
            "criteria_sha256": seal.criteria_digest,
            "base": seal.base,
            "files": seal.files,
            "notes": seal.notes,
            "broken": self.breaches.iter().map(Changed::json).collect::<Vec<_>>(),
            "allowed": self.allowed.iter().map(Changed::json).collect::<Vec<_>>(),
        })
    }

    /// Returns what each check said before the work, for programs.
    pub(super) fn baseline_json(&self, logs: &Path) -> Vec<Value> {
        let one = |check: &BaselineCheck| {
            let CheckEvidence { name, command, reason, exit_code, duration_ms, required, log, .. } =
                &check.evidence;
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

fn sealed(seal: &Seal) -> String {
    let count = i64::try_from(seal.files.len()).unwrap_or(i64::MAX);
    let files = if count == 0 { String::new() } else { format!(" and {}", one_or_many(count, "file")) };
    let short = seal.digest.get(..SHORT).unwrap_or(&seal.digest);
    format!("the criteria{files}, {short}")
}

/// Returns what was changed, one sentence for each file.
fn changes(check: &CheckEvidence) -> Vec<String> {
    check.tail.lines().map(str::to_owned).collect()
}
