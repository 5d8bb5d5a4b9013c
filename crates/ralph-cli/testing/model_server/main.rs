//! The scripted model server of the tests: `model-server SCRIPT LOG`. Real agents talk to it instead of to their
//! vendor. It listens on loopback only, answers from a script (`script.rs`), and records every request (`request_log.rs`).
//! Users never build it.
//!
//! It prints one line, `{"port": N, "isolated": BOOL}`, and runs until its stdin ends, so that it never outlives a test. If
//! permitted, it first creates a network namespace with only a loopback interface (`network_namespace.rs`): a process in
//! that namespace can reach this server and nothing else.
mod dialect;
mod http;
mod judge;
mod network_namespace;
mod reply;
mod request_log;
mod script;
mod scripted_model;
mod tools;
mod unscripted_requests;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use scripted_model::ScriptedModel;

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
        return Err(io::Error::other("usage: model-server SCRIPT LOG"));
    };
    let model =
        ScriptedModel::new(script::read_script(Path::new(script))?, request_log::RequestLog::create(Path::new(log))?);
    // Before the first thread is started, because a network namespace belongs to a thread.
    let is_isolated = network_namespace::enter_isolated_network();
    let port = listen(model)?;
    writeln!(io::stdout(), "{}", serde_json::json!({"port": port, "isolated": is_isolated}))?;
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map(drop)
}

/// Starts to answer connections, each in a separate thread, and returns the port.
fn listen(model: ScriptedModel) -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let model = Arc::new(model);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let model = Arc::clone(&model);
            // A client may disconnect; the log has its request.
            std::thread::spawn(move || drop(model.handle_connection(&stream)));
        }
    });
    Ok(port)
}
