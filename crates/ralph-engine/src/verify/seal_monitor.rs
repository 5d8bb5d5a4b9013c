//! Monitors the seal while the checks run: they execute code of the agent, which could change sealed files. The seal is
//! checked after every program; once broken, it stays broken.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::evidence::{CheckEvidence, EvidenceKind, Verdict};
use ralph_core::seal::{Seal, SealedFile, allowed_changes_evidence, seal_evidence_after_check};

use super::file_sealer::FileSealer;
use super::verification_control::VerificationControl;

/// Detects changes of sealed files. The default value monitors nothing.
#[derive(Clone, Default)]
pub struct SealMonitor {
    monitored: Option<Arc<MonitoredSeal>>,
}

struct MonitoredSeal {
    sealer: FileSealer,
    seal: Seal,
    clean_checkout: Option<SealedCheckout>,
    broken_evidence: Mutex<Option<CheckEvidence>>,
}

/// A clean checkout and the hashes of its sealed files before the checks.
pub(super) struct SealedCheckout {
    pub(super) sealer: FileSealer,
    pub(super) files: Vec<SealedFile>,
}

impl SealMonitor {
    pub(super) fn new(sealer: FileSealer, seal: Seal, clean_checkout: Option<SealedCheckout>) -> Self {
        Self {
            monitored: Some(Arc::new(MonitoredSeal {
                sealer,
                seal,
                clean_checkout,
                broken_evidence: Mutex::new(None),
            })),
        }
    }

    /// Checks whether everything is still as it was sealed, on another thread, because there may be many files.
    pub(super) async fn check_seal(&self, control: &mut VerificationControl) {
        let Some(monitored) = self.monitored.clone().filter(|monitored| monitored.broken_evidence().is_none()) else {
            return;
        };
        let checked = monitored.clone();
        let changes = control.run_blocking(move || checked.find_changes()).await.unwrap_or_else(|reason| vec![reason]);
        if control.is_stopped() {
            monitored.record_broken(seal_not_checked());
        } else if !changes.is_empty() {
            monitored.record_broken(seal_evidence_after_check(&changes));
        }
    }

    /// Returns evidence of the allowed changes, if there are any.
    pub(super) async fn allowed_changes(&self, control: &mut VerificationControl) -> Option<CheckEvidence> {
        let monitored = self.monitored.clone()?;
        let changes = control.run_blocking(move || monitored.sealer.allowed_changes_since(&monitored.seal)).await;
        allowed_changes_evidence(&changes.unwrap_or_else(|reason| vec![reason]))
    }

    /// Returns the evidence of the broken seal, if it is broken.
    pub(super) fn broken_evidence(&self) -> Option<CheckEvidence> {
        self.monitored.as_ref()?.broken_evidence()
    }
}

impl MonitoredSeal {
    fn find_changes(&self) -> Vec<String> {
        let mut changes = self.sealer.changes_since(&self.seal);
        if let Some(checkout) = &self.clean_checkout {
            changes.extend(checkout.sealer.file_changes_since(&checkout.files));
        }
        changes
    }

    fn record_broken(&self, evidence: CheckEvidence) {
        self.broken_evidence.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(evidence);
    }

    fn broken_evidence(&self) -> Option<CheckEvidence> {
        self.broken_evidence.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the evidence for a stopped run: git may have been interrupted, so the state of the seal is unknown.
pub(super) fn seal_not_checked() -> CheckEvidence {
    let reason = "not checked: the run was stopped".to_owned();
    CheckEvidence::without_output(EvidenceKind::Seal, "the seal".to_owned(), Verdict::CouldNotEvaluate, reason)
}
