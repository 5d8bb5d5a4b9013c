//! Caches external checks that accepted, within one run and for the same files. A failed check always runs again: it
//! may depend on something outside the work tree, such as an installed package.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Verdict};
use sha2::{Digest, Sha256};

use super::CheckEnvironment;
use ralph_util::digest::finish_hex;

/// The evidence of checks that accepted, by a hash of everything that the check may depend on.
pub type AcceptedChecks = BTreeMap<String, CheckEvidence>;

/// The accepted checks, shared by all verifications of a run.
#[derive(Debug, Clone, Default)]
pub struct CheckCache {
    accepted: Arc<Mutex<AcceptedChecks>>,
    /// The hash of the files that are checked now; if `None`, nothing is reused or stored.
    tree_hash: Option<String>,
}

impl CheckCache {
    /// Creates a cache with the results of an earlier cache of the same loop.
    #[must_use]
    pub fn from_accepted(accepted: AcceptedChecks) -> Self {
        Self { accepted: Arc::new(Mutex::new(accepted)), tree_hash: None }
    }

    #[must_use]
    pub fn accepted_checks(&self) -> AcceptedChecks {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the sum of the timeouts of a criterion's checks that are not cached.
    #[must_use]
    pub fn remaining_timeout(&self, environment: &CheckEnvironment, criterion: &Criterion) -> Duration {
        let checks = external_checks(std::slice::from_ref(criterion)).into_iter();
        let uncached = checks.filter(|found| self.find_accepted(environment, found.check).is_none());
        uncached.map(|found| Duration::from_millis(found.check.timeout_ms)).sum()
    }

    /// Returns this cache for files with another hash.
    pub(super) fn for_tree(self, tree: Option<String>) -> Self {
        Self { tree_hash: tree, ..self }
    }

    /// Returns the cached evidence of the same check on the same files in the same environment.
    pub(super) fn find_accepted(&self, environment: &CheckEnvironment, check: &ExternalCheck) -> Option<CheckEvidence> {
        let key = self.cache_key(environment, check)?;
        let known = self.accepted.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()?;
        Some(CheckEvidence { cached: true, duration_ms: 0, ..known })
    }

    /// Stores the evidence of a check, if it accepted.
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

    /// Removes all results: a claim was not accepted although results were reused, so they may be the reason.
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
