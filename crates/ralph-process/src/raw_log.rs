//! The raw output of a job in a file: byte for byte, but for secrets and within the limit of the run. The file is
//! made when the first byte comes; a disk that is full or gone stops the log, not the run. Much output is written by a
//! thread of its own, so that reading and writing go on at the same time.
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use ralph_core::redact::Redactor;

use super::limited_file::LimitedFile;
use super::log_budget::LogBudget;
use ralph_util::redact;
use ralph_util::session_file::SessionFile;

/// From so many bytes on a thread is worth its while.
const MUCH: usize = 1024 * 1024;
/// How many pieces may wait to be written.
const WAITING: usize = 8;

pub struct RawLog {
    path: PathBuf,
    budget: LogBudget,
    session: Option<SessionFile>,
    written: usize,
    state: State,
}

enum State {
    Empty,
    Open(Box<Sink>),
    Threaded(Writer),
    Done,
    Failed(io::Error),
}

impl RawLog {
    #[must_use]
    pub fn new(path: PathBuf, budget: &LogBudget) -> Self {
        Self { path, budget: budget.clone(), session: None, written: 0, state: State::Empty }
    }

    /// Lets everything go to the session log, too. If that fails, it tells it itself.
    #[must_use]
    pub fn also_to(self, session: Option<SessionFile>) -> Self {
        Self { session, ..self }
    }

    /// Writes a piece. What is left in `piece` afterwards is no longer its content.
    pub fn write(&mut self, piece: &mut Vec<u8>) {
        self.written = self.written.saturating_add(piece.len());
        self.state = match std::mem::replace(&mut self.state, State::Done) {
            State::Empty => here(Box::new(Sink::new(&self.path, &self.budget, self.session.clone())), piece),
            State::Open(sink) if self.written > MUCH => threaded(sink, piece),
            State::Open(sink) => here(sink, piece),
            State::Threaded(writer) => writer.pass_on(piece),
            State::Done => State::Done,
            State::Failed(error) => State::Failed(error),
        };
    }

    /// Waits until everything is written, and returns why the log is not whole, if it is not.
    pub fn finish(&mut self) -> Option<String> {
        let failure = match std::mem::replace(&mut self.state, State::Done) {
            State::Empty | State::Done => None,
            State::Open(mut sink) => sink.finish(),
            State::Threaded(writer) => writer.join(),
            State::Failed(error) => Some(error),
        };
        failure.map(|error| format!("the log {} is not complete: {error}", self.path.display()))
    }
}

/// The way of the bytes: secrets out, then the session log and the file within its limit.
struct Sink {
    redactor: Redactor,
    clean: Clean,
}

/// Where clean bytes go.
struct Clean {
    file: Result<LimitedFile, Option<io::Error>>,
    session: Option<SessionFile>,
}

impl Sink {
    fn new(path: &Path, budget: &LogBudget, session: Option<SessionFile>) -> Self {
        let file = LimitedFile::create(path, budget).map_err(Some);
        Self { redactor: redact::stream(), clean: Clean { file, session } }
    }

    fn write(&mut self, piece: &[u8]) {
        let Self { redactor, clean } = self;
        if clean.file.is_ok() || clean.session.is_some() {
            redactor.push(piece, &mut |part| clean.write(part));
        }
    }

    /// Writes what waited for more, and returns why the file is not whole. The second time there is nothing to do.
    fn finish(&mut self) -> Option<io::Error> {
        let Self { redactor, clean } = self;
        redactor.finish(&mut |part| clean.write(part));
        match &mut clean.file {
            Ok(file) => file.finish().err(),
            Err(error) => error.take(),
        }
    }
}

impl Clean {
    fn write(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if let Some(session) = &self.session {
            session.write(part);
        }
        let written = self.file.as_mut().map(|file| file.write(part));
        if let Ok(Err(error)) = written {
            self.file = Err(Some(error));
        }
    }
}

