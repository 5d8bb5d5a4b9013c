//! Modes that allocate memory. As in `child_process_modes.rs`, a child is this program in an internal mode.
use std::hint::black_box;
use std::io::{self, Read};
use std::process::Stdio;
use std::time::Duration;

use crate::Mode;
use crate::agent_start::{AgentStart, print_output, report_ready};
use crate::child_process_modes::own_command;

pub(crate) const MODES: &[(&str, Mode)] = &[("eat-memory", eat_memory), ("eat-half", eat_half)];

const MEGABYTE: usize = 1 << 20;

fn eat_memory(start: &AgentStart) -> io::Result<u8> {
    let half = start.number_or(100_usize)? / 2;
    let mut child = own_command(&["eat-half", &half.to_string()])?.stdout(Stdio::piped()).spawn()?;
    let memory = allocate(half);
    // The child prints one byte when it has allocated its half.
    child.stdout.take().map_or(Ok(()), |mut stdout| stdout.read_exact(&mut [0]))?;
    report_ready()?;
    sleep_with(&memory)
}

fn eat_half(start: &AgentStart) -> io::Result<u8> {
    let memory = allocate(start.number_or(50)?);
    print_output("x")?;
    sleep_with(&memory)
}

/// Allocates memory and writes to every page, so that it is resident.
fn allocate(megabytes: usize) -> Vec<u8> {
    black_box(vec![1; megabytes * MEGABYTE])
}

fn sleep_with(memory: &[u8]) -> io::Result<u8> {
    std::thread::sleep(Duration::from_secs(3600));
    black_box(memory);
    Ok(0)
}
