//! The raw output of a job in a file, byte for byte. The file is made when the first byte comes; a disk that
//! is full or gone stops the log, not the run. Much output is written by a thread of its own, so that reading
//! and writing go on at the same time.
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use crate::private;

/// From so many bytes on a thread is worth its while.
const MUCH: usize = 1024 * 1024;
/// How many pieces may wait to be written.
const WAITING: usize = 8;

pub struct RawLog {
    path: PathBuf,
    written: usize,
    state: State,
}

enum State {
    Empty,
    Open(File),
    Threaded(Writer),
    Failed(io::Error),
}

impl RawLog {
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, written: 0, state: State::Empty }
    }

    /// Writes a piece. What is left in `piece` afterwards is no longer its content.
    pub fn write(&mut self, piece: &mut Vec<u8>) {
        self.written = self.written.saturating_add(piece.len());
        self.state = match std::mem::replace(&mut self.state, State::Empty) {
            State::Empty => private::file(&self.path).map_or_else(State::Failed, |file| here(file, piece)),
            State::Open(file) if self.written > MUCH => threaded(file, piece),
            State::Open(file) => here(file, piece),
            State::Threaded(writer) => writer.pass_on(piece),
            State::Failed(error) => State::Failed(error),
        };
    }

    /// Waits until everything is written, and returns why the log is not whole, if it is not.
    pub fn finish(&mut self) -> Option<String> {
        self.state = match std::mem::replace(&mut self.state, State::Empty) {
            State::Threaded(writer) => writer.join().map_or_else(State::Failed, |()| State::Empty),
            State::Empty => State::Empty,
            State::Open(file) => State::Open(file),
            State::Failed(error) => State::Failed(error),
        };
        match &self.state {
            State::Empty | State::Open(_) | State::Threaded(_) => None,
            State::Failed(error) => Some(format!("the log {} is not complete: {error}", self.path.display())),
        }
    }
}

fn here(mut file: File, piece: &[u8]) -> State {
    file.write_all(piece).map_or_else(State::Failed, |()| State::Open(file))
}

fn threaded(file: File, piece: &mut Vec<u8>) -> State {
    Writer::start(file).map_or_else(State::Failed, |writer| writer.pass_on(piece))
}

/// The thread that writes. Buffers go round: full ones there, empty ones back.
struct Writer {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl Writer {
    fn start(mut file: File) -> io::Result<Self> {
        let (full, pieces) = sync_channel::<Vec<u8>>(WAITING);
        let (used, empty) = channel();
        let write = move || {
            for piece in pieces {
                file.write_all(&piece)?;
                // Nobody takes buffers back any more: the log is being finished.
                let _ = used.send(piece);
            }
            Ok(())
        };
        let thread = std::thread::Builder::new().name("raw-log".to_owned()).spawn(write)?;
        Ok(Self { full, empty, thread })
    }

    fn pass_on(self, piece: &mut Vec<u8>) -> State {
        let full = std::mem::replace(piece, self.empty.try_recv().unwrap_or_default());
        match self.full.send(full) {
            Ok(()) => State::Threaded(self),
            // The thread ended: it tells why.
            Err(_) => self.join().map_or_else(State::Failed, |()| State::Empty),
        }
    }

    fn join(self) -> io::Result<()> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writing thread ended")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A4
    #[test]
    fn much_output_is_logged_byte_for_byte() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let mut log = RawLog::new(path.clone());
        let mut expected = Vec::new();
        for number in 0..200_u32 {
            let mut piece = number.to_string().repeat(7_000).into_bytes();
            expected.extend_from_slice(&piece);
            log.write(&mut piece);
        }
        assert_eq!(log.finish(), None);
        assert!(std::fs::read(path).unwrap() == expected);
    }

    // fault: 56
    #[test]
    fn a_full_disk_stops_the_log_and_is_told_once_at_the_end() {
        let mut log = RawLog::new("/dev/full".into());
        for _ in 0..20 {
            log.write(&mut vec![b'x'; 300_000]);
        }
        let failure = log.finish().unwrap();
        assert!(failure.contains("/dev/full is not complete: No space left"), "{failure}");
    }
}
