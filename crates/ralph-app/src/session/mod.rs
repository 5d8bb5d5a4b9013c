//! Loops inside running agent sessions: starting, cancelling and listing them, and answering the hooks of the session's
//! program.
mod answer_hook;
mod cancel_loop;
mod list_loops;
mod loop_caller;
mod start_loop;

pub use answer_hook::{
    HookAnswer, HookRequest, PromptCall, allow_stop_after_error, answer_hook_event, append_hook_log,
};
pub use cancel_loop::{CancelledLoop, cancel_session_loop};
pub use list_loops::{SessionLoopList, find_session_loop, list_active_loops};
pub use loop_caller::LoopCaller;
pub use start_loop::{StartLoopRequest, StartedLoop, find_loop_project, start_loop};

use ralph_engine::session_driver::{LoopStore, find_loop_folder};

use crate::error::{AppError, AppResult, ErrorKind};

/// Opens the store of this user's session loops.
fn open_loop_store() -> AppResult<LoopStore> {
    find_loop_store().map_err(|error| error.with_advice("set HOME"))
}

fn find_loop_store() -> AppResult<LoopStore> {
    let folder = find_loop_folder(|name| std::env::var_os(name));
    folder.map(LoopStore::new).map_err(|error| AppError::from_error(ErrorKind::StateUnusable, &error))
}
