//! Modes with unusual output: too much, too long, in small chunks, or not text.
use std::io::{self, Write};
use std::time::Duration;

use rustix::process::Signal;

use crate::Mode;
use crate::agent_start::{AgentStart, print_output};
use crate::lifetime_modes::die_by_signal;

pub(crate) const MODES: &[(&str, Mode)] = &[
    ("flood", flood),
    ("long-line", long_line),
    ("stderr-flood", stderr_flood),
    ("bad-utf8", bad_utf8),
    ("nul", nul),
    ("utf8-split", utf8_split),
    ("tag-split", tag_split),
    ("no-final-newline", no_final_newline),
    ("half-json", half_json),
];

const MEGABYTE: usize = 1 << 20;

fn flood(start: &AgentStart) -> io::Result<u8> {
    let line = [vec![b'x'; 1023], b"\n".to_vec()].concat();
    let megabyte = line.repeat(1024);
    for _ in 0..start.number_or(1024_usize)? {
        io::stdout().write_all(&megabyte)?;
    }
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

fn long_line(start: &AgentStart) -> io::Result<u8> {
    let megabyte = vec![b'y'; MEGABYTE];
    for _ in 0..start.number_or(100_usize)? {
        print_output(&megabyte)?;
    }
    print_output(format!("\n{}\n", start.tag))?;
    Ok(0)
}

fn stderr_flood(start: &AgentStart) -> io::Result<u8> {
    let megabyte = vec![b'e'; MEGABYTE];
    for _ in 0..start.number_or(64_usize)? {
        io::stderr().write_all(&megabyte)?;
    }
    print_output(format!("{}\n", start.tag))?;
    Ok(0)
}

fn bad_utf8(start: &AgentStart) -> io::Result<u8> {
    print_output([b"ok \xff\xfe\xc3\x28 \xed\xa0\x80 bytes\n", start.tag.as_bytes(), b"\n"].concat())?;
    Ok(0)
}

fn nul(start: &AgentStart) -> io::Result<u8> {
    print_output([b"a\x00b\x00c\n\x00\x00\n", start.tag.as_bytes(), b"\n"].concat())?;
    Ok(0)
}

fn utf8_split(start: &AgentStart) -> io::Result<u8> {
    print_slowly(format!("привет – 完了 🎉\n{}\n", start.tag).as_bytes())
}

fn tag_split(start: &AgentStart) -> io::Result<u8> {
    print_slowly(format!("{}\n", start.tag).as_bytes())
}

/// Prints byte by byte. The pause lets the reader read each byte separately; the agent cannot observe whether it did.
fn print_slowly(bytes: &[u8]) -> io::Result<u8> {
    for byte in bytes {
        print_output([*byte])?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(0)
}

fn no_final_newline(start: &AgentStart) -> io::Result<u8> {
    print_output(&start.tag)?;
    Ok(0)
}

fn half_json(start: &AgentStart) -> io::Result<u8> {
    let first_part =
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"All pass.\n"#;
    print_output(format!("{first_part}{}", start.tag))?;
    die_by_signal(Signal::KILL)
}
