//! The scripted agent of the tests: `fake-agent MODE [ARG]`, with the prompt on stdin. Each mode does one thing, some of
//! them deliberately wrong. It starts in about a millisecond. Users never build it.
//!
//! Environment:
//!   FA_COUNT=FILE    gets one line per start: pid, mode, argument, prompt hash, prompt length
//!   FA_PROMISE=TEXT  the promise (default: `COMPLETE`)
//!   FA_RALPH=PATH    ralph, for the tools that a script calls
//!   FA_ANSWERS=FILE  gets the results of these calls, one a line
//!   FA_READY=FILE    is created when a mode that keeps running has reached its state
//!
//! Talking (plain text, `text_modes.rs`):
//!   complete            prints that all is done, with the promise
//!   work                prints that more remains
//!   complete-on N       promises from the N-th start on
//!   exit CODE           prints a word and exits with the code
//!   promise-exit [CODE] promises, and exits with the code (1)
//!   echo                repeats the prompt and does not promise
//!   env, fds, tty-check prints its environment, its open files, its terminal and process group
//!   close-stdin         closes stdin unread, then promises
//!   no-read [SECONDS]   never reads stdin, promises after a while (1)
//!   stderr-mix [N]      lines on both streams, the promise only on stderr
//! Odd bytes (`output_modes.rs`):
//!   flood [MB]          many short lines, then the promise (1024)
//!   long-line [MB]      one line, then the promise on the next (100)
//!   stderr-flood [MB]   stderr without newline, then the promise (64)
//!   bad-utf8, nul       bytes that are not text, then the promise
//!   utf8-split, tag-split  prints characters and tag byte by byte
//!   no-final-newline    the promise without a newline
//!   half-json           dies by SIGKILL in the middle of a record
//! Keeps running, or dies (`lifetime_modes.rs`):
//!   hang [SECONDS]      prints something, then sleeps (3600)
//!   silent-hang [SECONDS]  sleeps without output
//!   ignore-term [SECONDS]  ignores SIGTERM, SIGINT and SIGHUP, prints `ready`, sleeps
//!   slow-term [SECONDS] needs that long to clean up after SIGTERM (2), then exits 0
//!   signal-self [NAME]  dies by that signal (SIGSEGV)
//!   wait-file PATH      waits until the file exists, then promises
//!   ready-file PATH     creates the file, then sleeps
//!   chdir-rm            removes its own working directory
//!   touch-state DIR     overwrites every file in the folder, then promises
//! Children (`child_process_modes.rs`):
//!   grandchild [SECONDS]        promises and exits; a child in a new session keeps stdout open (60)
//!   grandchild-writes [SECONDS] such a child promises later; the agent itself does not (1)
//!   daemon [PIDFILE]            leaves a daemon in a new session running, and writes its pid to the file
//!   forkbomb-lite [N]           starts N sleeping children and sleeps (200)
//! Secrets (`secret_modes.rs`):
//!   leak-secret [KEY]   prints a key (default: CANARY_TOKEN) in every form on both streams, then the promise
//!   claude-leak-secret [KEY]  the same in Claude's format
//! Memory (`memory_modes.rs`):
//!   eat-memory [MB]     allocates memory (100), one half itself and one in a child, and sleeps
//! Claude's format (`claude.rs`); `--resume ID` works anywhere on the command line:
//!   claude-complete, claude-work, claude-complete-on N   as above
//!   claude-cost [USD]           works and reports a cost (1.0)
//!   claude-long-json [MB]       a tool result in one line, then the answer (100)
//!   claude-rate-limit [TEXT]    a limit in the message only, exit 1
//!   claude-rate-limit-at TIME   a limit with its reset time (seconds since 1970), exit 1
//!   claude-api-error KIND       rate_limit, auth, overloaded, server, network, model, context, credit or
//!                               request; exit 1
//!   after-result [SECONDS]      prints its final record, then sleeps (3600)
//!   after-result-talk [PATH]    prints a result, waits for the file if there is one, and prints a second result
//!   claude-retries [KIND]       retries a request forever because of rate_limit, network or overloaded; with the
//!                               suffix `+` it uses a tool in between (`claude_session.rs`)
//! Recordings of real agents (`replay.rs`):
//!   replay PATH CODE    prints PATH.stdout and PATH.stderr, then exits with the code; a negative code is a signal
//! Several starts (`script.rs`, `acp.rs`):
//!   script FILE         one step per start; see there
//!   acp FILE            the same in the Agent Client Protocol; see there
mod acp;
mod agent_start;
mod child_process_modes;
mod claude;
mod claude_session;
mod lifetime_modes;
mod mcp_client;
mod memory_modes;
mod output_modes;
mod replay;
mod script;
mod secret_modes;
mod text_modes;

use std::io;
use std::process::ExitCode;

use agent_start::AgentStart;

/// Runs a mode and returns the exit code.
type Mode = fn(&AgentStart) -> io::Result<u8>;

const MODES: &[&[(&str, Mode)]] = &[
    text_modes::MODES,
    output_modes::MODES,
    lifetime_modes::MODES,
    child_process_modes::MODES,
    secret_modes::MODES,
    memory_modes::MODES,
    replay::MODES,
    claude::MODES,
    claude_session::MODES,
    script::MODES,
    acp::MODES,
];

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            agent_start::print_error(&format!("fake-agent: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<u8> {
    let start = AgentStart::read()?;
    match MODES.iter().flat_map(|group| group.iter()).find(|(name, _)| *name == start.mode) {
        Some((_, mode)) => mode(&start),
        None => {
            agent_start::print_error(&format!("unknown mode {}\n", start.mode));
            Ok(64)
        }
    }
}
