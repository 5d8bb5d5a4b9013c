//! Modes that need memory. As in `family.rs`, a child is this program in a role that nobody calls by hand.
use std::hint::black_box;
use std::io::{self, Read};
use std::process::Stdio;
use std::time::Duration;

use crate::Mode;
use crate::family::again;
use crate::start::{Start, ready, say};

pub(crate) const MODES: &[(&str, Mode)] = &[("eat-memory", eat_memory), ("eat-half", eat_half)];

const MEGABYTE: usize = 1 << 20;

fn eat_memory(start: &Start) -> io::Result<u8> {
    let half = start.number_or(100_usize)? / 2;
    let mut child = again(&["eat-half", &half.to_string()])?.stdout(Stdio::piped()).spawn()?;
    let eaten = eat(half);
    // The child says one byte when it is full.
    child.stdout.take().map_or(Ok(()), |mut full| full.read_exact(&mut [0]))?;
    ready()?;
    stay(&eaten)
}

fn eat_half(start: &Start) -> io::Result<u8> {
    let eaten = eat(start.number_or(50)?);
    say("x")?;
    stay(&eaten)
}

/// Touches every page, so that it is there.
fn eat(megabytes: usize) -> Vec<u8> {
    black_box(vec![1; megabytes * MEGABYTE])
}

fn stay(eaten: &[u8]) -> io::Result<u8> {
    std::thread::sleep(Duration::from_secs(3600));
    black_box(eaten);
    Ok(0)
}
