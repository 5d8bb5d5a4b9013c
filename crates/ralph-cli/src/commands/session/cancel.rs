//! `ralph loop cancel`.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::{SessionLoopEvent, SessionNotice};
use serde_json::json;

use super::{SessionArgs, open_loop_store};
use crate::commands::out;
use crate::error::CommandError;
use ralph_engine::session_driver::{LoopFile, LoopStore, SessionKey, apply_event};

/// Ends the loop of a session; the session itself goes on as it likes
///
/// It works at any time, also while the checks of a claim are running: they are stopped.
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
    let notice = cancelled.as_ref().map_or_else(SessionNotice::no_active_loop, |(_, notice)| notice.clone());
    if args.json {
        let iteration = cancelled.as_ref().map(|(entry, _)| entry.loop_state.current_iteration());
        let told = json!({ "cancelled": cancelled.is_some(), "iteration": iteration, "notices": [notice] });
        out::print_line(&told.to_string());
    } else {
        out::print_message(&notice.to_line());
    }
    Ok(exit_code::COMPLETED)
}

/// Ends the loop of a session, if it has one that goes on.
pub fn cancel_loop(
    loop_store: &LoopStore,
    key: &SessionKey,
) -> Result<Option<(LoopFile, SessionNotice)>, CommandError> {
    let Some((key, entry)) = loop_store.find_with_key(key)?.filter(|(_, entry)| entry.loop_state.is_active()) else {
        return Ok(None);
    };
    let applied = apply_event(loop_store, &key, &entry.id, |_| SessionLoopEvent::Cancelled)?;
    Ok(applied.loop_file.zip(applied.decision.notices.into_iter().next()))
}
