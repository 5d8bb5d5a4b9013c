//! `ralph loop` and `ralph hook`: loops inside running agent sessions.
mod begin;
mod cancel;
mod hook;
mod start_args;
mod status;
mod summoned;

use clap::{Args, Subcommand};
use ralph_core::outcome::exit_code;

use crate::error::Failure;
use ralph_engine::session::{Book, BookError, EntryError, HOSTS, Key, place};

pub use hook::{HookArgs, answer, bear, excuse};

/// Starts, cancels and shows loops inside running agent sessions
///
/// The session's program asks `ralph hook` whether it may stop; `ralph install` sets that up, with the slash commands
/// /ralph, /cancel-ralph and /ralph-status.
#[derive(Debug, Args)]
pub struct LoopCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Start(Box<start_args::StartArgs>),
    Cancel(cancel::CancelArgs),
    Status(status::StatusArgs),
}

pub fn run(args: &LoopCommand) -> Result<u8, Failure> {
    match &args.action {
        Action::Start(args) => begin::run(args),
        Action::Cancel(args) => cancel::run(args),
        Action::Status(args) => status::run(args),
    }
}

/// Which session is meant.
#[derive(Debug, Clone, Args)]
pub struct SessionArgs {
    /// The session's own id, as its program names it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The session's program; without it, whichever has this session
    #[arg(long, value_name = "HOST", value_parser = hosts())]
    host: Option<String>,
}

impl SessionArgs {
    /// Returns the session, unless none is named.
    fn named(&self) -> Option<Key> {
        let session = self.session.as_deref().map(str::trim).filter(|session| !session.is_empty());
        session.map(|session| Key::new(self.host.as_deref(), session))
    }

    fn key(&self) -> Result<Key, Failure> {
        self.named().ok_or_else(|| {
            Failure::usage("no session is named, so nothing was done")
                .hint("give the session's own id with --session ID")
        })
    }
}

/// Returns the names of the hosts for the parser.
fn hosts() -> clap::builder::PossibleValuesParser {
    HOSTS.iter().map(|host| host.name()).collect::<Vec<_>>().into()
}

/// Opens the loops of this user's sessions.
fn book() -> Result<Book, Failure> {
    let place = place(|name| std::env::var_os(name));
    place.map(Book::at).map_err(|error| Failure::new(exit_code::STATE, &error).hint("set HOME"))
}

impl From<BookError> for Failure {
    fn from(error: BookError) -> Self {
        let failure = Self::new(exit_code::STATE, &error);
        match &error {
            BookError::Folder { path, .. } | BookError::Unwritable { path, .. } => {
                failure.hint(format!("see that you may write to {}", path.display()))
            }
            BookError::Unreadable { path, .. } => {
                failure.hint(format!("see that you may read {}", path.display()))
            }
            BookError::Unusable { source: EntryError::Newer(_), .. } => failure.hint("update ralph"),
            BookError::Unusable { path, .. } => failure.hint(format!(
                "nothing was deleted; to begin anew, move it away: mv {0} {0}.damaged",
                path.display()
            )),
            BookError::Held { .. } => failure.hint("try again"),
        }
    }
}
