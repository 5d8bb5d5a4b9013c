//! `ralph hook`: what a session's program calls. Whatever goes wrong here, the session may stop: a fault of ours never traps
//! anybody.
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
    LoopStore, find_hook_protocol, find_loop_folder, read_hook_input,
};
use ralph_util::redact;
use ralph_util::sanitize::sanitize_text;

/// Answers one event of a running agent session; the session's program calls this
///
/// One JSON event is read from standard input, and the answer in the program's own form is printed: whether the session may
/// stop, or the prompt with which it goes on. Where ralph itself fails, the session may stop; you are told why if a loop may be
/// going on, and the reason is in ralph/sessions/hook.log of your state folder.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The session's program
    #[arg(value_parser = host_name_parser())]
    host: String,
    /// The event, where the program does not name it itself
    event: Option<String>,
    /// How long the program waits for this hook
    #[arg(long, value_name = "N", default_value_t = HOOK_TIMEOUT_SECONDS)]
    seconds: u64,
}

/// How long the event itself may take to come.
const EVENT_READ_TIMEOUT: Duration = Duration::from_secs(5);

/// Answers, and returns the exit code that the program wants.
pub fn answer_hook(args: &HookArgs) -> Result<u8, CommandError> {
    let began = Instant::now();
    let Some(host) = find_hook_protocol(&args.host) else {
        return Err(CommandError::usage_error("there is no such program"));
    };
    let answered = catch_unwind(AssertUnwindSafe(|| handle_event(args, host, began)));
    let answered = answered.unwrap_or_else(|_| {
        Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "a fault inside ralph")
            .with_hint("please report what stands above"))
    });
    let (reply, notes) = answered.unwrap_or_else(|failure| {
        out::print_command_error(&failure);
        allow_stop_on_error(host, &failure)
    });
    Ok(write_reply(host, &reply, &notes))
}

/// Answers a program whose call cannot be understood, and returns the exit code that it wants. Nothing where no program that
/// we know has called.
pub fn reply_to_bad_call(args: &[OsString], why: &str) -> Option<u8> {
    let [_, verb, rest @ ..] = args else { return None };
    let host = rest.iter().filter(|_| verb == "hook").find_map(|word| find_hook_protocol(word.to_str()?))?;
    let (reply, notes) = allow_stop_on_error(host, &CommandError::usage_error(why));
    Some(write_reply(host, &reply, &notes))
}

/// Notes what is wrong around a hook and does not keep it from answering.
pub fn log_hook_failure(args: &HookArgs, failure: &CommandError) {
    out::print_command_error(failure);
    if let Some(host) = find_hook_protocol(&args.host) {
        append_hook_log(host, &[failure.to_string()]);
    }
}

/// The session may stop, and is told why if a loop may be going on.
fn allow_stop_on_error(host: &dyn HookProtocol, failure: &CommandError) -> HookAnswer {
    let concerns = |folder| LoopStore::new(folder).may_have_active_loop(host.name());
    let is_missed = find_loop_folder(|name| std::env::var_os(name)).is_ok_and(concerns);
    let notice = SessionNotice::ralph_failed(&redact::redact_text(&sanitize_text(
        &prompt_commands::format_error_with_hints(failure),
    )));
    let notices = Some(notice).filter(|_| is_missed).into_iter().collect();
    (HookReply::Allow { notices }, vec![format!("the session may stop: {failure}")])
}

fn write_reply(host: &dyn HookProtocol, reply: &HookReply, notes: &[String]) -> u8 {
    if !notes.is_empty() {
        append_hook_log(host, notes);
    }
    let said = host.render_reply(reply);
    // It is the session's own prompt that goes back to it: nothing is hidden from it here.
    let _ = out::TrackedStdout.write_all(said.stdout.as_bytes()).and_then(|()| out::TrackedStdout.flush());
    said.exit_code
}

/// Keeps what somebody should know. Where there is no place for it, it is only printed.
fn append_hook_log(host: &dyn HookProtocol, notes: &[String]) {
    let Ok(folder) = find_loop_folder(|name| std::env::var_os(name)) else { return };
    let journal = LoopJournal::hook_log(&folder);
    for words in notes {
        let _ = journal.append_line(&format!("{}: {words}", host.name()));
    }
}

type HookAnswer = (HookReply, Vec<String>);

fn handle_event(args: &HookArgs, host: &'static dyn HookProtocol, began: Instant) -> Result<HookAnswer, CommandError> {
    let allow = |notes| Ok((HookReply::Allow { notices: Vec::new() }, notes));
    let mut payload = read_payload()?;
    payload.hook_event_name = args.event.clone().or(payload.hook_event_name);
    let Some(session) = payload.non_empty_session_id().map(str::to_owned) else {
        out::print_note("ralph: the event names no session, so nothing was done");
        return allow(vec!["an event named no session, so nothing was done".to_owned()]);
    };
    let folder = payload.cwd.clone();
    let incoming = host.parse_event(payload);
    if let HookEvent::Prompt { text } = &incoming {
        return match parse_prompt_command(text) {
            None => allow(Vec::new()),
            Some(asked) => {
                Ok((prompt_commands::answer_command(asked, (host.name(), &session), folder.as_deref()), Vec::new()))
            }
        };
    }
    let loop_store = LoopStore::new(
        find_loop_folder(|name| std::env::var_os(name))
            .map_err(|error| CommandError::from_error(exit_code::STATE_UNUSABLE, &error))?,
    );
    let variable = |name: &str| std::env::var_os(name);
    let time = Duration::from_secs(args.seconds.min(MAX_HOOK_TIMEOUT_SECONDS));
    let call = HookCall {
        store: &loop_store,
        host,
        session_id: &session,
        started: began,
        time_limit: time,
        env_var: &variable,
    };
    let response = call.respond_to(incoming).map_err(|error| match error {
        HookError::Store(error) => error.into(),
        HookError::Process(_) | HookError::Runtime(_) => CommandError::from_error(exit_code::INTERNAL_ERROR, &error),
    })?;
    response.log_messages.iter().for_each(|words| out::print_note(&format!("ralph: {words}")));
    Ok((response.reply, response.log_messages))
}

/// Reads the event. Buffered reading would hide from the kernel what is still to come.
fn read_payload() -> Result<HookPayload, CommandError> {
    let unheard =
        |error: &dyn std::fmt::Display| CommandError::preflight_error("the event cannot be read").with_cause(error);
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| unheard(&error))?;
    match read_hook_input(File::from(input), EVENT_READ_TIMEOUT).map_err(|error| unheard(&error))? {
        HookInput::TooLong => Err(unheard(&"it is too long")),
        HookInput::Bytes(bytes) => HookPayload::parse(&bytes).map_err(|error| unheard(&error)),
    }
}
