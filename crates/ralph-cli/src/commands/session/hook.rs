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

use super::{host_name_parser, prompt_commands};
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::install::MAX_HOOK_TIMEOUT_SECONDS;
use ralph_app::session::{HookAnswer, HookRequest, allow_stop_after_error, answer_hook_event, append_hook_log};
use ralph_engine::session_driver::{
    HOOK_TIMEOUT_SECONDS, HookInput, HookPayload, HookProtocol, find_hook_protocol, read_hook_input,
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
    let problem = sanitize_text(&prompt_commands::format_error_with_hints(failure));
    allow_stop_after_error(host, &redact::redact_text(&problem), format!("the session may stop: {failure}"))
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

fn handle_event(
    args: &HookArgs,
    host: &'static dyn HookProtocol,
    started: Instant,
) -> Result<HookAnswer, CommandError> {
    let mut payload = read_payload()?;
    payload.hook_event_name = args.event.clone().or(payload.hook_event_name);
    let time_limit = Duration::from_secs(args.seconds.min(MAX_HOOK_TIMEOUT_SECONDS));
    let request = HookRequest { host, payload, started, time_limit };
    let answer = answer_hook_event(request, prompt_commands::answer_command)?;
    answer.notes.iter().for_each(|note| out::print_note(&format!("ralph: {note}")));
    Ok(answer)
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
