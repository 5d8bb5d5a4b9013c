//! Results of external checks that accepted, for as long as the same run checks the same files. A failure is always looked
//! at again: what it depends on may lie outside of the tree, such as an installed package.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::criterion::{Criterion, ExternalCheck, externals};
use ralph_core::evidence::{CheckEvidence, Verdict};
use sha2::{Digest, Sha256};

use super::Ground;
use ralph_util::digest::hex;

/// What checks said that accepted, each under a name for all that it may depend on.
pub type Known = BTreeMap<String, CheckEvidence>;

/// What is known, shared by all verifications of a run.
#[derive(Debug, Clone, Default)]
pub struct Cache {
    known: Arc<Mutex<Known>>,
    /// The hash of the files that are checked now; without it nothing is reused or kept.
    tree: Option<String>,
}

impl Cache {
    /// Returns one that knows what an earlier one of the same loop knew.
    #[must_use]
    pub fn of(known: Known) -> Self {
        Self { known: Arc::new(Mutex::new(known)), tree: None }
    }

    #[must_use]
    pub fn known(&self) -> Known {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the longest time that a criterion may take, beside what is known already.
    #[must_use]
    pub fn longest(&self, ground: &Ground, criterion: &Criterion) -> Duration {
        let unknown = externals(std::slice::from_ref(criterion)).into_iter();
        let unknown = unknown.filter(|one| self.find(ground, one.check).is_none());
        unknown.map(|one| Duration::from_millis(one.check.timeout_ms)).sum()
    }

    /// Returns the same for files with this hash.
    pub(super) fn at(self, tree: Option<String>) -> Self {
        Self { tree, ..self }
    }

    /// Returns what the same check said of the same files in the same environment.
    pub(super) fn find(&self, ground: &Ground, check: &ExternalCheck) -> Option<CheckEvidence> {
        let key = self.key(ground, check)?;
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        Some(CheckEvidence { cached: true, duration_ms: 0, ..known })
    }

    /// Keeps what a check said, if it accepted.
    pub(super) fn keep(&self, ground: &Ground, check: &ExternalCheck, seen: &CheckEvidence) {
        if let (Verdict::Accepted, Some(key)) = (seen.verdict, self.key(ground, check)) {
            self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, seen.clone());
        }
    }

    /// Forgets everything: a claim was not accepted although results were reused, so that they may be the reason.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn key(&self, ground: &Ground, check: &ExternalCheck) -> Option<String> {
        let check = serde_json::to_vec(check).ok()?;
        let mut all = Sha256::new();
        let mut add = |bytes: &[u8]| {
            all.update(bytes.len().to_le_bytes());
            all.update(bytes);
        };
        add(self.tree.as_ref()?.as_bytes());
        add(&check);
        add(ground.root.as_os_str().as_encoded_bytes());
        for (name, value) in &ground.env {
            add(name.as_encoded_bytes());
            add(value.as_encoded_bytes());
        }
        Some(hex(all))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::evidence::Kind;

    use super::*;

    fn ground(value: &str) -> Ground {
        Ground { root: "/tree".into(), env: vec![("A".into(), value.into())], run_id: "r".to_owned() }
    }

    fn seen(verdict: Verdict) -> CheckEvidence {
        CheckEvidence::plain(Kind::External, "make".to_owned(), verdict, String::new())
    }

    // spec: V11
    #[test]
    fn only_the_same_check_of_the_same_files_in_the_same_environment_is_reused() {
        let check = ExternalCheck::of_command("make");
        let cache = Cache::default().at(Some("t1".to_owned()));
        cache.keep(&ground("1"), &check, &seen(Verdict::Accepted));
        assert!(cache.find(&ground("1"), &check).unwrap().cached);
        assert!(cache.find(&ground("2"), &check).is_none());
        assert!(cache.find(&ground("1"), &ExternalCheck { timeout_ms: 1, ..check.clone() }).is_none());
        assert!(cache.clone().at(Some("t2".to_owned())).find(&ground("1"), &check).is_none());
        assert!(cache.clone().at(None).find(&ground("1"), &check).is_none());
        cache.forget();
        assert!(cache.find(&ground("1"), &check).is_none());
    }

    // spec: V11
    #[test]
    fn what_did_not_accept_is_always_looked_at_again() {
        let check = ExternalCheck::of_command("make");
        let cache = Cache::default().at(Some("t1".to_owned()));
        for verdict in [Verdict::Rejected, Verdict::CouldNotEvaluate] {
            cache.keep(&ground("1"), &check, &seen(verdict));
            assert!(cache.find(&ground("1"), &check).is_none());
        }
    }
}
