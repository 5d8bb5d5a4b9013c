//! `ralph loop cancel`.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session::{Happening, Notice};
use serde_json::json;

use super::{SessionArgs, book};
use crate::cli::out;
use crate::error::Failure;
use ralph_engine::session::{Book, Entry, Key, settle};

/// Ends the loop of a session; the session itself goes on as it likes
///
/// It works at any time, also while the checks of a claim are running: they are stopped.
#[derive(Debug, Args)]
pub struct CancelArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Prints one object: cancelled, iteration, notices
    #[arg(long)]
    json: bool,
}

pub fn run(args: &CancelArgs) -> Result<u8, Failure> {
    let cancelled = cancel(&book()?, &args.session.key()?)?;
    let notice = cancelled.as_ref().map_or_else(Notice::none_active, |(_, notice)| notice.clone());
    if args.json {
        let iteration = cancelled.as_ref().map(|(entry, _)| entry.state.iteration());
        let told = json!({ "cancelled": cancelled.is_some(), "iteration": iteration, "notices": [notice] });
        out::line(&told.to_string());
    } else {
        out::say(&notice.line());
    }
    Ok(exit_code::COMPLETED)
}

/// Ends the loop of a session, if it has one that goes on.
pub fn cancel(book: &Book, key: &Key) -> Result<Option<(Entry, Notice)>, Failure> {
    let Some((key, entry)) = book.known(key)?.filter(|(_, entry)| entry.state.is_active()) else {
        return Ok(None);
    };
    let (entry, answer) = settle(book, (&key, &entry.id), |_| Happening::Cancelled)?;
    Ok(entry.zip(answer.notices.into_iter().next()))
}
