//! The file of a session log. Several hands write at its end; the first failure ends the log and is told once. What
//! the agent prints has a limit: beyond it only the end of each part is kept, with a mark before it; the frame around
//! it is always written.
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::private;
use crate::redact;

/// The ends that are kept of what is beyond the limit have an eighth of the room together, and each a small part of what
/// is left of that, so that hundreds of them fit in.
const ENDS: u64 = 8;
const PART_OF_ENDS: u64 = 64;
const LONGEST_END: u64 = 64 * 1024;

/// A longer list was not written by ralph.
const LONGEST_LIST: u64 = 1 << 20;

/// So many logs of one second are a mistake.
const MOST_NAMES: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct SessionFile {
    folder: Arc<Path>,
    /// Where the names of the logs of this run are written down.
    list: Arc<Path>,
    /// How many bytes of output the logs of the run take together.
    limit: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    /// It has no name yet; what is written now is lost.
    Unnamed,
    Open(Open),
    /// It failed, and nobody has been told.
    Failed(PathBuf, io::Error),
    Told,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    /// How many more bytes of output fit in as they come.
    left: u64,
    /// What of that is left for the ends of parts that do not fit in.
    ends: u64,
    beyond: Beyond,
}

/// What did not fit in since the last line of ours.
#[derive(Debug, Default)]
struct Beyond {
    received: u64,
    end: VecDeque<u8>,
}

impl SessionFile {
    /// Prepares a log in a folder for so many bytes of output, whose name goes into a list. Nothing is made before
    /// [`SessionFile::open`].
    #[must_use]
    pub fn new(folder: &Path, limit: u64, list: &Path) -> Self {
        let state = Arc::new(Mutex::new(State::Unnamed));
        Self { folder: folder.into(), list: list.into(), limit, state }
    }

    /// Makes the file under the first name that is free, once; `name` gives the n-th, from 1.
    pub fn open(&self, name: impl Fn(u32) -> String) {
        let mut state = self.state();
        if let State::Unnamed = *state {
            let earlier = logs_of(&self.folder, &self.list);
            let taken =
                earlier.iter().filter_map(|log| log.symlink_metadata().ok()).map(|log| log.len()).sum();
            *state = match create(&self.folder, name) {
                Ok((path, file)) => {
                    // A log that is not in the list is kept for ever, which is no reason to do without it.
                    let _ = note_down(&self.list, &path);
                    State::Open(Open::new(path, file, self.limit.saturating_sub(taken)))
                }
                Err((path, error)) => State::Failed(path, error),
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
        match &*self.state() {
            State::Open(open) => Some(open.path.clone()),
            State::Unnamed | State::Failed(..) | State::Told => None,
        }
    }

    /// Writes output as it is, as far as it fits in.
    pub fn write(&self, bytes: &[u8]) {
        self.with(|open| open.output(bytes));
    }

    /// Writes text of our own, which begins on a line of its own.
    pub fn line(&self, text: &str) {
        self.with(|open| open.line(&redact::text(text)));
    }

    /// Returns why the log is not whole, once.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let mut state = self.state();
        match &*state {
            State::Unnamed | State::Open(_) | State::Told => None,
            State::Failed(path, error) => {
                let text = format!("the session log {} is not complete: {error}", path.display());
                *state = State::Told;
                Some(text)
            }
        }
    }

    fn with(&self, write: impl FnOnce(&mut Open) -> io::Result<()>) {
        let mut state = self.state();
        if let State::Open(open) = &mut *state
            && let Err(error) = write(open)
        {
            *state = State::Failed(std::mem::take(&mut open.path), error);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn new(path: PathBuf, file: File, limit: u64) -> Self {
        let ends = limit / ENDS;
        Self { path, file, left: limit - ends, ends, beyond: Beyond::default() }
    }

    fn output(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX);
        let (now, beyond) = bytes.split_at(bytes.len().min(room));
        self.left -= now.len() as u64;
        self.beyond.push(beyond, self.longest_end());
        self.file.write_all(now)
    }

    fn longest_end(&self) -> u64 {
        (self.ends / PART_OF_ENDS).min(LONGEST_END)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let Beyond { received, end } = std::mem::take(&mut self.beyond);
        if received > 0 {
            let end = whole_lines(Vec::from(end));
            self.ends -= end.len() as u64;
            let missing = received - end.len() as u64;
            self.frame(&format!(
                "[ralph: {missing} bytes are missing here, because the logs of the run reached their limit]\n"
            ))?;
            self.file.write_all(&end)?;
        }
        self.frame(text)
    }

    fn frame(&mut self, text: &str) -> io::Result<()> {
        let gap = if ends_a_line(&self.file)? { "" } else { "\n" };
        self.file.write_all(format!("{gap}{text}").as_bytes())
    }
}

impl Beyond {
    fn push(&mut self, bytes: &[u8], longest: u64) {
        self.received += bytes.len() as u64;
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let new = bytes.get(bytes.len().saturating_sub(longest)..).unwrap_or_default();
        let old = (self.end.len() + new.len()).saturating_sub(longest);
        self.end.drain(..old.min(self.end.len()));
        self.end.extend(new);
    }
}

/// Returns the end of an output from where a line begins, if one does.
fn whole_lines(end: Vec<u8>) -> Vec<u8> {
    match end.iter().position(|byte| *byte == b'\n') {
        Some(at) if at + 1 < end.len() => end.get(at + 1..).unwrap_or_default().to_vec(),
        Some(_) | None => end,
    }
}

/// Returns the logs that a list of a run names. Other files are none of ours, whatever somebody wrote there.
#[must_use]
pub fn logs_of(folder: &Path, list: &Path) -> Vec<PathBuf> {
    let mut names = String::new();
    let read =
        private::regular_file(list).and_then(|list| list.take(LONGEST_LIST).read_to_string(&mut names));
    let is_ours = |name: &&str| name.starts_with("session-") && name.ends_with(".log") && !name.contains('/');
    match read {
        Ok(_) => names.lines().filter(is_ours).map(|name| folder.join(name)).collect(),
        Err(_) => Vec::new(),
    }
}

/// Writes down that a log belongs to the run.
fn note_down(list: &Path, log: &Path) -> io::Result<()> {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    private::file(list)?.write_all(format!("{name}\n").as_bytes())
}

fn create(folder: &Path, name: impl Fn(u32) -> String) -> Result<(PathBuf, File), (PathBuf, io::Error)> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    let mut number = 1;
    loop {
        let path = folder.join(name(number));
        match options.open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => number += 1,
            Err(error) => return Err((path, error)),
        }
    }
}

