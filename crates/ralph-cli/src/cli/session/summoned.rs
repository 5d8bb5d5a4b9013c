//! A prompt of the user's that is meant for ralph: the session's program shows it to the hook before the agent sees it.
use std::path::Path;

use ralph_core::session::{Notice, Summons};

use super::start_args::StartArgs;
use super::{SessionArgs, begin, book, cancel, status};
use crate::error::Failure;
use ralph_engine::session::{Key, Reply};

/// Does what was asked in a session, and returns what the program is told. What cannot be done says why.
pub fn answer(asked: Summons<'_>, (host, session): (&str, &str), folder: Option<&Path>) -> Reply {
    let key = Key::new(Some(host), session);
    let done = match asked {
        Summons::Start { arguments } => start(arguments, &key, folder),
        Summons::Cancel => cancelled(&key),
        Summons::Status => told(&key),
    };
    done.unwrap_or_else(|failure| Reply::Answered {
        words: format!("ralph: {}", words(&failure)),
        notices: Vec::new(),
    })
}

fn start(arguments: &str, key: &Key, folder: Option<&Path>) -> Result<Reply, Failure> {
    let session = SessionArgs { session: Some(key.session.clone()), host: key.host.clone() };
    let args = StartArgs::of_words(arguments, &session)?;
    let here = std::env::current_dir();
    let folder = folder.map(Path::to_path_buf).or(here.ok()).unwrap_or_default();
    let started = begin::start(&args, &folder)?;
    Ok(Reply::Accompany { context: started.entry.state.first_prompt(), notices: started.notices })
}

fn cancelled(key: &Key) -> Result<Reply, Failure> {
    let cancelled = cancel::cancel(&book()?, key)?;
    let notice = cancelled.map_or_else(Notice::none_active, |(_, notice)| notice);
    Ok(Reply::Answered { words: notice.line(), notices: vec![notice] })
}

fn told(key: &Key) -> Result<Reply, Failure> {
    let entry = book()?.known(key)?.map(|(_, entry)| entry);
    let text = status::text(entry.as_slice());
    Ok(Reply::Answered { words: text.trim_end().to_owned(), notices: Vec::new() })
}

/// Returns what is wrong and what can be done about it.
pub fn words(failure: &Failure) -> String {
    let hints = failure.hints.iter().map(|hint| format!("\nhint: {hint}"));
    format!("{failure}{}", hints.collect::<String>())
}
