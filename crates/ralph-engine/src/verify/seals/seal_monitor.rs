//! Monitors the seal while the checks run: they execute code of the agent, which could change sealed files. The seal is
//! checked after every program; once broken, it stays broken.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::evidence::{CheckEvidence, EvidenceKind, Verdict};
use ralph_core::seal::{Seal, allowed_changes_evidence, describe_restored_files, seal_evidence_after_check};

use crate::verify::protected_tests::protected_watch::ProtectedWatch;
use crate::verify::seals::file_sealer::FileSealer;
use crate::verify::seals::sealed_paths::{FileStamps, SealedPaths};
use crate::verify::verification_control::VerificationControl;

/// Detects changes of sealed files. The default value monitors nothing.
#[derive(Clone, Default)]
pub struct SealMonitor {
    monitored: Option<Arc<MonitoredSeal>>,
    /// Protected files, which may change, but not while a check runs.
    watch: Option<ProtectedWatch>,
}

struct MonitoredSeal {
    sealer: FileSealer,
    seal: Seal,
    clean_checkout: Option<SealedCheckout>,
    broken_evidence: Mutex<Option<CheckEvidence>>,
}

/// A clean checkout and the hashes of its sealed files before the checks.
pub(in crate::verify) struct SealedCheckout {
    pub(in crate::verify) sealer: FileSealer,
    pub(in crate::verify) paths: SealedPaths,
}

/// The stamps of the sealed files before a check.
#[derive(Default)]
pub(in crate::verify) struct StampsBeforeCheck {
    worktree: FileStamps,
    checkout: FileStamps,
    watched: FileStamps,
}

impl SealMonitor {
    pub(in crate::verify) fn new(sealer: FileSealer, seal: Seal, clean_checkout: Option<SealedCheckout>) -> Self {
        Self {
            monitored: Some(Arc::new(MonitoredSeal {
                sealer,
                seal,
                clean_checkout,
                broken_evidence: Mutex::new(None),
            })),
            watch: None,
        }
    }

    /// Also watches protected files.
    pub(in crate::verify) fn watching(self, watch: Option<ProtectedWatch>) -> Self {
        Self { watch, ..self }
    }

    /// Reads the stamps of the sealed files, before a check starts.
    pub(in crate::verify) async fn read_stamps(&self, control: &mut VerificationControl) -> StampsBeforeCheck {
        let (monitored, watch) = (self.monitored.clone(), self.watch.clone());
        let read = control.run_blocking(move || {
            let sealed = monitored.map(|monitored| monitored.read_stamps()).unwrap_or_default();
            let watched = watch.map(|watch| watch.read_stamps()).unwrap_or_default();
            StampsBeforeCheck { watched, ..sealed }
        });
        // Without stamps, the content is still compared.
        read.await.unwrap_or_default()
    }

    /// Checks whether everything is still as it was sealed, and was so while the check ran. On another thread, because
    /// there may be many files.
    pub(in crate::verify) async fn check_seal(&self, mut before: StampsBeforeCheck, control: &mut VerificationControl) {
        if let Some(watch) = self.watch.clone() {
            let watched = std::mem::take(&mut before.watched);
            // If the thread fails, the work tree is still compared after the checks.
            let _ = control.run_blocking(move || watch.record_touched(&watched)).await;
        }
        let Some(monitored) = self.monitored.clone().filter(|monitored| monitored.broken_evidence().is_none()) else {
            return;
        };
        let checked = monitored.clone();
        let changes = control.run_blocking(move || checked.find_changes(&before)).await;
        let changes = changes.unwrap_or_else(|reason| vec![reason]);
        if control.is_stopped() {
            monitored.record_broken(seal_not_checked());
        } else if !changes.is_empty() {
            monitored.record_broken(seal_evidence_after_check(&changes));
        }
    }

    /// Returns evidence of the allowed changes, if there are any.
    pub(in crate::verify) async fn allowed_changes(&self, control: &mut VerificationControl) -> Option<CheckEvidence> {
        let monitored = self.monitored.clone()?;
        let changes = control.run_blocking(move || monitored.sealer.allowed_changes_since(&monitored.seal)).await;
        allowed_changes_evidence(&changes.unwrap_or_else(|reason| vec![reason]))
    }

    /// Returns the evidence of the broken seal, if it is broken.
    pub(in crate::verify) fn broken_evidence(&self) -> Option<CheckEvidence> {
        self.monitored.as_ref()?.broken_evidence()
    }
}

impl MonitoredSeal {
    fn find_changes(&self, before: &StampsBeforeCheck) -> Vec<String> {
        let mut changes = self.sealer.changes_since(&self.seal);
        if let Some(checkout) = &self.clean_checkout {
            changes.extend(checkout.sealer.file_changes_since(&checkout.paths));
        }
        if changes.is_empty() { self.find_restored_files(before) } else { changes }
    }

    fn read_stamps(&self) -> StampsBeforeCheck {
        let checkout = self.clean_checkout.as_ref();
        StampsBeforeCheck {
            worktree: self.sealer.read_stamps(&self.seal.files),
            checkout: checkout.map(|known| known.sealer.read_stamps(&known.paths.files)).unwrap_or_default(),
            watched: FileStamps::default(),
        }
    }

    /// Returns the files that were changed and restored. Files that the checks rewrote before any work was done are left
    /// out.
    fn find_restored_files(&self, before: &StampsBeforeCheck) -> Vec<String> {
        let now = self.read_stamps();
        let mut restored = before.worktree.changed_names(&now.worktree);
        restored.extend(before.checkout.changed_names(&now.checkout));
        restored.retain(|name| !self.seal.touched.contains(name));
        restored.dedup();
        describe_restored_files(&restored)
    }

    fn record_broken(&self, evidence: CheckEvidence) {
        self.broken_evidence.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(evidence);
    }

    fn broken_evidence(&self) -> Option<CheckEvidence> {
        self.broken_evidence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the evidence for a stopped run: git may have been interrupted, so the state of the seal is unknown.
pub(in crate::verify) fn seal_not_checked() -> CheckEvidence {
    let reason = "not checked: the run was stopped".to_owned();
    CheckEvidence::without_output(EvidenceKind::Seal, "the seal".to_owned(), Verdict::CouldNotEvaluate, reason)
}
