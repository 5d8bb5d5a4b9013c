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
use ralph_core::session::{Notice, summons};

use super::{hosts, summoned};
use crate::cli::out;
use crate::error::Failure;
use ralph_agents::install::LONGEST;
use ralph_engine::session::{
    Book, Call, HOOK_SECONDS, Heard, HookError, Incoming, Journal, Payload, Protocol, Reply, hear, place,
    protocol,
};
use ralph_util::redact;
use ralph_util::sanitize::sanitize;

/// Answers one event of a running agent session; the session's program calls this
///
/// One JSON event is read from standard input, and the answer in the program's own form is printed: whether the session may
/// stop, or the prompt with which it goes on. Where ralph itself fails, the session may stop; you are told why if a loop may be
/// going on, and the reason is in ralph/sessions/hook.log of your state folder.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The session's program
    #[arg(value_parser = hosts())]
    host: String,
    /// The event, where the program does not name it itself
    event: Option<String>,
    /// How long the program waits for this hook
    #[arg(long, value_name = "N", default_value_t = HOOK_SECONDS)]
    seconds: u64,
}

/// How long the event itself may take to come.
const HEARING: Duration = Duration::from_secs(5);

/// Answers, and returns the exit code that the program wants.
pub fn answer(args: &HookArgs) -> Result<u8, Failure> {
    let began = Instant::now();
    let Some(host) = protocol(&args.host) else { return Err(Failure::usage("there is no such program")) };
    let answered = catch_unwind(AssertUnwindSafe(|| respond(args, host, began)));
    let answered = answered.unwrap_or_else(|_| {
        Err(Failure::plain(exit_code::INTERNAL, "a fault inside ralph")
            .hint("please report what stands above"))
    });
    let (reply, notes) = answered.unwrap_or_else(|failure| {
        out::failure(&failure);
        helpless(host, &failure)
    });
    Ok(tell(host, &reply, &notes))
}

/// Answers a program whose call cannot be understood, and returns the exit code that it wants. Nothing where no program that
/// we know has called.
pub fn excuse(args: &[OsString], why: &str) -> Option<u8> {
    let [_, verb, rest @ ..] = args else { return None };
    let host = rest.iter().filter(|_| verb == "hook").find_map(|word| protocol(word.to_str()?))?;
    let (reply, notes) = helpless(host, &Failure::usage(why));
    Some(tell(host, &reply, &notes))
}

/// Notes what is wrong around a hook and does not keep it from answering.
pub fn bear(args: &HookArgs, failure: &Failure) {
    out::failure(failure);
    if let Some(host) = protocol(&args.host) {
        note(host, &[failure.to_string()]);
    }
}

/// The session may stop, and is told why if a loop may be going on.
fn helpless(host: &dyn Protocol, failure: &Failure) -> Answered {
    let concerns = |folder| Book::at(folder).may_concern(host.name());
    let is_missed = place(|name| std::env::var_os(name)).is_ok_and(concerns);
    let notice = Notice::helpless(&redact::text(&sanitize(&summoned::words(failure))));
    let notices = Some(notice).filter(|_| is_missed).into_iter().collect();
    (Reply::Allow { notices }, vec![format!("the session may stop: {failure}")])
}

fn tell(host: &dyn Protocol, reply: &Reply, notes: &[String]) -> u8 {
    if !notes.is_empty() {
        note(host, notes);
    }
    let said = host.say(reply);
    // It is the session's own prompt that goes back to it: nothing is hidden from it here.
    let _ = out::Watched.write_all(said.stdout.as_bytes()).and_then(|()| out::Watched.flush());
    said.exit_code
}

/// Keeps what somebody should know. Where there is no place for it, it is only printed.
fn note(host: &dyn Protocol, notes: &[String]) {
    let Ok(folder) = place(|name| std::env::var_os(name)) else { return };
    let journal = Journal::of_hooks(&folder);
    for words in notes {
        let _ = journal.note(&format!("{}: {words}", host.name()));
    }
}

type Answered = (Reply, Vec<String>);

fn respond(args: &HookArgs, host: &'static dyn Protocol, began: Instant) -> Result<Answered, Failure> {
    let allow = |notes| Ok((Reply::Allow { notices: Vec::new() }, notes));
    let mut payload = payload()?;
    payload.hook_event_name = args.event.clone().or(payload.hook_event_name);
    let Some(session) = payload.session().map(str::to_owned) else {
        out::note("ralph: the event names no session, so nothing was done");
        return allow(vec!["an event named no session, so nothing was done".to_owned()]);
    };
    let folder = payload.cwd.clone();
    let incoming = host.hear(payload);
    if let Incoming::Prompt { text } = &incoming {
        return match summons(text) {
            None => allow(Vec::new()),
            Some(asked) => {
                Ok((summoned::answer(asked, (host.name(), &session), folder.as_deref()), Vec::new()))
            }
        };
    }
    let book = Book::at(
        place(|name| std::env::var_os(name)).map_err(|error| Failure::new(exit_code::STATE, &error))?,
    );
    let variable = |name: &str| std::env::var_os(name);
    let time = Duration::from_secs(args.seconds.min(LONGEST));
    let call = Call { book: &book, host, session: &session, began, time, variable: &variable };
    let response = call.respond(incoming).map_err(|error| match error {
        HookError::Book(error) => error.into(),
        HookError::Process(_) | HookError::Runtime(_) => Failure::new(exit_code::INTERNAL, &error),
    })?;
    response.notes.iter().for_each(|words| out::note(&format!("ralph: {words}")));
    Ok((response.reply, response.notes))
}

/// Reads the event. Buffered reading would hide from the kernel what is still to come.
fn payload() -> Result<Payload, Failure> {
    let unheard = |error: &dyn std::fmt::Display| Failure::preflight("the event cannot be read").cause(error);
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(|error| unheard(&error))?;
    match hear(File::from(input), HEARING).map_err(|error| unheard(&error))? {
        Heard::TooLong => Err(unheard(&"it is too long")),
        Heard::Bytes(bytes) => Payload::parse(&bytes).map_err(|error| unheard(&error)),
    }
}
