//! Keeps an eye on what is sealed while the checks run: they run the work's own code, which could change what decides. Looked at
//! after every program that was run; what was found broken once stays broken.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::evidence::CheckEvidence;
use ralph_core::seal::{Seal, SealedFile, judge_meanwhile};

use super::seal::Sealer;

/// Watches nothing by default.
#[derive(Clone, Default)]
pub struct Watch {
    over: Option<Arc<Over>>,
}

struct Over {
    sealer: Sealer,
    seal: Seal,
    /// A clean room, and how its sealed files were when the checks began.
    room: Option<(Sealer, Vec<SealedFile>)>,
    broken: Mutex<Option<CheckEvidence>>,
}

impl Watch {
    pub(super) fn over(sealer: Sealer, seal: Seal, room: Option<(Sealer, Vec<SealedFile>)>) -> Self {
        Self { over: Some(Arc::new(Over { sealer, seal, room, broken: Mutex::new(None) })) }
    }

    /// Looks whether everything is still as it was sealed. That may be much, so it does not hold up the driver.
    pub(super) async fn look(&self) {
        let Some(over) = self.over.clone().filter(|over| over.broken().is_none()) else { return };
        let looked = tokio::task::spawn_blocking(move || over.look()).await;
        if let (Err(error), Some(over)) = (looked, &self.over) {
            over.broke(judge_meanwhile(&[error.to_string()]));
        }
    }

    /// Returns what the seal says, if it is broken.
    pub(super) fn broken(&self) -> Option<CheckEvidence> {
        self.over.as_ref()?.broken()
    }
}

impl Over {
    fn look(&self) {
        let mut changes = self.sealer.changes(&self.seal);
        if let Some((there, files)) = &self.room {
            changes.extend(there.changes_of(files));
        }
        if !changes.is_empty() {
            self.broke(judge_meanwhile(&changes));
        }
    }

    fn broke(&self, evidence: CheckEvidence) {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(evidence);
    }

    fn broken(&self) -> Option<CheckEvidence> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
