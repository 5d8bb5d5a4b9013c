//! `ralph loop status`: shows session loops.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::SessionNotice;
use serde_json::Value;

use super::SessionArgs;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::session::{SessionLoopList, find_session_loop, list_active_loops};
use ralph_app::view::format_age;
use ralph_engine::session_driver::{LoopFile, current_moment};
use ralph_util::sanitize::sanitize_text;

/// Shows active session loops, or the newest loop of one session and how it ended
#[derive(Debug, Args)]
pub struct LoopStatusArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Prints an array of objects: id, status, active, iteration, maxIterations, completionPromise, startedAt, prompt,
    /// sessionId and more
    #[arg(long)]
    json: bool,
}

pub fn run(args: &LoopStatusArgs) -> Result<u8, CommandError> {
    let SessionLoopList { loops, unreadable } = load_loops(&args.session)?;
    for error in &unreadable {
        let failure = CommandError::from_error(exit_code::STATE_UNUSABLE, error);
        out::print_note(&format!("warning: {failure}"));
    }
    if args.json {
        out::print_line(&Value::from(loops.iter().map(LoopFile::to_json).collect::<Vec<_>>()).to_string());
    } else {
        out::print_wrapped(&format_loops(&loops));
    }
    Ok(exit_code::COMPLETED)
}

/// Returns the active loops, or the newest loop of the session that the arguments name.
fn load_loops(session: &SessionArgs) -> Result<SessionLoopList, CommandError> {
    Ok(match session.session_key() {
        Some(key) => SessionLoopList { loops: find_session_loop(&key)?.into_iter().collect(), unreadable: Vec::new() },
        None => list_active_loops()?,
    })
}

/// Formats the loops for the terminal, one per line.
pub fn format_loops(entries: &[LoopFile]) -> String {
    if entries.is_empty() {
        return format!("{}\n", SessionNotice::no_active_loop().to_line());
    }
    entries.iter().map(|entry| format!("{}\n", sanitize_text(&format_loop(entry)))).collect()
}

fn format_loop(entry: &LoopFile) -> String {
    let state = &entry.loop_state;
    let host = entry.host.as_deref().unwrap_or("session");
    let unproven = state.checks_without_baseline();
    let baseline = if unproven.is_empty() { "" } else { ", no baseline was taken" };
    let (session, iteration, max) = (&entry.session_id, state.current_iteration(), state.max_iterations());
    let position = format!("{host} {session}: iteration {iteration}/{max}{baseline}");
    match state.machine.run_end() {
        Some(ended) => format!("{position}, {}: {}", ended.outcome.as_str(), ended.reason),
        None => {
            format!("{position}, started {} ago", format_age(current_moment().at.elapsed_since(state.started)))
        }
    }
}
