//! The scripted agent of the tests: `fake-agent MODE [ARG]`, the prompt on stdin. It does one thing, on purpose
//! well or badly, and starts in about a millisecond. Users never build it.
//!
//! Environment:
//!   FA_COUNT=FILE    gets one line per start: pid, mode, argument, prompt hash, prompt length
//!   FA_PROMISE=TEXT  the promise, `COMPLETE` unless set
//!   FA_READY=FILE    is created as soon as a mode that stays has reached the state it is named after
//!
//! Talking (plain text, `talk.rs`):
//!   complete            says that all is done, with the promise
//!   work                says that more remains
//!   complete-on N       promises from the N-th start on
//!   exit CODE           says little and exits with the code
//!   promise-exit [CODE] promises, and exits with the code (1)
//!   echo                repeats the prompt and does not promise
//!   env, fds, tty-check shows its environment, its open files, its terminal and process group
//!   close-stdin         closes stdin unread, then promises
//!   no-read [SECONDS]   never reads stdin, promises after a while (1)
//!   stderr-mix [N]      lines on both streams, the promise only on stderr
//! Odd bytes (`bytes.rs`):
//!   flood [MB]          many short lines, then the promise (1024)
//!   long-line [MB]      one line, then the promise on the next (100)
//!   stderr-flood [MB]   stderr without newline, then the promise (64)
//!   bad-utf8, nul       bytes that are no text, then the promise
//!   utf8-split, tag-split  characters and tag in pieces
//!   no-final-newline    the promise and nothing behind it
//!   half-json           dies by SIGKILL in the middle of a record
//! Living and dying (`life.rs`):
//!   hang [SECONDS]      says something, then stays (3600)
//!   silent-hang [SECONDS]  stays without a word
//!   ignore-term [SECONDS]  ignores SIGTERM, SIGINT and SIGHUP, says `ready`, stays
//!   slow-term [SECONDS] needs that long to clean up after SIGTERM (2), then exits 0
//!   signal-self [NAME]  dies by that signal (SIGSEGV)
//!   wait-file PATH      stays until the file exists, then promises
//!   ready-file PATH     creates the file, then stays
//!   chdir-rm            removes its own working directory
//!   touch-state DIR     overwrites every file in the folder, then promises
//! Families (`family.rs`):
//!   grandchild [SECONDS]        promises and exits; a child in its own session holds stdout (60)
//!   grandchild-writes [SECONDS] such a child promises later; the agent itself does not (1)
//!   daemon [PIDFILE]            leaves a daemon of its own session behind, its pid in the file
//!   forkbomb-lite [N]           starts N sleeping children and stays (200)
//! Secrets (`leak.rs`):
//!   leak-secret [KEY]   prints a key, CANARY_TOKEN unless given, in every way on both streams, then the promise
//!   claude-leak-secret [KEY]  the same in Claude's format
//! Memory (`memory.rs`):
//!   eat-memory [MB]     fills so much memory (100), one half in itself and one in a child, and stays
//! Claude's format (`claude.rs`), with `--resume ID` anywhere on the command line honoured:
//!   claude-complete, claude-work, claude-complete-on N   as above
//!   claude-cost [USD]           works and reports a cost (1.0)
//!   claude-long-json [MB]       a tool result in one line, then the answer (100)
//!   claude-rate-limit [WORDS]   a limit told only in words, exit 1
//!   claude-rate-limit-at TIME   a limit with its reset time (seconds since 1970), exit 1
//!   claude-api-error KIND       rate_limit, auth, overloaded, server, network, model, context, credit or
//!                               request; exit 1
//!   after-result [SECONDS]      prints its final record, then stays (3600)
//!   after-result-talk [PATH]    prints a result, waits for the file if one is named, goes on to a second result
//!   claude-retries [KIND]       repeats a request for ever over rate_limit, network or overloaded; with a `+`
//!                               behind it, it uses a tool in between (`session.rs`)
//! What real agents did (`replay.rs`):
//!   replay PATH CODE    prints PATH.stdout and PATH.stderr, then exits so; a negative code is a signal
//! Several starts (`script.rs`, `acp.rs`):
//!   script FILE         one step per start; see there
//!   acp FILE            the same in the Agent Client Protocol; see there
mod acp;
mod bytes;
mod claude;
mod family;
mod leak;
mod life;
mod memory;
mod replay;
mod script;
mod session;
mod start;
mod talk;

use std::io;
use std::process::ExitCode;

use start::Start;

/// What a mode does. It returns the exit code.
type Mode = fn(&Start) -> io::Result<u8>;

const MODES: &[&[(&str, Mode)]] = &[
    talk::MODES,
    bytes::MODES,
    life::MODES,
    family::MODES,
    leak::MODES,
    memory::MODES,
    replay::MODES,
    claude::MODES,
    session::MODES,
    script::MODES,
    acp::MODES,
];

fn main() -> ExitCode {
    match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            start::complain(&format!("fake-agent: {error}\n"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<u8> {
    let start = Start::read()?;
    match MODES.iter().flat_map(|group| group.iter()).find(|(name, _)| *name == start.mode) {
        Some((_, mode)) => mode(&start),
        None => {
            start::complain(&format!("unknown mode {}\n", start.mode));
            Ok(64)
        }
    }
}
