//! Named points at which a test lets ralph die. Only builds for tests know them; for users this is nothing at all.

/// A point in the life of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailPoint {
    IterationStartedRecorded,
    AgentSpawned,
    AgentExitedUnrecorded,
    PrepareStarted,
    VerifyStarted,
    VerifyPassedUnrecorded,
    CompleteRecordedUnannounced,
    TreeRecorded,
    TreeAdded,
    LandRecorded,
    LandFilesMoved,
    LandBranchMoved,
    RewindSnapshotTaken,
    RewindFilesMoved,
    UnfinishedStageFound,
    StageBegins,
    AcceptBegins,
    EditLocked,
    WorktreeLockChecked,
    SetupContinued,
}

impl FailPoint {
    /// Returns the name that a test gives in `RALPH_FAIL`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IterationStartedRecorded => "iteration.started.recorded",
            Self::AgentSpawned => "agent.spawned",
            Self::AgentExitedUnrecorded => "agent.exited.unrecorded",
            Self::PrepareStarted => "prepare.started",
            Self::VerifyStarted => "verify.started",
            Self::VerifyPassedUnrecorded => "verify.passed.unrecorded",
            Self::CompleteRecordedUnannounced => "complete.recorded.unannounced",
            Self::TreeRecorded => "tree.recorded",
            Self::TreeAdded => "tree.added",
            Self::LandRecorded => "land.recorded",
            Self::LandFilesMoved => "land.files.moved",
            Self::LandBranchMoved => "land.branch.moved",
            Self::RewindSnapshotTaken => "rewind.kept",
            Self::RewindFilesMoved => "rewind.files.moved",
            Self::UnfinishedStageFound => "stage.left.found",
            Self::StageBegins => "stage.begins",
            Self::AcceptBegins => "accept.begins",
            Self::EditLocked => "edit.held",
            Self::WorktreeLockChecked => "hold.looked",
            Self::SetupContinued => "setup.goes.on",
        }
    }
}

/// Dies here if `RALPH_FAIL=NAME:N` says so and this is the N-th time; panics with `RALPH_FAIL=NAME:N:panic`,
/// and stops until somebody lets it go on with `RALPH_FAIL=NAME:N:stop`.
#[cfg(feature = "testing")]
#[expect(clippy::panic, reason = "a test asked for it")]
pub fn reach_fail_point(point: FailPoint) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let Ok(wanted) = std::env::var("RALPH_FAIL") else { return };
    let mut parts = wanted.split(':');
    if parts.next() != Some(point.name()) {
        return;
    }
    let number = parts.next().and_then(|number| number.parse().ok()).unwrap_or(1);
    if PASSED.fetch_add(1, Ordering::Relaxed) + 1 != number {
        return;
    }
    match parts.next() {
        Some("panic") => panic!("a test asked for it at {}", point.name()),
        Some("stop") => stop_this_thread(),
        // No destructor runs and no buffer is written, as with `kill -9`.
        Some(_) | None => std::process::abort(),
    }
}

/// The signal goes to this thread, so that nothing more happens here before somebody lets it go on.
#[cfg(feature = "testing")]
#[expect(unsafe_code, reason = "no safe interface sends a signal to the own thread")]
fn stop_this_thread() {
    // SAFETY: raise has no preconditions, and SIGSTOP runs no code of ours.
    unsafe { libc::raise(libc::SIGSTOP) };
}

#[cfg(not(feature = "testing"))]
pub fn reach_fail_point(_point: FailPoint) {}

/// Returns how long git may take; a test says so with `RALPH_FAIL_PATIENCE_MS`.
#[cfg(feature = "testing")]
#[must_use]
pub fn git_time_limit(default_limit: std::time::Duration) -> std::time::Duration {
    let said = std::env::var("RALPH_FAIL_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
    said.map_or(default_limit, std::time::Duration::from_millis)
}

#[cfg(not(feature = "testing"))]
#[must_use]
pub fn git_time_limit(default_limit: std::time::Duration) -> std::time::Duration {
    default_limit
}
