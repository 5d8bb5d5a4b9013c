//! `ralph loop` and `ralph hook`: loops inside running agent sessions.
mod cancel;
mod hook;
mod loop_start;
mod prompt_commands;
mod start_args;
mod status;

use clap::{Args, Subcommand};

use crate::error::CommandError;
use ralph_app::session::LoopCaller;
use ralph_engine::session_driver::{SessionKey, hook_protocols};

pub use hook::{HookArgs, answer_hook, log_hook_failure, reply_to_bad_call};

/// Starts, cancels and shows loops inside running agent sessions
///
/// The session's program asks `ralph hook` whether it may stop. `ralph install` sets this up, with the slash commands
/// /ralph, /cancel-ralph and /ralph-status.
#[derive(Debug, Args)]
pub struct LoopCommand {
    #[command(subcommand)]
    action: LoopSubcommand,
}

#[derive(Debug, Subcommand)]
enum LoopSubcommand {
    Start(Box<start_args::LoopStartArgs>),
    Cancel(cancel::LoopCancelArgs),
    Status(status::LoopStatusArgs),
}

pub fn run(args: &LoopCommand) -> Result<u8, CommandError> {
    match &args.action {
        LoopSubcommand::Start(args) => loop_start::run(args),
        LoopSubcommand::Cancel(args) => cancel::run(args),
        LoopSubcommand::Status(args) => status::run(args),
    }
}

/// Selects a session.
#[derive(Debug, Clone, Args)]
pub struct SessionArgs {
    /// Session id, as the session's program reports it
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Program that runs the session; without it, any program that has this session
    #[arg(long, value_name = "HOST", value_parser = host_name_parser())]
    host: Option<String>,
    /// The plugin of the session's program calls, because the person typed a command
    #[arg(long, hide = true)]
    from_plugin: bool,
}

impl SessionArgs {
    /// Returns the session, if one was given.
    fn session_key(&self) -> Option<SessionKey> {
        let session = self.session.as_deref().map(str::trim).filter(|session| !session.is_empty());
        session.map(|session| SessionKey::new(self.host.as_deref(), session))
    }

    fn caller(&self) -> LoopCaller {
        if self.from_plugin { LoopCaller::SessionProgram } else { LoopCaller::Command }
    }

    fn require_session_key(&self) -> Result<SessionKey, CommandError> {
        self.session_key().ok_or_else(|| {
            CommandError::usage_error("no session id was given; nothing was done")
                .with_hint("give the session id with --session ID")
        })
    }
}

/// Returns a parser that accepts the names of supported programs.
fn host_name_parser() -> clap::builder::PossibleValuesParser {
    hook_protocols().map(ralph_agents::hooks::HookProtocol::name).collect::<Vec<_>>().into()
}
