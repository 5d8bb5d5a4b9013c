//! The file of a session log. Several hands write at its end; the first failure ends the log and is told once.
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many logs of one second are a mistake.
const MOST_NAMES: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct SessionFile {
    folder: Arc<Path>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
enum State {
    /// It has no name yet; what is written now is lost.
    Unnamed,
    Open(PathBuf, File),
    /// It failed, and nobody has been told.
    Failed(PathBuf, io::Error),
    Told,
}

impl SessionFile {
    /// Prepares a log in a folder. Nothing is made before [`SessionFile::open`].
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into(), state: Arc::new(Mutex::new(State::Unnamed)) }
    }

    /// Makes the file under the first name that is free, once; `name` gives the n-th, from 1.
    pub fn open(&self, name: impl Fn(u32) -> String) {
        let mut state = self.state();
        if let State::Unnamed = *state {
            *state = create(&self.folder, name);
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
            State::Open(path, _) => Some(path.clone()),
            State::Unnamed | State::Failed(..) | State::Told => None,
        }
    }

    /// Writes bytes as they are.
    pub fn write(&self, bytes: &[u8]) {
        self.with(|file| file.write_all(bytes));
    }

    /// Writes text that begins on a line of its own.
    pub fn line(&self, text: &str) {
        self.with(|file| {
            let gap = if ends_a_line(file)? { "" } else { "\n" };
            file.write_all(format!("{gap}{text}").as_bytes())
        });
    }

    /// Returns why the log is not whole, once.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let mut state = self.state();
        match &*state {
            State::Unnamed | State::Open(..) | State::Told => None,
            State::Failed(path, error) => {
                let text = format!("the session log {} is not complete: {error}", path.display());
                *state = State::Told;
                Some(text)
            }
        }
    }

    fn with(&self, write: impl FnOnce(&mut File) -> io::Result<()>) {
        let mut state = self.state();
        if let State::Open(path, file) = &mut *state
            && let Err(error) = write(file)
        {
            *state = State::Failed(std::mem::take(path), error);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn create(folder: &Path, name: impl Fn(u32) -> String) -> State {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    let mut number = 1;
    loop {
        let path = folder.join(name(number));
        match options.open(&path) {
            Ok(file) => return State::Open(path, file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MOST_NAMES => number += 1,
            Err(error) => return State::Failed(path, error),
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
        let file = SessionFile::new(folder);
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
        let file = SessionFile::new(Path::new("/dev"));
        *file.state() = State::Open("/dev/full".into(), full);
        file.write(b"a");
        file.write(b"b");
        let complaint = file.complaint().unwrap();
        assert!(complaint.contains("/dev/full is not complete: No space left"), "{complaint}");
        file.line("c");
        assert_eq!(file.complaint(), None);
    }
}
