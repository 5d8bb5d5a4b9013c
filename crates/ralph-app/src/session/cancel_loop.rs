//! Cancels the loop of a session.
use ralph_core::session_loop::{SessionLoopEvent, SessionNotice};
use ralph_engine::session_driver::{LoopFile, LoopStore, SessionKey, apply_event};

use super::{LoopCaller, open_loop_store};
use crate::error::AppResult;

/// A loop that was cancelled, and the notice for the user.
#[derive(Debug)]
pub struct CancelledLoop {
    pub loop_file: LoopFile,
    pub notice: SessionNotice,
}

/// Cancels the loop of a session. Returns `None` if it has no active loop.
pub fn cancel_session_loop(key: &SessionKey, caller: LoopCaller) -> AppResult<Option<CancelledLoop>> {
    let loop_store = open_loop_store()?;
    if let Some((_, entry)) = loop_store.find_with_key(key)?.filter(|(_, entry)| entry.loop_state.is_active()) {
        caller.refuse_agent(&entry, "cancel the loop of a session")?;
    }
    cancel_loop_in(&loop_store, key)
}

/// Like [`cancel_session_loop`], with a store that is already open.
pub(super) fn cancel_loop_in(loop_store: &LoopStore, key: &SessionKey) -> AppResult<Option<CancelledLoop>> {
    let Some((key, entry)) = loop_store.find_with_key(key)?.filter(|(_, entry)| entry.loop_state.is_active()) else {
        return Ok(None);
    };
    let applied = apply_event(loop_store, &key, &entry, |_| SessionLoopEvent::Cancelled)?;
    let notice = applied.decision.notices.into_iter().next();
    Ok(applied.loop_file.zip(notice).map(|(loop_file, notice)| CancelledLoop { loop_file, notice }))
}
