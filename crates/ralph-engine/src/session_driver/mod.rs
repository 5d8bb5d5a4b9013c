//! The second driver of the loop: an agent session reports its events through hooks, and the driver replies whether it
//! may stop. `ralph_core::session_loop` decides; this module parses the events, stores the loops and runs the checks.
mod apply_event;
mod check_cache_file;
mod file_stamps;
mod hook_input;
mod hook_log;
mod hook_response;
mod loop_checks;
mod loop_file;
mod loop_folder;
mod loop_preparation;
mod loop_record;
mod loop_recorder;
mod loop_store;
mod session_clock;
mod session_loops;
#[cfg(test)]
mod session_loops_tests;
mod transcript_tail;
mod transcript_usage;

pub use apply_event::{AppliedEvent, apply_event, expire_orphans};
pub use hook_input::{HookInput, read_hook_input};
pub use hook_log::HookLog;
pub use hook_response::{HookCall, HookError, HookResponse, worktree_state};
pub use loop_file::{LoopFile, LoopFileError, new_loop_id};
pub use loop_folder::find_loop_folder;
pub use loop_preparation::{LoopBaseline, LoopTerms, PreparedLoop, hook_deadline};
pub use loop_record::{LoopRecord, logs_folder};
pub use loop_recorder::{
    LoopRecordError, SessionRunSettings, create_record_folder, create_record_store, host_display_name, record_new_loop,
};
pub use loop_store::{LoopList, LoopStore, LoopStoreError, SessionKey, StopLock};
pub use ralph_agents::hooks::{
    HOOK_TIMEOUT_SECONDS, HookEvent, HookOutput, HookPayload, HookProtocol, HookReply, HostCapabilities, TurnStop,
    find_hook_protocol, hook_protocols,
};
pub use session_clock::current_moment;
pub use session_loops::{
    LoopStartOptions, MessageRole, SessionEvent, SessionHost, SessionLoopError, SessionLoops, SessionMessage,
};
pub use transcript_tail::TranscriptPosition;
