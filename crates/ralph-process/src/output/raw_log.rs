//! Writes the raw output of a job to a file, unchanged except for secrets and the run's size limit. The file is created
//! with the first byte. A write error stops the log, not the run. Large output is written by a separate thread, so that
//! reading and writing overlap.
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use ralph_core::redact::StreamRedactor;

use crate::output::limited_file::LimitedFile;
use crate::output::log_budget::LogBudget;
use ralph_util::redact;
use ralph_util::session_log_file::SessionLogFile;

/// Output beyond this size is written by a separate thread.
const THREAD_THRESHOLD_BYTES: usize = 1024 * 1024;
/// The number of pieces that may be queued for the thread.
const MAX_QUEUED_PIECES: usize = 8;

pub struct RawLog {
    path: PathBuf,
    budget: LogBudget,
    session_log: Option<SessionLogFile>,
    written_bytes: usize,
    state: RawLogState,
}

enum RawLogState {
    Empty,
    Open(Box<RedactingSink>),
    Threaded(LogWriterThread),
    Done,
    Failed(io::Error),
}

impl RawLog {
    #[must_use]
    pub fn new(path: PathBuf, budget: &LogBudget) -> Self {
        Self { path, budget: budget.clone(), session_log: None, written_bytes: 0, state: RawLogState::Empty }
    }

    /// Also writes everything to the session log, which reports its own failures.
    #[must_use]
    pub fn with_session_log(self, session_log: Option<SessionLogFile>) -> Self {
        Self { session_log, ..self }
    }

    /// Writes a piece. The content of `piece` is unspecified afterwards.
    pub fn write(&mut self, piece: &mut Vec<u8>) {
        self.written_bytes = self.written_bytes.saturating_add(piece.len());
        self.state = match std::mem::replace(&mut self.state, RawLogState::Done) {
            RawLogState::Empty => {
                write_inline(Box::new(RedactingSink::new(&self.path, &self.budget, self.session_log.clone())), piece)
            }
            RawLogState::Open(sink) if self.written_bytes > THREAD_THRESHOLD_BYTES => move_to_thread(sink, piece),
            RawLogState::Open(sink) => write_inline(sink, piece),
            RawLogState::Threaded(writer) => writer.send_piece(piece),
            RawLogState::Done => RawLogState::Done,
            RawLogState::Failed(error) => RawLogState::Failed(error),
        };
    }

    /// Waits until everything is written. Returns a message if the log is not complete.
    pub fn finish(&mut self) -> Option<String> {
        let failure = match std::mem::replace(&mut self.state, RawLogState::Done) {
            RawLogState::Empty | RawLogState::Done => None,
            RawLogState::Open(mut sink) => sink.finish(),
            RawLogState::Threaded(writer) => writer.join_thread(),
            RawLogState::Failed(error) => Some(error),
        };
        failure.map(|error| format!("the log {} is not complete: {error}", self.path.display()))
    }
}

/// Removes secrets and writes the result to the session log and the size-limited file.
struct RedactingSink {
    redactor: StreamRedactor,
    outputs: LogOutputs,
}

/// The destinations of redacted bytes.
struct LogOutputs {
    file: Result<LimitedFile, Option<io::Error>>,
    session_log: Option<SessionLogFile>,
}

impl RedactingSink {
    fn new(path: &Path, budget: &LogBudget, session_log: Option<SessionLogFile>) -> Self {
        let file = LimitedFile::create(path, budget).map_err(Some);
        Self { redactor: redact::new_redactor(), outputs: LogOutputs { file, session_log } }
    }

    fn write(&mut self, piece: &[u8]) {
        let Self { redactor, outputs } = self;
        if outputs.file.is_ok() || outputs.session_log.is_some() {
            redactor.push(piece, &mut |part| outputs.write(part));
        }
    }

    /// Writes the bytes that the redactor held back. Returns the error if the file is not complete. Later calls do
    /// nothing.
    fn finish(&mut self) -> Option<io::Error> {
        let Self { redactor, outputs } = self;
        redactor.finish(&mut |part| outputs.write(part));
        match &mut outputs.file {
            Ok(file) => file.finish().err(),
            Err(error) => error.take(),
        }
    }
}

