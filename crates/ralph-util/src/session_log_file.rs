//! The file of a session log. Several hands write at its end; the first failure ends the log and is told once. What
//! the agent prints has a limit: beyond it only the end of each part is kept, with a mark before it; the frame around
//! it is always written.
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::private_files;
use crate::redact;

/// The ends that are kept of what is beyond the limit have an eighth of the room together, and each a small part of what
/// is left of that, so that hundreds of them fit in.
const TAILS_FRACTION: u64 = 8;
const TAIL_FRACTION: u64 = 64;
const MAX_TAIL_BYTES: u64 = 64 * 1024;

/// A longer list was not written by ralph.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// So many logs of one second are a mistake.
const MAX_NAME_ATTEMPTS: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct SessionLogFile {
    folder: Arc<Path>,
    /// Where the names of the logs of this run are written down.
    name_list: Arc<Path>,
    /// How many bytes of output the logs of the run take together.
    limit_bytes: u64,
    state: Arc<Mutex<SessionLogState>>,
}

#[derive(Debug)]
enum SessionLogState {
    /// It has no name yet; what is written now is lost.
    Unnamed,
    Open(OpenSessionLog),
    /// It failed, and nobody has been told.
    Failed(PathBuf, io::Error),
    FailureReported,
}

#[derive(Debug)]
struct OpenSessionLog {
    path: PathBuf,
    file: File,
    /// How many more bytes of output fit in as they come.
    remaining_bytes: u64,
    /// What of that is left for the ends of parts that do not fit in.
    remaining_tail_bytes: u64,
    overflow: OverflowTail,
}

/// What did not fit in since the last line of ours.
#[derive(Debug, Default)]
struct OverflowTail {
    received_bytes: u64,
    tail: VecDeque<u8>,
}

impl SessionLogFile {
    /// Prepares a log in a folder for so many bytes of output, whose name goes into a list. Nothing is made before
    /// [`SessionFile::open`].
    #[must_use]
    pub fn new(folder: &Path, limit_bytes: u64, list: &Path) -> Self {
        let state = Arc::new(Mutex::new(SessionLogState::Unnamed));
        Self { folder: folder.into(), name_list: list.into(), limit_bytes, state }
    }

    /// Makes the file under the first name that is free, once; `name` gives the n-th, from 1.
    pub fn open(&self, name: impl Fn(u32) -> String) {
        let mut state = self.lock_state();
        if let SessionLogState::Unnamed = *state {
            let earlier = listed_session_logs(&self.folder, &self.name_list);
            let taken = earlier.iter().filter_map(|log| log.symlink_metadata().ok()).map(|log| log.len()).sum();
            *state = match create_log_file(&self.folder, name) {
                Ok((path, file)) => {
                    // A log that is not in the list is kept for ever, which is no reason to do without it.
                    let _ = append_to_list(&self.name_list, &path);
                    SessionLogState::Open(OpenSessionLog::new(path, file, self.limit_bytes.saturating_sub(taken)))
                }
                Err((path, error)) => SessionLogState::Failed(path, error),
            };
        }
    }

