//! The scripted model server of the tests: `model-server SCRIPT LOG`. Real agents talk to it instead of to their
//! vendor. It listens on loopback only, answers from a script (`script.rs`), and records every request (`log.rs`).
//! Users never build it.
//!
//! It prints one line, `{"port": N, "alone": BOOL}`, and lives until its standard input ends, so that it never
//! outlives a test. Where it may, it makes a network of its own first, with nothing in it but loopback (`alone.rs`):
//! whoever joins that network can reach this server and nothing else in the world.
mod alone;
mod answer;
mod chat;
mod dialect;
mod gemini;
mod http;
mod judge;
mod log;
mod messages;
mod reply;
mod responses;
mod script;
mod side;
mod tools;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use answer::Desk;

fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            drop(writeln!(io::stderr(), "model-server: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn serve() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [script, log] = args.as_slice() else {
        return Err(io::Error::other("give a script and a log, and nothing else"));
    };
    let desk = Desk::new(script::read(Path::new(script))?, log::Log::create(Path::new(log))?);
    // Before the first thread: a network belongs to a thread.
    let alone = alone::in_a_network_of_our_own();
    let port = listen(desk)?;
    writeln!(io::stdout(), "{}", serde_json::json!({"port": port, "alone": alone}))?;
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}

/// Answers from now on, each connection in a thread of its own, and returns the port.
fn listen(desk: Desk) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let desk = Arc::new(desk);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let desk = Arc::clone(&desk);
            // A client that went away is no reason to fail; the log has told what it asked.
            std::thread::spawn(move || drop(desk.attend(&stream)));
        }
    });
    Ok(port)
}
