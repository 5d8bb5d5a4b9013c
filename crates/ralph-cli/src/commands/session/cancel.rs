//! `ralph loop cancel`: cancels the loop of a session.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::{SessionLoopEvent, SessionNotice};
use serde_json::json;

use super::{SessionArgs, open_loop_store};
use crate::commands::out;
use crate::error::CommandError;
use ralph_engine::session_driver::{LoopFile, LoopStore, SessionKey, apply_event};

/// Cancels the loop of a session; the session itself continues
///
/// Works at any time. If the checks of a claim are running, ralph stops them.
#[derive(Debug, Args)]
pub struct LoopCancelArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Prints one object: cancelled, iteration, notices
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LoopCancelArgs) -> Result<u8, CommandError> {
    let cancelled = cancel_loop(&open_loop_store()?, &args.session.require_session_key()?)?;
    let notice = cancelled.as_ref().map_or_else(SessionNotice::no_active_loop, |cancelled| cancelled.notice.clone());
    if args.json {
        let iteration = cancelled.as_ref().map(|cancelled| cancelled.loop_file.loop_state.current_iteration());
        let object = json!({ "cancelled": cancelled.is_some(), "iteration": iteration, "notices": [notice] });
        out::print_line(&object.to_string());
    } else {
        out::print_message(&notice.to_line());
    }
    Ok(exit_code::COMPLETED)
}

/// A loop that was cancelled, and the notice for the user.
pub struct CancelledLoop {
    pub loop_file: LoopFile,
    pub notice: SessionNotice,
}

/// Cancels the loop of a session. Returns `None` if it has no active loop.
pub fn cancel_loop(loop_store: &LoopStore, key: &SessionKey) -> Result<Option<CancelledLoop>, CommandError> {
    let Some((key, entry)) = loop_store.find_with_key(key)?.filter(|(_, entry)| entry.loop_state.is_active()) else {
        return Ok(None);
    };
    let applied = apply_event(loop_store, &key, &entry.id, |_| SessionLoopEvent::Cancelled)?;
    let notice = applied.decision.notices.into_iter().next();
    Ok(applied.loop_file.zip(notice).map(|(loop_file, notice)| CancelledLoop { loop_file, notice }))
}
