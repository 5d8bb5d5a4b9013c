//! Keeps an eye on what is sealed while the checks run: they run the work's own code, which could change what decides. Looked at
//! after every program that was run; what was found broken once stays broken.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::evidence::{CheckEvidence, Kind, Verdict};
use ralph_core::seal::{Seal, SealedFile, judge_meanwhile, tell_allowed};

use super::orders::Orders;
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
    pub(super) async fn look(&self, orders: &mut Orders) {
        let Some(over) = self.over.clone().filter(|over| over.broken().is_none()) else { return };
        let looking = over.clone();
        let changes = orders.hold(move || looking.changes()).await.unwrap_or_else(|why| vec![why]);
        if orders.is_stopped() {
            over.broke(not_looked_at());
        } else if !changes.is_empty() {
            over.broke(judge_meanwhile(&changes));
        }
    }

    /// Returns what the seal says of changes that are allowed, if there are any.
    pub(super) async fn allowed(&self, orders: &mut Orders) -> Option<CheckEvidence> {
        let over = self.over.clone()?;
        let changes = orders.hold(move || over.sealer.allowed_changes(&over.seal)).await;
        tell_allowed(&changes.unwrap_or_else(|why| vec![why]))
    }

    /// Returns what the seal says, if it is broken.
    pub(super) fn broken(&self) -> Option<CheckEvidence> {
        self.over.as_ref()?.broken()
    }
}

impl Over {
    fn changes(&self) -> Vec<String> {
        let mut changes = self.sealer.changes(&self.seal);
        if let Some((there, files)) = &self.room {
            changes.extend(there.changes_of(files));
        }
        changes
    }

    fn broke(&self, evidence: CheckEvidence) {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(evidence);
    }

    fn broken(&self) -> Option<CheckEvidence> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Git may have been stopped in the middle: nobody knows.
pub(super) fn not_looked_at() -> CheckEvidence {
    let why = "it was not looked at: the run was stopped".to_owned();
    CheckEvidence::plain(Kind::Seal, "the seal".to_owned(), Verdict::CouldNotEvaluate, why)
}
