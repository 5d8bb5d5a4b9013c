//! Keeps an eye on what is sealed while the checks run: they run the work's own code, which could change what decides. Looked at
//! after every program that was run; what was found broken once stays broken.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::evidence::{CheckEvidence, EvidenceKind, Verdict};
use ralph_core::seal::{Seal, SealedFile, allowed_changes_evidence, seal_evidence_after_check};

use super::file_sealer::FileSealer;
use super::verification_control::VerificationControl;

/// Watches nothing by default.
#[derive(Clone, Default)]
pub struct SealMonitor {
    monitored: Option<Arc<MonitoredSeal>>,
}

struct MonitoredSeal {
    sealer: FileSealer,
    seal: Seal,
    /// A clean room, and how its sealed files were when the checks began.
    clean_checkout: Option<(FileSealer, Vec<SealedFile>)>,
    broken_evidence: Mutex<Option<CheckEvidence>>,
}

impl SealMonitor {
    pub(super) fn new(sealer: FileSealer, seal: Seal, clean_checkout: Option<(FileSealer, Vec<SealedFile>)>) -> Self {
        Self {
            monitored: Some(Arc::new(MonitoredSeal {
                sealer,
                seal,
                clean_checkout,
                broken_evidence: Mutex::new(None),
            })),
        }
    }

    /// Looks whether everything is still as it was sealed. That may be much, so it does not hold up the driver.
    pub(super) async fn check_seal(&self, control: &mut VerificationControl) {
        let Some(over) = self.monitored.clone().filter(|over| over.broken_evidence().is_none()) else {
            return;
        };
        let looking = over.clone();
        let changes = control.run_blocking(move || looking.find_changes()).await.unwrap_or_else(|why| vec![why]);
        if control.is_stopped() {
            over.record_broken(seal_not_checked());
        } else if !changes.is_empty() {
            over.record_broken(seal_evidence_after_check(&changes));
        }
    }

    /// Returns what the seal says of changes that are allowed, if there are any.
    pub(super) async fn allowed_changes(&self, control: &mut VerificationControl) -> Option<CheckEvidence> {
        let over = self.monitored.clone()?;
        let changes = control.run_blocking(move || over.sealer.allowed_changes_since(&over.seal)).await;
        allowed_changes_evidence(&changes.unwrap_or_else(|why| vec![why]))
    }

    /// Returns what the seal says, if it is broken.
    pub(super) fn broken_evidence(&self) -> Option<CheckEvidence> {
        self.monitored.as_ref()?.broken_evidence()
    }
}

impl MonitoredSeal {
    fn find_changes(&self) -> Vec<String> {
        let mut changes = self.sealer.changes_since(&self.seal);
        if let Some((there, files)) = &self.clean_checkout {
            changes.extend(there.file_changes_since(files));
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

/// Git may have been stopped in the middle: nobody knows.
pub(super) fn seal_not_checked() -> CheckEvidence {
    let why = "it was not looked at: the run was stopped".to_owned();
    CheckEvidence::without_output(EvidenceKind::Seal, "the seal".to_owned(), Verdict::CouldNotEvaluate, why)
}
