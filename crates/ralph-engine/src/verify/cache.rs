//! Results of external checks that accepted, for as long as the same run checks the same files. A failure is always looked
//! at again: what it depends on may lie outside of the tree, such as an installed package.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Verdict};
use sha2::{Digest, Sha256};

use super::CheckEnvironment;
use ralph_util::digest::finish_hex;

/// What checks said that accepted, each under a name for all that it may depend on.
pub type AcceptedChecks = BTreeMap<String, CheckEvidence>;

/// What is known, shared by all verifications of a run.
#[derive(Debug, Clone, Default)]
pub struct CheckCache {
    accepted: Arc<Mutex<AcceptedChecks>>,
    /// The hash of the files that are checked now; without it nothing is reused or kept.
    tree_hash: Option<String>,
}

impl CheckCache {
    /// Returns one that knows what an earlier one of the same loop knew.
    #[must_use]
    pub fn from_accepted(accepted: AcceptedChecks) -> Self {
        Self { accepted: Arc::new(Mutex::new(accepted)), tree_hash: None }
    }

    #[must_use]
    pub fn accepted_checks(&self) -> AcceptedChecks {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the longest time that a criterion may take, beside what is known already.
    #[must_use]
    pub fn remaining_timeout(&self, environment: &CheckEnvironment, criterion: &Criterion) -> Duration {
        let unknown = external_checks(std::slice::from_ref(criterion)).into_iter();
        let unknown = unknown.filter(|one| self.find_accepted(environment, one.check).is_none());
        unknown.map(|one| Duration::from_millis(one.check.timeout_ms)).sum()
    }

    /// Returns the same for files with this hash.
    pub(super) fn for_tree(self, tree: Option<String>) -> Self {
        Self { tree_hash: tree, ..self }
    }

    /// Returns what the same check said of the same files in the same environment.
    pub(super) fn find_accepted(&self, environment: &CheckEnvironment, check: &ExternalCheck) -> Option<CheckEvidence> {
        let key = self.cache_key(environment, check)?;
        let known = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        Some(CheckEvidence { cached: true, duration_ms: 0, ..known })
    }

    /// Keeps what a check said, if it accepted.
    pub(super) fn insert_accepted(
        &self,
        environment: &CheckEnvironment,
        check: &ExternalCheck,
        evidence: &CheckEvidence,
    ) {
        if let (Verdict::Accepted, Some(key)) = (evidence.verdict, self.cache_key(environment, check)) {
            self.accepted.lock().unwrap_or_else(PoisonError::into_inner).insert(key, evidence.clone());
        }
    }

    /// Forgets everything: a claim was not accepted although results were reused, so that they may be the reason.
    pub fn clear(&self) {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn cache_key(&self, environment: &CheckEnvironment, check: &ExternalCheck) -> Option<String> {
        let check = serde_json::to_vec(check).ok()?;
        let mut all = Sha256::new();
        let mut add = |bytes: &[u8]| {
            all.update(bytes.len().to_le_bytes());
            all.update(bytes);
        };
        add(self.tree_hash.as_ref()?.as_bytes());
        add(&check);
        add(environment.root.as_os_str().as_encoded_bytes());
        for (name, value) in &environment.env {
            add(name.as_encoded_bytes());
            add(value.as_encoded_bytes());
        }
        Some(finish_hex(all))
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::evidence::EvidenceKind;

    use super::*;

    fn test_environment(value: &str) -> CheckEnvironment {
        CheckEnvironment { root: "/tree".into(), env: vec![("A".into(), value.into())], run_id: "r".to_owned() }
    }

    fn evidence_with(verdict: Verdict) -> CheckEvidence {
        CheckEvidence::without_output(EvidenceKind::External, "make".to_owned(), verdict, String::new())
    }

    // spec: V11
    #[test]
    fn only_the_same_check_of_the_same_files_in_the_same_environment_is_reused() {
        let check = ExternalCheck::from_shell_text("make");
        let cache = CheckCache::default().for_tree(Some("t1".to_owned()));
        cache.insert_accepted(&test_environment("1"), &check, &evidence_with(Verdict::Accepted));
        assert!(cache.find_accepted(&test_environment("1"), &check).unwrap().cached);
        assert!(cache.find_accepted(&test_environment("2"), &check).is_none());
        assert!(
            cache.find_accepted(&test_environment("1"), &ExternalCheck { timeout_ms: 1, ..check.clone() }).is_none()
        );
        assert!(cache.clone().for_tree(Some("t2".to_owned())).find_accepted(&test_environment("1"), &check).is_none());
        assert!(cache.clone().for_tree(None).find_accepted(&test_environment("1"), &check).is_none());
        cache.clear();
        assert!(cache.find_accepted(&test_environment("1"), &check).is_none());
    }

    // spec: V11
    #[test]
    fn failed_checks_are_never_cached() {
        let check = ExternalCheck::from_shell_text("make");
        let cache = CheckCache::default().for_tree(Some("t1".to_owned()));
        for verdict in [Verdict::Rejected, Verdict::CouldNotEvaluate] {
            cache.insert_accepted(&test_environment("1"), &check, &evidence_with(verdict));
            assert!(cache.find_accepted(&test_environment("1"), &check).is_none());
        }
    }
}
