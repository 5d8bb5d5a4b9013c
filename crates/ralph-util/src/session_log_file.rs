//! The file of a session log. Several writers append to it; the first write error ends the log and is reported once.
//! The agent's output is limited: beyond the limit only the tail of each part is kept, after a marker. ralph's lines
//! are always written.
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::private_files;
use crate::redact;

/// All tails together get an eighth of the limit.
const TAILS_FRACTION: u64 = 8;
/// Each tail gets this fraction of the remaining tail bytes, so that there is space for hundreds of tails.
const TAIL_FRACTION: u64 = 64;
const MAX_TAIL_BYTES: u64 = 64 * 1024;

/// ralph never writes a longer list.
const MAX_LIST_BYTES: u64 = 1 << 20;

/// How many file names to try before the log fails.
const MAX_NAME_ATTEMPTS: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct SessionLogFile {
    folder: Arc<Path>,
    /// The file with the names of this run's logs.
    name_list: Arc<Path>,
    /// The limit for the output in all logs of the run together.
    limit_bytes: u64,
    state: Arc<Mutex<SessionLogState>>,
}

#[derive(Debug)]
enum SessionLogState {
    /// The file does not exist yet; writes are dropped.
    Unnamed,
    Open(OpenSessionLog),
    /// The failure was not reported yet.
    Failed(PathBuf, io::Error),
    FailureReported,
}

#[derive(Debug)]
struct OpenSessionLog {
    path: PathBuf,
    file: File,
    /// The bytes of output that are still written directly.
    remaining_bytes: u64,
    /// The bytes that remain for tails, separate from `remaining_bytes`.
    remaining_tail_bytes: u64,
    overflow: OverflowTail,
}

/// The output beyond the limit since ralph's last line.
#[derive(Debug, Default)]
struct OverflowTail {
    received_bytes: u64,
    tail: VecDeque<u8>,
}

impl SessionLogFile {
    /// Prepares a log in `folder` with a limit for the output. `list` is the file with the names of the run's logs. No
    /// file is created before [`SessionLogFile::open`].
    #[must_use]
    pub fn new(folder: &Path, limit_bytes: u64, list: &Path) -> Self {
        let state = Arc::new(Mutex::new(SessionLogState::Unnamed));
        Self { folder: folder.into(), name_list: list.into(), limit_bytes, state }
    }

    /// Creates the file under the first free name; `name` returns the n-th candidate, from 1. Later calls do nothing.
    pub fn open(&self, name: impl Fn(u32) -> String) {
        let mut state = self.lock_state();
        if let SessionLogState::Unnamed = *state {
            let earlier_logs = listed_session_logs(&self.folder, &self.name_list);
            let used_bytes =
                earlier_logs.iter().filter_map(|log| log.symlink_metadata().ok()).map(|log| log.len()).sum();
            *state = match create_log_file(&self.folder, name) {
                Ok((path, file)) => {
                    // A log that is missing in the list is never deleted; that is better than no log.
                    let _ = append_to_list(&self.name_list, &path);
                    SessionLogState::Open(OpenSessionLog::new(path, file, self.limit_bytes.saturating_sub(used_bytes)))
                }
                Err((path, error)) => SessionLogState::Failed(path, error),
            };
        }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of the open log, or `None` if it has no file or failed.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        match &*self.lock_state() {
            SessionLogState::Open(open) => Some(open.path.clone()),
            SessionLogState::Unnamed | SessionLogState::Failed(..) | SessionLogState::FailureReported => None,
        }
    }

    /// Writes output unchanged, up to the limit.
    pub fn write_output(&self, bytes: &[u8]) {
        self.with_open_log(|open| open.write_output(bytes));
    }

    /// Writes ralph's text, starting on a new line.
    pub fn write_line(&self, text: &str) {
        self.with_open_log(|open| open.write_line(&redact::redact_text(text)));
    }

    /// Returns a message if the log is not complete. Later calls return `None`.
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
        let OverflowTail { received_bytes, tail } = std::mem::take(&mut self.overflow);
        if received_bytes > 0 {
            let tail = skip_partial_line(Vec::from(tail));
            self.remaining_tail_bytes -= tail.len() as u64;
            let missing = received_bytes - tail.len() as u64;
            self.write_frame(&format!(
                "[ralph: {missing} bytes are missing here, because the logs of the run reached their limit]\n"
            ))?;
            self.file.write_all(&tail)?;
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

/// Returns the tail from the start of its first complete line, or all of it if there is none.
fn skip_partial_line(tail: Vec<u8>) -> Vec<u8> {
    match tail.iter().position(|byte| *byte == b'\n') {
        Some(at) if at + 1 < tail.len() => tail.get(at + 1..).unwrap_or_default().to_vec(),
        Some(_) | None => tail,
    }
}

/// Returns the session logs that are named in a run's list. Ignores entries that are not names of session logs.
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

/// Adds a log to the list of its run.
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
    fn a_line_starts_on_a_new_line_even_if_the_output_before_it_has_no_newline() {
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
    fn beyond_the_limit_the_tail_and_a_marker_are_kept_and_lines_are_always_written() {
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
        let failure = file.take_failure_message().unwrap();
        assert!(failure.contains("/dev/full is not complete: No space left"), "{failure}");
        file.write_line("c");
        assert_eq!(file.take_failure_message(), None);
    }
}
