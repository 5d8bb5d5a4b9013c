//! `ralph hook`: answers the hook events of a session's program. If ralph fails, the session may stop, so that an error
//! in ralph never keeps a session from ending.
use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use clap::Args;
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::{SessionNotice, parse_prompt_command};

use super::{host_name_parser, prompt_commands};
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::install::MAX_HOOK_TIMEOUT_SECONDS;
use ralph_engine::session_driver::{
    HOOK_TIMEOUT_SECONDS, HookCall, HookError, HookEvent, HookInput, HookPayload, HookProtocol, HookReply, LoopJournal,
    LoopStore, SessionKey, find_hook_protocol, find_loop_folder, read_hook_input,
};
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// Answers one hook event of a running agent session; called by the session's program
///
/// Reads one JSON event from standard input and prints the reply in the program's format: the session may stop, or the
/// prompt to continue with. If ralph itself fails, the session may stop. If a loop may be active, the session shows a
/// notice; the reason is in ralph/sessions/hook.log of your state folder.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// Program that runs the session
    #[arg(value_parser = host_name_parser())]
    host: String,
    /// Event name, if the event itself does not contain it
    event: Option<String>,
    /// How long the program waits for this hook, in seconds
    #[arg(long, value_name = "N", default_value_t = HOOK_TIMEOUT_SECONDS)]
    seconds: u64,
}

/// Time limit for reading the event.
const EVENT_READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers the event, and returns the exit code that the program expects.
pub fn answer_hook(args: &HookArgs) -> Result<u8, CommandError> {
    let started = Instant::now();
    let Some(host) = find_hook_protocol(&args.host) else {
        return Err(CommandError::usage_error(format!("unknown program {}", args.host)));
    };
    let answered = catch_unwind(AssertUnwindSafe(|| handle_event(args, host, started)));
    let answered = answered.unwrap_or_else(|_| {
        Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "a fault inside ralph")
            .with_hint("please report the message above"))
    });
    let answer = answered.unwrap_or_else(|failure| {
        out::print_command_error(&failure);
        allow_stop_on_error(host, &failure)
    });
    Ok(write_reply(host, &answer))
}

/// Answers a call with invalid arguments, and returns the exit code that the program expects. Returns `None` if the
/// arguments are not a hook call of a known program.
pub fn reply_to_bad_call(args: &[OsString], reason: &str) -> Option<u8> {
    let [_, verb, rest @ ..] = args else { return None };
    let host = rest.iter().filter(|_| verb == "hook").find_map(|arg| find_hook_protocol(arg.to_str()?))?;
    Some(write_reply(host, &allow_stop_on_error(host, &CommandError::usage_error(reason))))
}

/// Logs a failure that does not prevent the hook from answering.
pub fn log_hook_failure(args: &HookArgs, failure: &CommandError) {
    out::print_command_error(failure);
    if let Some(host) = find_hook_protocol(&args.host) {
        append_hook_log(host, &[failure.to_string()]);
    }
}

/// Lets the session stop, with a notice if a loop may be active.
fn allow_stop_on_error(host: &dyn HookProtocol, failure: &CommandError) -> HookAnswer {
    let may_be_active = |folder| LoopStore::new(folder).may_have_active_loop(host.name());
    let needs_notice = find_loop_folder(|name| std::env::var_os(name)).is_ok_and(may_be_active);
    let notice = SessionNotice::ralph_failed(&redact::redact_text(&sanitize_text(
        &prompt_commands::format_error_with_hints(failure),
    )));
    let notices = Some(notice).filter(|_| needs_notice).into_iter().collect();
    let log_messages = vec![format!("the session may stop: {failure}")];
    HookAnswer { reply: HookReply::Allow { notices }, log_messages }
}

fn write_reply(host: &dyn HookProtocol, answer: &HookAnswer) -> u8 {
    if !answer.log_messages.is_empty() {
        append_hook_log(host, &answer.log_messages);
    }
    let rendered = host.render_reply(&answer.reply);
    // The reply returns the session's own prompt, so secrets are not redacted.
    let _ = out::TrackedStdout.write_all(rendered.stdout.as_bytes()).and_then(|()| out::TrackedStdout.flush());
    rendered.exit_code
}

/// Appends messages to the hook log. Errors are ignored, because the messages are printed too.
fn append_hook_log(host: &dyn HookProtocol, messages: &[String]) {
    let Ok(folder) = find_loop_folder(|name| std::env::var_os(name)) else { return };
    let journal = LoopJournal::hook_log(&folder);
    for message in messages {
        let _ = journal.append_line(&format!("{}: {message}", host.name()));
    }
}

/// The reply to the program, and messages for the hook log.
struct HookAnswer {
    reply: HookReply,
    log_messages: Vec<String>,
}

fn handle_event(
    args: &HookArgs,
    host: &'static dyn HookProtocol,
    started: Instant,
) -> Result<HookAnswer, CommandError> {
    let allow = |log_messages| Ok(HookAnswer { reply: HookReply::Allow { notices: Vec::new() }, log_messages });
    let mut payload = read_payload()?;
    payload.hook_event_name = args.event.clone().or(payload.hook_event_name);
    let Some(session) = payload.non_empty_session_id().map(str::to_owned) else {
        out::print_note("ralph: the event has no session id; nothing was done");
        return allow(vec!["an event had no session id; nothing was done".to_owned()]);
    };
    let folder = payload.cwd.clone();
    let incoming = host.parse_event(payload);
    if let HookEvent::Prompt { text } = &incoming {
        return match parse_prompt_command(text) {
            None => allow(Vec::new()),
            Some(command) => {
                let key = SessionKey::new(Some(host.name()), &session);
                let reply = prompt_commands::answer_command(command, &key, folder.as_deref());
                Ok(HookAnswer { reply, log_messages: Vec::new() })
            }
        };
    }
    let loop_store = LoopStore::new(
        find_loop_folder(|name| std::env::var_os(name))
            .map_err(|error| CommandError::from_error(exit_code::STATE_UNUSABLE, &error))?,
    );
    let variable = |name: &str| std::env::var_os(name);
    let time = Duration::from_secs(args.seconds.min(MAX_HOOK_TIMEOUT_SECONDS));
    let call =
        HookCall { store: &loop_store, host, session_id: &session, started, time_limit: time, env_var: &variable };
    let response = call.respond_to(incoming).map_err(|error| match error {
        HookError::Store(error) => error.into(),
        HookError::Process(_) | HookError::Runtime(_) => CommandError::from_error(exit_code::INTERNAL_ERROR, &error),
    })?;
    response.log_messages.iter().for_each(|message| out::print_note(&format!("ralph: {message}")));
    Ok(HookAnswer { reply: response.reply, log_messages: response.log_messages })
}

/// Reads the event. Not through a buffered reader, which would hide pending input from polling.
fn read_payload() -> Result<HookPayload, CommandError> {
    let unreadable =
        |error: &dyn std::fmt::Display| CommandError::preflight_error("cannot read the event").with_cause(error);
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| unreadable(&error))?;
    match read_hook_input(File::from(input), EVENT_READ_TIMEOUT).map_err(|error| unreadable(&error))? {
        HookInput::TooLong => Err(unreadable(&"the event is too long")),
        HookInput::Bytes(bytes) => HookPayload::parse(&bytes).map_err(|error| unreadable(&error)),
    }
}
