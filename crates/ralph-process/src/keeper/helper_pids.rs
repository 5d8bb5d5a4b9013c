//! Records the pids of ralph's keeper and of the supervisors of its jobs, so that a sweep does not kill them.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::Pid;

use crate::unix::platform;

static HELPER_PIDS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);
static KEEPER_START_TIME: OnceLock<u64> = OnceLock::new();

fn lock_helper_pids() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the keeper and its start time. Orphans older than the keeper are not ralph's.
pub(crate) fn register_keeper(keeper: Pid) {
    if let Some(process) = platform::read_process(keeper) {
        let _ = KEEPER_START_TIME.set(process.start_ticks);
    }
    register_helper(keeper);
}

pub(crate) fn register_helper(helper: Pid) {
    lock_helper_pids().get_or_insert_default().insert(helper);
}

pub(crate) fn unregister_helper(helper: Pid) {
    lock_helper_pids().get_or_insert_default().remove(&helper);
}

pub(crate) fn helper_pids() -> HashSet<Pid> {
    lock_helper_pids().clone().unwrap_or_default()
}

/// Returns the start time of the keeper, or `None` if this process has no keeper.
pub(crate) fn keeper_start_time() -> Option<u64> {
    KEEPER_START_TIME.get().copied()
}