fn ends_a_line(file: &File) -> io::Result<bool> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte == *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> String {
        format!("session-{number}.log")
    }

    fn open(folder: &Path) -> SessionFile {
        let file = SessionFile::new(folder, 32, &folder.join("list"));
        file.open(name);
        file
    }

    // spec: C5
    #[test]
    fn a_taken_name_is_never_written_to() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("session-1.log"), "old").unwrap();
        std::os::unix::fs::symlink("/nowhere/else", temp.path().join("session-2.log")).unwrap();
        let file = open(temp.path());
        assert_eq!(file.path().unwrap(), temp.path().join("session-3.log"));
        assert_eq!(std::fs::read_to_string(temp.path().join("session-1.log")).unwrap(), "old");
    }

    // spec: C5
    #[test]
    fn a_line_begins_on_a_line_of_its_own_whatever_stands_before() {
        let temp = tempfile::tempdir().unwrap();
        let file = open(temp.path());
        file.line("first\n");
        file.write(b"no newline");
        file.line("second\n");
        file.line("third\n");
        let text = std::fs::read_to_string(file.path().unwrap()).unwrap();
        assert_eq!(text, "first\nno newline\nsecond\nthird\n");
    }

    fn text(file: &SessionFile) -> String {
        std::fs::read_to_string(file.path().unwrap()).unwrap()
    }

    fn open_within(folder: &Path, limit: u64) -> SessionFile {
        let file = SessionFile::new(folder, limit, &folder.join("list"));
        file.open(name);
        file
    }

    // spec: C5, D5
    // fault: 41
    #[test]
    fn beyond_the_limit_the_end_is_kept_and_what_is_missing_is_said_and_the_frame_is_always_written() {
        let temp = tempfile::tempdir().unwrap();
        let file = open_within(temp.path(), 8_192);
        file.line("header\n");
        let head = "a".repeat(7_168);
        for piece in [&head, "bbb", &"b".repeat(97), "\nthe", " end\n"] {
            file.write(piece.as_bytes());
        }
        file.line("footer\n");
        let missing =
            "[ralph: 101 bytes are missing here, because the logs of the run reached their limit]\n";
        assert_eq!(text(&file), format!("header\n{head}\n{missing}the end\nfooter\n"));
    }

    // spec: C5, D5
    // fault: 41
    #[test]
    fn hundreds_of_floods_have_an_end_in_the_log_and_it_stays_within_its_limit() {
        let temp = tempfile::tempdir().unwrap();
        let file = open_within(temp.path(), 1 << 20);
        for part in 0..200 {
            file.write(format!("{}\nend of {part}\n", "x".repeat(100_000)).as_bytes());
            file.line("--\n");
        }
        let text = text(&file);
        let frames = 200 * 110;
        assert!(text.len() <= (1 << 20) + frames, "{}", text.len());
        assert!(text.ends_with("\nend of 199\n--\n"));
    }

    // spec: D5
    #[test]
    fn the_logs_of_a_run_are_written_down_and_have_one_limit_together() {
        let temp = tempfile::tempdir().unwrap();
        let list = temp.path().join("list");
        open_within(temp.path(), 8_192).write(&[b'x'; 7_000]);
        let second = open_within(temp.path(), 8_192);
        second.write(&[b'x'; 7_000]);
        let length = |path: &Path| path.metadata().unwrap().len();
        assert_eq!(length(&second.path().unwrap()), (8_192 - 7_000) / 8 * 7);
        std::fs::write(temp.path().join("other"), "").unwrap();
        let written = std::fs::read_to_string(&list).unwrap();
        std::fs::write(&list, format!("{written}other\n../session-x.log\nsession-/../x.log\n")).unwrap();
        let logs = logs_of(temp.path(), &list);
        assert_eq!(logs, [temp.path().join("session-1.log"), temp.path().join("session-2.log")]);
    }

    // spec: C5
    #[test]
    fn a_log_that_cannot_be_made_is_told_once() {
        let file = open(Path::new("/no/such/folder"));
        file.write(b"lost");
        assert!(
            file.complaint().unwrap().contains("/no/such/folder/session-1.log is not complete: No such file")
        );
        assert_eq!((file.complaint(), file.path()), (None, None));
    }

    // spec: C5
    // fault: 56
    #[test]
    fn a_full_disk_ends_the_log_and_is_told_once() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let file = SessionFile::new(Path::new("/dev"), 20, Path::new("/dev/null/list"));
        *file.state() = State::Open(Open::new("/dev/full".into(), full, 20));
        file.write(b"a");
        file.write(b"b");
        let complaint = file.complaint().unwrap();
        assert!(complaint.contains("/dev/full is not complete: No space left"), "{complaint}");
        file.line("c");
        assert_eq!(file.complaint(), None);
    }
}
