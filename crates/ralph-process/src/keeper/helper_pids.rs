//! Records the pids of ralph's keeper and of the supervisors of its jobs, so that a sweep does not kill them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::process::Pid;

use crate::unix::platform;

/// How often each pid is registered: a supervisor may have its next job before the end of its last one was noticed.
static HELPER_PIDS: Mutex<Option<HashMap<Pid, u32>>> = Mutex::new(None);
static KEEPER_START_TIME: OnceLock<u64> = OnceLock::new();

fn lock_helper_pids() -> MutexGuard<'static, Option<HashMap<Pid, u32>>> {
    HELPER_PIDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the keeper and its start time. Orphans older than the keeper are not ralph's.
pub(crate) fn register_keeper(keeper: Pid) {
    if let Some(process) = platform::read_process(keeper) {
        let _ = KEEPER_START_TIME.set(process.start_ticks);
    }
    count_registration(keeper);
}

fn count_registration(helper: Pid) {
    *lock_helper_pids().get_or_insert_default().entry(helper).or_default() += 1;
}

/// The registration of the supervisor of one job.
pub(crate) struct HelperRegistration(Pid);

impl HelperRegistration {
    pub(crate) fn register(helper: Pid) -> HelperRegistration {
        count_registration(helper);
        HelperRegistration(helper)
    }
}

impl Drop for HelperRegistration {
    fn drop(&mut self) {
        if let Some(registered) = &mut *lock_helper_pids()
            && let Some(count) = registered.get_mut(&self.0)
        {
            *count -= 1;
            if *count == 0 {
                registered.remove(&self.0);
            }
        }
    }
}

pub(crate) fn helper_pids() -> HashSet<Pid> {
    lock_helper_pids().iter().flat_map(HashMap::keys).copied().collect()
}

/// Returns the start time of the keeper, or `None` if this process has no keeper.
pub(crate) fn keeper_start_time() -> Option<u64> {
    KEEPER_START_TIME.get().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A7
    #[test]
    fn a_supervisor_stays_registered_while_it_has_another_job() {
        let pid = rustix::process::getpid();
        let (first, second) = (HelperRegistration::register(pid), HelperRegistration::register(pid));
        drop(first);
        assert!(helper_pids().contains(&pid));
        drop(second);
        assert!(!helper_pids().contains(&pid));
    }
}
