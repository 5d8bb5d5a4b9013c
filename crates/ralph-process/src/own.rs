//! Remembers which processes serve this ralph: its keeper and the supervisors of its jobs.
//! A sweep asks it what to spare; nothing else does.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::Pid;

use super::platform;

static OWN: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);
static SINCE: OnceLock<u64> = OnceLock::new();

fn own() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Remembers the keeper, and that orphans older than it are not ours.
pub(super) fn remember_keeper(keeper: Pid) {
    if let Some(seen) = platform::look(keeper) {
        let _ = SINCE.set(seen.start);
    }
    remember(keeper);
}

pub(super) fn remember(servant: Pid) {
    own().get_or_insert_default().insert(servant);
}

pub(super) fn forget(servant: Pid) {
    own().get_or_insert_default().remove(&servant);
}

pub(super) fn servants() -> HashSet<Pid> {
    own().clone().unwrap_or_default()
}

/// Returns the start time of the keeper, or nothing when this process has none.
pub(super) fn since() -> Option<u64> {
    SINCE.get().copied()
}
