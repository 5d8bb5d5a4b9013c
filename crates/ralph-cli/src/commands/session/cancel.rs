//! `ralph loop cancel`: cancels the loop of a session.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::SessionNotice;
use serde_json::json;

use super::SessionArgs;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::session::cancel_session_loop;

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
    let cancelled = cancel_session_loop(&args.session.require_session_key()?, args.session.caller())?;
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
