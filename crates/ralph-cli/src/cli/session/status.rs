//! `ralph loop status`.
use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session::Notice;
use serde_json::Value;

use super::{SessionArgs, book};
use crate::cli::out;
use crate::error::Failure;
use ralph_app::view::ago;
use ralph_engine::session::{Book, BookError, Entry, end_forsaken, now};
use ralph_util::sanitize::sanitize;

/// Shows the loops that are going on in sessions, or the newest one of a session and how it ended
#[derive(Debug, Args)]
pub struct StatusArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Prints an array of objects: id, status, active, iteration, maxIterations, completionPromise, startedAt, prompt, sessionId and more
    #[arg(long)]
    json: bool,
}

pub fn run(args: &StatusArgs) -> Result<u8, Failure> {
    let (entries, bad) = shown(&args.session)?;
    for error in &bad {
        let failure = Failure::new(exit_code::STATE, error);
        out::note(&format!("warning: {failure}"));
    }
    if args.json {
        out::line(&Value::from(entries.iter().map(Entry::json).collect::<Vec<_>>()).to_string());
    } else {
        out::answer(&text(&entries));
    }
    Ok(exit_code::COMPLETED)
}

fn shown(session: &SessionArgs) -> Result<(Vec<Entry>, Vec<BookError>), Failure> {
    let book: Book = book()?;
    if let Some(key) = session.named() {
        return Ok((book.known(&key)?.map(|(_, entry)| entry).into_iter().collect(), Vec::new()));
    }
    end_forsaken(&book);
    let (entries, bad) = book.all()?;
    Ok((entries.into_iter().filter(|entry| entry.state.is_active()).collect(), bad))
}

/// Returns what is told to people.
pub fn text(entries: &[Entry]) -> String {
    if entries.is_empty() {
        return format!("{}\n", Notice::none_active().line());
    }
    entries.iter().map(|entry| format!("{}\n", sanitize(&line(entry)))).collect()
}

fn line(entry: &Entry) -> String {
    let state = &entry.state;
    let host = entry.host.as_deref().unwrap_or("session");
    let place =
        format!("{host} {}: iteration {}/{}", entry.session, state.iteration(), state.max_iterations());
    match state.machine.ended() {
        Some(ended) => format!("{place}, {}: {}", ended.outcome.as_str(), ended.reason),
        None => format!("{place}, started {} ago", ago(now().at.since(state.started))),
    }
}