impl Drop for Sink {
    /// An attempt that is cut short has a log all the same.
    fn drop(&mut self) {
        self.finish();
    }
}

fn here(mut sink: Box<Sink>, piece: &[u8]) -> State {
    sink.write(piece);
    State::Open(sink)
}

fn threaded(sink: Box<Sink>, piece: &mut Vec<u8>) -> State {
    Writer::start(sink).map_or_else(State::Failed, |writer| writer.pass_on(piece))
}

/// The thread that writes. Buffers go round: full ones there, empty ones back.
struct Writer {
    full: SyncSender<Vec<u8>>,
    empty: Receiver<Vec<u8>>,
    thread: JoinHandle<Option<io::Error>>,
}

impl Writer {
    fn start(mut sink: Box<Sink>) -> io::Result<Self> {
        let (full, pieces) = sync_channel::<Vec<u8>>(WAITING);
        let (used, empty) = channel();
        let write = move || {
            for piece in pieces {
                sink.write(&piece);
                // Nobody takes buffers back any more: the log is being finished.
                let _ = used.send(piece);
            }
            sink.finish()
        };
        let thread = std::thread::Builder::new().name("raw-log".to_owned()).spawn(write)?;
        Ok(Self { full, empty, thread })
    }

    fn pass_on(self, piece: &mut Vec<u8>) -> State {
        let full = std::mem::replace(piece, self.empty.try_recv().unwrap_or_default());
        match self.full.send(full) {
            Ok(()) => State::Threaded(self),
            // The thread ended: it tells why.
            Err(_) => self.join().map_or(State::Done, State::Failed),
        }
    }

    fn join(self) -> Option<io::Error> {
        drop(self.full);
        self.thread.join().unwrap_or_else(|_| Some(io::Error::other("the writing thread ended")))
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
        let mut log = RawLog::new(path.clone(), &LogBudget::new(u64::MAX, temp.path()));
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
        let (path, budget) = (Path::new("/dev/full"), LogBudget::new(u64::MAX, Path::new("")));
        let full = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        let file = Ok(LimitedFile::on(full, path, &budget));
        let sink = Sink { redactor: redact::stream(), clean: Clean { file, session: None } };
        let mut log = RawLog::new(path.into(), &budget);
        log.state = State::Open(Box::new(sink));
        for _ in 0..20 {
            log.write(&mut vec![b'x'; 300_000]);
        }
        let failure = log.finish().unwrap();
        assert!(failure.contains("/dev/full is not complete: No space left"), "{failure}");
        assert_eq!(log.finish(), None);
    }

    fn secret() -> String {
        format!("ghp_{}", "a1B2c3".repeat(6))
    }

    // fault: 84
    // spec: X3, A4
    #[test]
    fn secrets_are_hidden_in_every_log_also_across_pieces_and_in_the_thread() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let session = SessionFile::new(temp.path(), u64::MAX, &temp.path().join("list"));
        session.open(|_| "session".to_owned());
        let budget = LogBudget::new(u64::MAX, temp.path());
        let mut log = RawLog::new(path.clone(), &budget).also_to(Some(session.clone()));
        let line = format!("{} {}\n", secret(), "x".repeat(9_000)).repeat(300);
        for piece in line.as_bytes().chunks(10_007) {
            log.write(&mut piece.to_vec());
        }
        assert_eq!(log.finish(), None);
        let clean = line.replace(&secret(), "[redacted]");
        assert!(std::fs::read_to_string(path).unwrap() == clean);
        assert!(std::fs::read_to_string(session.path().unwrap()).unwrap() == clean);
    }

    // spec: A4
    #[test]
    fn a_log_that_is_dropped_has_everything_that_was_written() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let mut log = RawLog::new(path.clone(), &LogBudget::new(u64::MAX, temp.path()));
        log.write(&mut b"half a token: sk-ant-".to_vec());
        drop(log);
        assert_eq!(std::fs::read_to_string(path).unwrap(), "half a token: sk-ant-");
    }
}