    /// Returns the folder of the log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns where the log is, unless it failed.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        match &*self.lock_state() {
            SessionLogState::Open(open) => Some(open.path.clone()),
            SessionLogState::Unnamed | SessionLogState::Failed(..) | SessionLogState::FailureReported => None,
        }
    }

    /// Writes output as it is, as far as it fits in.
    pub fn write_output(&self, bytes: &[u8]) {
        self.with_open_log(|open| open.write_output(bytes));
    }

    /// Writes text of our own, which begins on a line of its own.
    pub fn write_line(&self, text: &str) {
        self.with_open_log(|open| open.write_line(&redact::redact_text(text)));
    }

    /// Returns why the log is not whole, once.
    #[must_use]
    pub fn take_failure_message(&self) -> Option<String> {
        let mut state = self.lock_state();
        match &*state {
            SessionLogState::Unnamed | SessionLogState::Open(_) | SessionLogState::FailureReported => None,
            SessionLogState::Failed(path, error) => {
                let text = format!("the session log {} is not complete: {error}", path.display());
                *state = SessionLogState::FailureReported;
                Some(text)
            }
        }
    }

    fn with_open_log(&self, write: impl FnOnce(&mut OpenSessionLog) -> io::Result<()>) {
        let mut state = self.lock_state();
        if let SessionLogState::Open(open) = &mut *state
            && let Err(error) = write(open)
        {
            *state = SessionLogState::Failed(std::mem::take(&mut open.path), error);
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, SessionLogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenSessionLog {
    fn new(path: PathBuf, file: File, limit: u64) -> Self {
        let remaining_tail_bytes = limit / TAILS_FRACTION;
        Self {
            path,
            file,
            remaining_bytes: limit - remaining_tail_bytes,
            remaining_tail_bytes,
            overflow: OverflowTail::default(),
        }
    }

    fn write_output(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.remaining_bytes).unwrap_or(usize::MAX);
        let (now, beyond) = bytes.split_at(bytes.len().min(room));
        self.remaining_bytes -= now.len() as u64;
        self.overflow.push_bytes(beyond, self.max_tail_bytes());
        self.file.write_all(now)
    }

    fn max_tail_bytes(&self) -> u64 {
        (self.remaining_tail_bytes / TAIL_FRACTION).min(MAX_TAIL_BYTES)
    }

    fn write_line(&mut self, text: &str) -> io::Result<()> {
        let OverflowTail { received_bytes: received, tail: end } = std::mem::take(&mut self.overflow);
        if received > 0 {
            let end = skip_partial_line(Vec::from(end));
            self.remaining_tail_bytes -= end.len() as u64;
            let missing = received - end.len() as u64;
            self.write_frame(&format!(
                "[ralph: {missing} bytes are missing here, because the logs of the run reached their limit]\n"
            ))?;
            self.file.write_all(&end)?;
        }
        self.write_frame(text)
    }

    fn write_frame(&mut self, text: &str) -> io::Result<()> {
        let gap = if ends_with_newline(&self.file)? { "" } else { "\n" };
        self.file.write_all(format!("{gap}{text}").as_bytes())
    }
}

impl OverflowTail {
    fn push_bytes(&mut self, bytes: &[u8], max_tail_bytes: u64) {
        self.received_bytes += bytes.len() as u64;
        let longest = usize::try_from(max_tail_bytes).unwrap_or(usize::MAX);
        let new = bytes.get(bytes.len().saturating_sub(longest)..).unwrap_or_default();
        let old = (self.tail.len() + new.len()).saturating_sub(longest);
        self.tail.drain(..old.min(self.tail.len()));
        self.tail.extend(new);
    }
}

/// Returns the end of an output from where a line begins, if one does.
fn skip_partial_line(end: Vec<u8>) -> Vec<u8> {
    match end.iter().position(|byte| *byte == b'\n') {
        Some(at) if at + 1 < end.len() => end.get(at + 1..).unwrap_or_default().to_vec(),
        Some(_) | None => end,
    }
}

/// Returns the logs that a list of a run names. Other files are none of ours, whatever somebody wrote there.
#[must_use]
pub fn listed_session_logs(folder: &Path, list: &Path) -> Vec<PathBuf> {
    let mut names = String::new();
    let read =
        private_files::open_regular_file(list).and_then(|list| list.take(MAX_LIST_BYTES).read_to_string(&mut names));
    let is_ours = |name: &&str| name.starts_with("session-") && name.ends_with(".log") && !name.contains('/');
    match read {
        Ok(_) => names.lines().filter(is_ours).map(|name| folder.join(name)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Writes down that a log belongs to the run.
fn append_to_list(list: &Path, log: &Path) -> io::Result<()> {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    private_files::open_for_append(list)?.write_all(format!("{name}\n").as_bytes())
}

fn create_log_file(folder: &Path, name: impl Fn(u32) -> String) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    let mut number = 1;
    loop {
        let path = folder.join(name(number));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_NAME_ATTEMPTS => number += 1,
            Err(error) => return Err((path, error)),
        }
    }
}

fn ends_with_newline(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_name(number: u32) -> String {
        format!("session-{number}.log")
    }

    fn open_log(folder: &Path) -> SessionLogFile {
        let file = SessionLogFile::new(folder, 32, &folder.join("list"));
        file.open(log_name);
        file
    }

    // spec: C5
    #[test]
    fn a_taken_name_is_never_written_to() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("session-1.log"), "old").unwrap();
        std::os::unix::fs::symlink("/nowhere/else", temp.path().join("session-2.log")).unwrap();
        let file = open_log(temp.path());
        assert_eq!(file.path().unwrap(), temp.path().join("session-3.log"));
        assert_eq!(std::fs::read_to_string(temp.path().join("session-1.log")).unwrap(), "old");
    }

    // spec: C5
    #[test]
    fn a_line_begins_on_a_line_of_its_own_whatever_stands_before() {
        let temp = tempfile::tempdir().unwrap();
        let file = open_log(temp.path());
        file.write_line("first\n");
        file.write_output(b"no newline");
        file.write_line("second\n");
        file.write_line("third\n");
        let text = std::fs::read_to_string(file.path().unwrap()).unwrap();
        assert_eq!(text, "first\nno newline\nsecond\nthird\n");
    }

    fn read_log(file: &SessionLogFile) -> String {
        std::fs::read_to_string(file.path().unwrap()).unwrap()
    }

    fn open_log_with_limit(folder: &Path, limit: u64) -> SessionLogFile {
        let file = SessionLogFile::new(folder, limit, &folder.join("list"));
        file.open(log_name);
        file
    }

    // spec: C5, D5
    // fault: 41
    #[test]
    fn beyond_the_limit_the_tail_and_a_marker_are_kept_and_the_frame_is_always_written() {
        let temp = tempfile::tempdir().unwrap();
        let file = open_log_with_limit(temp.path(), 8_192);
        file.write_line("header\n");
        let head = "a".repeat(7_168);
        for piece in [&head, "bbb", &"b".repeat(97), "\nthe", " end\n"] {
            file.write_output(piece.as_bytes());
        }
        file.write_line("footer\n");
        let missing = "[ralph: 101 bytes are missing here, because the logs of the run reached their limit]\n";
        assert_eq!(read_log(&file), format!("header\n{head}\n{missing}the end\nfooter\n"));
    }

    // spec: C5, D5
    // fault: 41
    #[test]
    fn each_of_many_long_outputs_keeps_its_tail_within_the_log_limit() {
        let temp = tempfile::tempdir().unwrap();
        let file = open_log_with_limit(temp.path(), 1 << 20);
        for part in 0..200 {
            file.write_output(format!("{}\nend of {part}\n", "x".repeat(100_000)).as_bytes());
            file.write_line("--\n");
        }
        let text = read_log(&file);
        let frames = 200 * 110;
        assert!(text.len() <= (1 << 20) + frames, "{}", text.len());
        assert!(text.ends_with("\nend of 199\n--\n"));
    }

    // spec: D5
    #[test]
    fn the_logs_of_a_run_are_listed_and_share_one_limit() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("list");
        open_log_with_limit(temp.path(), 8_192).write_output(&[b'x'; 7_000]);
        let second = open_log_with_limit(temp.path(), 8_192);
        second.write_output(&[b'x'; 7_000]);
        let length = |path: &Path| path.metadata().unwrap().len();
        assert_eq!(length(&second.path().unwrap()), (8_192 - 7_000) / 8 * 7);
        std::fs::write(temp.path().join("other"), "").unwrap();
        let written = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, format!("{written}other\n../session-x.log\nsession-/../x.log\n")).unwrap();
        let logs = listed_session_logs(temp.path(), &list);
        assert_eq!(logs, [temp.path().join("session-1.log"), temp.path().join("session-2.log")]);
    }

    // spec: C5
    #[test]
    fn a_log_that_cannot_be_created_is_reported_once() {
        let file = open_log(Path::new("/no/such/folder"));
        file.write_output(b"lost");
        assert!(
            file.take_failure_message()
                .unwrap()
                .contains("/no/such/folder/session-1.log is not complete: No such file")
        );
        assert_eq!((file.take_failure_message(), file.path()), (None, None));
    }

    // spec: C5
    // fault: 56
    #[test]
    fn a_full_disk_ends_the_log_and_is_reported_once() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let file = SessionLogFile::new(Path::new("/dev"), 20, Path::new("/dev/null/list"));
        *file.lock_state() = SessionLogState::Open(OpenSessionLog::new("/dev/full".into(), full, 20));
        file.write_output(b"a");
        file.write_output(b"b");
        let complaint = file.take_failure_message().unwrap();
        assert!(complaint.contains("/dev/full is not complete: No space left"), "{complaint}");
        file.write_line("c");
        assert_eq!(file.take_failure_message(), None);
    }
}
