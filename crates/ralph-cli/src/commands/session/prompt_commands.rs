//! Slash commands in prompts: the session's program passes each prompt to the hook before the agent gets it.
use std::path::Path;

use ralph_core::session_loop::{PromptCommand, SessionNotice};

use super::loop_start::LoopOrigin;
use super::start_args::LoopStartArgs;
use super::{SessionArgs, loop_start, status};
use crate::error::CommandError;
use ralph_app::session::{LoopCaller, PromptCall, cancel_session_loop, find_session_loop};
use ralph_engine::session_driver::{HookReply, SessionKey};

/// Runs a slash command and returns the reply for the program. The reply to a failed command contains the error.
pub fn answer_command(command: PromptCommand<'_>, call: &PromptCall<'_>) -> HookReply {
    let done = match command {
        PromptCommand::Start { arguments } => answer_start(arguments, call),
        PromptCommand::Cancel => answer_cancel(call.session),
        PromptCommand::Status => answer_status(call.session),
    };
    done.unwrap_or_else(|failure| HookReply::Answered {
        text: format!("ralph: {}", format_error_with_hints(&failure)),
        notices: Vec::new(),
    })
}

fn answer_start(arguments: &str, call: &PromptCall<'_>) -> Result<HookReply, CommandError> {
    let PromptCall { session: key, folder, transcript, deadline } = *call;
    let session = SessionArgs { session: Some(key.session_id.clone()), host: key.host.clone(), from_plugin: true };
    let args = LoopStartArgs::parse_slash_arguments(arguments, &session)?;
    let here = std::env::current_dir();
    let folder = folder.map(Path::to_path_buf).or(here.ok()).unwrap_or_default();
    let origin = LoopOrigin { folder: &folder, transcript, deadline, caller: LoopCaller::SessionProgram };
    let started = loop_start::start_loop(&args, &origin)?;
    Ok(HookReply::AddContext { context: started.loop_file.loop_state.first_prompt(), notices: started.notices })
}

fn answer_cancel(key: &SessionKey) -> Result<HookReply, CommandError> {
    let cancelled = cancel_session_loop(key, LoopCaller::SessionProgram)?;
    let notice = cancelled.map_or_else(SessionNotice::no_active_loop, |cancelled| cancelled.notice);
    Ok(HookReply::Answered { text: notice.to_line(), notices: vec![notice] })
}

fn answer_status(key: &SessionKey) -> Result<HookReply, CommandError> {
    let text = status::format_loops(find_session_loop(key)?.as_slice());
    Ok(HookReply::Answered { text: text.trim_end().to_owned(), notices: Vec::new() })
}

/// Formats an error with its causes and hints.
pub fn format_error_with_hints(failure: &CommandError) -> String {
    let hints = failure.hints.iter().map(|hint| format!("\nhint: {hint}"));
    format!("{failure}{}", hints.collect::<String>())
}
