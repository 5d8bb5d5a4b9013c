//! Named points at which a test can make ralph abort, panic or stop. Without the feature `testing` they do nothing.

/// A point in the code that a test can select.
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
    DecisionRecorded,
    EditLocked,
    WorktreeLockChecked,
    SetupContinued,
    LoopFileWritten,
    BoardDrawn,
}

impl FailPoint {
    /// Returns the name for `RALPH_FAIL`.
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
            Self::DecisionRecorded => "decision.recorded",
            Self::EditLocked => "edit.held",
            Self::WorktreeLockChecked => "hold.looked",
            Self::SetupContinued => "setup.goes.on",
            Self::LoopFileWritten => "loop.file.written",
            Self::BoardDrawn => "board.drawn",
        }
    }
}

/// Aborts the process when `RALPH_FAIL=NAME:N` selects this point, at its N-th call. `RALPH_FAIL=NAME:N:panic` panics
/// instead, and `RALPH_FAIL=NAME:N:stop` stops the process until it gets SIGCONT.
#[cfg(feature = "testing")]
#[expect(clippy::panic, reason = "a test requested it")]
pub fn reach_fail_point(point: FailPoint) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let Ok(selection) = std::env::var("RALPH_FAIL") else { return };
    let mut parts = selection.split(':');
    if parts.next() != Some(point.name()) {
        return;
    }
    let number = parts.next().and_then(|number| number.parse().ok()).unwrap_or(1);
    if CALLS.fetch_add(1, Ordering::Relaxed) + 1 != number {
        return;
    }
    match parts.next() {
        Some("panic") => panic!("a test requested a panic at {}", point.name()),
        Some("stop") => stop_this_thread(),
        // Like `kill -9`: no destructor runs and no buffer is flushed.
        Some(_) | None => std::process::abort(),
    }
}

/// Sends SIGSTOP to this thread, so that it is stopped before the call returns.
#[cfg(feature = "testing")]
#[expect(unsafe_code, reason = "no safe interface sends a signal to the current thread")]
fn stop_this_thread() {
    // SAFETY: raise has no preconditions, and SIGSTOP runs no handler.
    unsafe { libc::raise(libc::SIGSTOP) };
}

#[cfg(not(feature = "testing"))]
pub fn reach_fail_point(_point: FailPoint) {}

/// Returns the timeout for git; a test can override it with `RALPH_FAIL_PATIENCE_MS`.
#[cfg(feature = "testing")]
#[must_use]
pub fn git_time_limit(default_limit: std::time::Duration) -> std::time::Duration {
    let override_ms = std::env::var("RALPH_FAIL_PATIENCE_MS").ok().and_then(|text| text.parse().ok());
    override_ms.map_or(default_limit, std::time::Duration::from_millis)
}

#[cfg(not(feature = "testing"))]
#[must_use]
pub fn git_time_limit(default_limit: std::time::Duration) -> std::time::Duration {
    default_limit
}
