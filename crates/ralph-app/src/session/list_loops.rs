//! Finds the loops of sessions.
use ralph_engine::session_driver::{LoopFile, LoopStoreError, SessionKey, expire_orphans};

use super::open_loop_store;
use crate::error::AppResult;

/// The active loops, and the errors of files that cannot be read.
#[derive(Debug)]
pub struct SessionLoopList {
    pub loops: Vec<LoopFile>,
    pub unreadable: Vec<LoopStoreError>,
}

/// Returns the newest loop of a session, active or not.
pub fn find_session_loop(key: &SessionKey) -> AppResult<Option<LoopFile>> {
    Ok(open_loop_store()?.find_with_key(key)?.map(|(_, entry)| entry))
}

/// Returns the active loops of all sessions of this user.
pub fn list_active_loops() -> AppResult<SessionLoopList> {
    let loop_store = open_loop_store()?;
    expire_orphans(&loop_store);
    let list = loop_store.list_loops()?;
    let loops = list.loops.into_iter().filter(|entry| entry.loop_state.is_active()).collect();
    Ok(SessionLoopList { loops, unreadable: list.unreadable })
}
