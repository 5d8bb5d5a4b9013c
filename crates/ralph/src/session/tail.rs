//! The agent's last message in a transcript: only the end of the file is read, however long it is. A line that is still
//! being written is no line yet, and a turn whose last words are not there yet is waited for, for a while.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::book::pause;
use super::host::{Line, Protocol};

/// How much is read first, and at most.
const FIRST: u64 = 128 * 1024;
const MOST: u64 = 32 * 1024 * 1024;

const BETWEEN: Duration = Duration::from_millis(25);

/// What the end of a transcript says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastWords {
    /// The agent's last message of the turn.
    Said(String),
    /// The agent worked, or was asked, and has said nothing since.
    Silent,
    /// There is nothing of a conversation.
    Nothing,
}

/// Returns the agent's last words, and waits for them at most this long where the turn seems not to be written yet.
pub fn last_words(path: &Path, host: &dyn Protocol, patience: Duration) -> io::Result<LastWords> {
    let until = Instant::now() + patience;
    loop {
        let seen = look(path, host);
        let is_settled = matches!(&seen, Ok((LastWords::Said(_), End::Words)));
        if is_settled || Instant::now() >= until {
            return seen.map(|(words, _)| words);
        }
        pause(BETWEEN);
    }
}

/// What stands at the very end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Words,
    /// A turn does not end so: more is to come, or was never written.
    Else,
}

fn look(path: &Path, host: &dyn Protocol) -> io::Result<(LastWords, End)> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut window = FIRST;
    loop {
        let start = length.saturating_sub(window);
        let found = in_lines(&read(&file, start, length)?, start > 0, host);
        match found {
            Some(found) => return Ok(found),
            None if start == 0 || window >= MOST => return Ok((LastWords::Nothing, End::Else)),
            None => window = (window * 4).min(MOST),
        }
    }
}

pub(super) fn read(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, start + filled as u64)? {
            // It was cut meanwhile.
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads lines from the last to the first, as far as the turn goes. Nothing where its beginning is not in them.
fn in_lines(bytes: &[u8], is_cut: bool, host: &dyn Protocol) -> Option<(LastWords, End)> {
    // What stands behind the last end of a line is still being written, unless it is whole.
    let mut said: Option<(String, String)> = None;
    let mut end = None;
    let mut lines =
        bytes.rsplit(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let is_first = lines.peek().is_none();
        if is_first && is_cut {
            break;
        }
        match host.line(line) {
            Line::Aside => {}
            Line::Own { message, text } => {
                end.get_or_insert(End::Words);
                match &mut said {
                    None => said = Some((message, text)),
                    Some((of, whole)) if *of == message && !message.is_empty() => whole.insert_str(0, &text),
                    Some(_) => return told(said, end),
                }
            }
            Line::Work => {
                end.get_or_insert(End::Else);
                if said.is_some() {
                    return told(said, end);
                }
            }
            Line::Prompted => {
                end.get_or_insert(End::Else);
                return told(said, end);
            }
        }
    }
    match (said, end) {
        // The beginning of a message may be cut off; its end is what counts.
        (Some(said), end) => told(Some(said), end),
        (None, Some(end)) if !is_cut => told(None, Some(end)),
        (None, _) => None,
    }
}

fn told(said: Option<(String, String)>, end: Option<End>) -> Option<(LastWords, End)> {
    let words = said.map_or(LastWords::Silent, |(_, text)| LastWords::Said(text));
    Some((words, end.unwrap_or(End::Else)))
}
