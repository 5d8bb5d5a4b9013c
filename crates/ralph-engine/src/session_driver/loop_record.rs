//! The part of a loop file that connects the loop with its run in the store: where the store is, and the facts that may
//! not be stored yet. The file is written before the store, so that a killed hook loses no fact.
use std::path::{Path, PathBuf};

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use serde::{Deserialize, Serialize};

/// How a loop is recorded as a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopRecord {
    /// The state folder with the database. `None` for a loop that an older ralph started.
    pub state_folder: Option<PathBuf>,
    /// The number of facts that the loop has, stored or not.
    pub fact_count: i64,
    /// The last facts. Those that are stored already are removed with the next event.
    pub pending: Vec<PendingFact>,
}

/// A fact that may not be stored yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingFact {
    pub seq: i64,
    pub at: UnixMillis,
    pub fact: Fact,
}

impl LoopRecord {
    /// Returns the record of a new loop with its first facts.
    #[must_use]
    pub fn new(state_folder: PathBuf, at: UnixMillis, facts: Vec<Fact>) -> Self {
        let mut record = Self { state_folder: Some(state_folder), ..Self::default() };
        record.append_facts(at, facts);
        record
    }

    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Appends the facts of a decision.
    pub fn append_facts(&mut self, at: UnixMillis, facts: Vec<Fact>) {
        for fact in facts {
            self.fact_count += 1;
            self.pending.push(PendingFact { seq: self.fact_count, at, fact });
        }
    }

    /// Removes the facts that are stored.
    pub fn remove_stored(&mut self, stored_count: i64) {
        self.pending.retain(|pending| pending.seq > stored_count);
    }

    /// Returns the facts after this number, grouped by the decisions that made them.
    #[must_use]
    pub fn unstored_decisions(&self, stored_count: i64) -> Vec<&[PendingFact]> {
        let first = self.pending.partition_point(|pending| pending.seq <= stored_count);
        let unstored = self.pending.get(first..).unwrap_or_default();
        unstored.chunk_by(|one, next| one.at == next.at).collect()
    }

    /// Returns the folder with the logs of a loop.
    #[must_use]
    pub fn logs_folder(&self, id: &str) -> Option<PathBuf> {
        self.state_folder.as_deref().map(|folder| logs_folder(folder, id))
    }
}

/// Returns the folder with the logs of the loop with this id.
#[must_use]
pub fn logs_folder(state_folder: &Path, id: &str) -> PathBuf {
    state_folder.join("runs").join(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_requested(reason: &str) -> Fact {
        Fact::StopRequested { reason: reason.to_owned() }
    }

    // spec: D1
    // finding: N34
    #[test]
    fn facts_stay_until_they_are_stored_and_are_stored_one_decision_at_a_time() {
        let mut record =
            LoopRecord::new("/state".into(), UnixMillis(1), vec![stop_requested("a"), stop_requested("b")]);
        record.append_facts(UnixMillis(2), vec![stop_requested("c")]);
        let sizes = |record: &LoopRecord, stored| {
            record.unstored_decisions(stored).iter().map(|facts| facts.len()).collect::<Vec<_>>()
        };
        assert_eq!(sizes(&record, 0), [2, 1]);
        assert_eq!(sizes(&record, 1), [1, 1]);
        assert!(sizes(&record, 3).is_empty());
        record.remove_stored(2);
        assert_eq!(record.pending.iter().map(|pending| pending.seq).collect::<Vec<_>>(), [3]);
        record.append_facts(UnixMillis(3), vec![stop_requested("d")]);
        assert_eq!(record.pending.last().unwrap().seq, 4, "the numbers continue");
    }
}
