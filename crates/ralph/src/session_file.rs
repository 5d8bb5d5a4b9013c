//! The file of a session log. Several hands write at its end; the first failure ends the log and is told once. What
//! the agent prints has a limit, and is left out beyond it; the frame around it is always written.
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::redact;

/// Stands where the rest of the output is left out.
const BEYOND: &str = "[ralph: the session log has reached its limit; the output that follows is left out]\n";

/// So many logs of one second are a mistake.
const MOST_NAMES: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct SessionFile {
    folder: Arc<Path>,
    /// How many bytes of output it takes.
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
    /// How many more bytes of output fit in; `None` once some did not.
    left: Option<u64>,
}

impl SessionFile {
    /// Prepares a log in a folder for so many bytes of output. Nothing is made before [`SessionFile::open`].
    #[must_use]
    pub fn new(folder: &Path, limit: u64) -> Self {
        Self { folder: folder.into(), limit, state: Arc::new(Mutex::new(State::Unnamed)) }
    }

    /// Makes the file under the first name that is free, once; `name` gives the n-th, from 1.
    pub fn open(&self, name: impl Fn(u32) -> String) {
        let mut state = self.state();
        if let State::Unnamed = *state {
            *state = match create(&self.folder, name) {
                Ok((path, file)) => State::Open(Open { path, file, left: Some(self.limit) }),
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
    fn output(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(left) = self.left else { return Ok(()) };
        let room = usize::try_from(left).unwrap_or(usize::MAX);
        if bytes.len() <= room {
            self.left = Some(left - bytes.len() as u64);
            return self.file.write_all(bytes);
        }
        self.left = None;
        self.file.write_all(bytes.get(..room).unwrap_or_default())?;
        self.line(BEYOND)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        let gap = if ends_a_line(&self.file)? { "" } else { "\n" };
        self.file.write_all(format!("{gap}{text}").as_bytes())
    }
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
        format!("log-{number}")
    }

    fn open(folder: &Path) -> SessionFile {
        let file = SessionFile::new(folder, 20);
        file.open(name);
        file
    }

    // spec: C5
    #[test]
    fn a_taken_name_is_never_written_to() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("log-1"), "old").unwrap();
        std::os::unix::fs::symlink("/nowhere/else", temp.path().join("log-2")).unwrap();
        let file = open(temp.path());
        assert_eq!(file.path().unwrap(), temp.path().join("log-3"));
        assert_eq!(std::fs::read_to_string(temp.path().join("log-1")).unwrap(), "old");
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

    // spec: C5, D5
    // fault: 41
    #[test]
    fn output_beyond_the_limit_is_left_out_which_is_said_once_and_the_frame_is_written_all_the_same() {
        let temp = tempfile::tempdir().unwrap();
        let file = open(temp.path());
        file.line("header\n");
        for piece in ["twelve bytes", "eight by", "tes more", "and more"] {
            file.write(piece.as_bytes());
        }
        file.line("footer\n");
        let text = std::fs::read_to_string(file.path().unwrap()).unwrap();
        assert_eq!(text, format!("header\ntwelve byteseight by\n{BEYOND}footer\n"));
    }

    // spec: C5
    #[test]
    fn a_log_that_cannot_be_made_is_told_once() {
        let file = open(Path::new("/no/such/folder"));
        file.write(b"lost");
        assert!(file.complaint().unwrap().contains("/no/such/folder/log-1 is not complete: No such file"));
        assert_eq!((file.complaint(), file.path()), (None, None));
    }

    // spec: C5
    // fault: 56
    #[test]
    fn a_full_disk_ends_the_log_and_is_told_once() {
        let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
        let file = SessionFile::new(Path::new("/dev"), 20);
        *file.state() = State::Open(Open { path: "/dev/full".into(), file: full, left: Some(20) });
        file.write(b"a");
        file.write(b"b");
        let complaint = file.complaint().unwrap();
        assert!(complaint.contains("/dev/full is not complete: No space left"), "{complaint}");
        file.line("c");
        assert_eq!(file.complaint(), None);
    }
}