impl LogOutputs {
    fn write(&mut self, part: &[u8]) {
        if part.is_empty() {
            return;
        }
        if let Some(session) = &self.session_log {
            session.write_output(part);
        }
        let written = self.file.as_mut().map(|file| file.write(part));
        if let Ok(Err(error)) = written {
            self.file = Err(Some(error));
        }
    }
}

impl Drop for RedactingSink {
    /// Completes the log of an attempt that is cancelled.
    fn drop(&mut self) {
        self.finish();
    }
}

fn write_inline(mut sink: Box<RedactingSink>, piece: &[u8]) -> RawLogState {
    sink.write(piece);
    RawLogState::Open(sink)
}

fn move_to_thread(sink: Box<RedactingSink>, piece: &mut Vec<u8>) -> RawLogState {
    LogWriterThread::start(sink).map_or_else(RawLogState::Failed, |writer| writer.send_piece(piece))
}

/// The thread that writes the log. It receives full buffers and returns empty ones for reuse.
struct LogWriterThread {
    full_buffers: SyncSender<Vec<u8>>,
    empty_buffers: Receiver<Vec<u8>>,
    thread: JoinHandle<Option<io::Error>>,
}

impl LogWriterThread {
    fn start(mut sink: Box<RedactingSink>) -> io::Result<Self> {
        let (full, pieces) = sync_channel::<Vec<u8>>(MAX_QUEUED_PIECES);
        let (used, empty) = channel();
        let write = move || {
            for piece in pieces {
                sink.write(&piece);
                // Fails while the log is being finished: the receiver is gone then.
                let _ = used.send(piece);
            }
            sink.finish()
        };
        let thread = std::thread::Builder::new().name("raw-log".to_owned()).spawn(write)?;
        Ok(Self { full_buffers: full, empty_buffers: empty, thread })
    }

    fn send_piece(self, piece: &mut Vec<u8>) -> RawLogState {
        let full = std::mem::replace(piece, self.empty_buffers.try_recv().unwrap_or_default());
        match self.full_buffers.send(full) {
            Ok(()) => RawLogState::Threaded(self),
            // The thread has ended; joining it returns the reason.
            Err(_) => self.join_thread().map_or(RawLogState::Done, RawLogState::Failed),
        }
    }

    fn join_thread(self) -> Option<io::Error> {
        drop(self.full_buffers);
        self.thread.join().unwrap_or_else(|_| Some(io::Error::other("the log writer thread panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A4
    #[test]
    fn large_output_is_logged_byte_for_byte() {
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
    fn a_full_disk_stops_the_log_and_is_reported_once_at_the_end() {
        let (path, budget) = (Path::new("/dev/full"), LogBudget::new(u64::MAX, Path::new("")));
        let full = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        let file = Ok(LimitedFile::with_open_file(full, path, &budget));
        let sink = RedactingSink { redactor: redact::new_redactor(), outputs: LogOutputs { file, session_log: None } };
        let mut log = RawLog::new(path.into(), &budget);
        log.state = RawLogState::Open(Box::new(sink));
        for _ in 0..20 {
            log.write(&mut vec![b'x'; 300_000]);
        }
        let failure = log.finish().unwrap();
        assert!(failure.contains("/dev/full is not complete: No space left"), "{failure}");
        assert_eq!(log.finish(), None);
    }

    fn sample_secret() -> String {
        format!("ghp_{}", "a1B2c3".repeat(6))
    }

    // fault: 84
    // spec: X3, A4
    #[test]
    fn secrets_are_hidden_in_every_log_also_across_pieces_and_in_the_thread() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let session = SessionLogFile::new(temp.path(), u64::MAX, &temp.path().join("list"));
        session.open(|_| "session".to_owned());
        let budget = LogBudget::new(u64::MAX, temp.path());
        let mut log = RawLog::new(path.clone(), &budget).with_session_log(Some(session.clone()));
        let line = format!("{} {}\n", sample_secret(), "x".repeat(9_000)).repeat(300);
        for piece in line.as_bytes().chunks(10_007) {
            log.write(&mut piece.to_vec());
        }
        assert_eq!(log.finish(), None);
        let clean = line.replace(&sample_secret(), "[redacted]");
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
