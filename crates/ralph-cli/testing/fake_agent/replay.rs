//! Replays the recorded output and exit of a real agent.
use std::io;
use std::path::Path;

use rustix::process::Signal;

use crate::Mode;
use crate::agent_start::{AgentStart, print_error, print_output, usage_error};
use crate::lifetime_modes::die_by_signal;

pub(crate) const MODES: &[(&str, Mode)] = &[("replay", replay)];

fn replay(start: &AgentStart) -> io::Result<u8> {
    let recording = Path::new(start.arg_or(""));
    let read_part = |extension: &str| std::fs::read(recording.with_extension(extension));
    print_output(read_part("stdout")?)?;
    print_error(&String::from_utf8_lossy(&read_part("stderr").unwrap_or_default()));
    let code = start.args.get(1).and_then(|code| code.parse::<i32>().ok());
    match code.ok_or_else(|| usage_error("replay needs a recording and an exit code"))? {
        signal @ ..0 => match Signal::from_named_raw(-signal) {
            Some(signal) => die_by_signal(signal),
            None => Err(usage_error("there is no such signal")),
        },
        code => u8::try_from(code).map_err(|_| usage_error("there is no such exit code")),
    }
}
