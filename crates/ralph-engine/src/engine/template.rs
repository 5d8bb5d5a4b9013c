//! A prompt file that is read again, and whose variables are filled in again, for every iteration.
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ralph_core::template::{Expanded, expand};
use serde::{Deserialize, Serialize};

use super::plan::read_bounded;
use super::stored_path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Values that stay the same for the whole run.
    pub variables: BTreeMap<String, String>,
}

impl Template {
    /// Reads the file and fills in its variables for one iteration.
    pub fn fill(&self, iteration: u32, max_iterations: u32) -> io::Result<Expanded> {
        let text = read_text(&self.path)?;
        let (iteration, max_iterations) = (iteration.to_string(), max_iterations.to_string());
        Ok(expand(&text, |name| match name {
            "ITERATION" => Some(&iteration),
            "MAX_ITERATIONS" => Some(&max_iterations),
            name => self.variables.get(name).map(String::as_str),
        }))
    }
}

/// Reads a text file. What is no file, too long or no text is refused; a pipe never makes it wait.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_bounded(open_file(path)?)?;
    String::from_utf8(bytes).map_err(|_| refused("it is not UTF-8 text"))
}

fn open_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => Ok(file),
        (false, true) => Err(refused("it is a folder")),
        (false, false) => {
            Err(refused("it is no regular file, and it must be readable again for every iteration"))
        }
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(path: PathBuf) -> Template {
        let variables = [("MODE", "build"), ("ITERATION", "from the config")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Template { path, variables: variables.into() }
    }

    // spec: C3
    #[test]
    fn the_file_is_read_and_filled_in_anew_each_time_and_the_run_s_own_values_win() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("build.md");
        std::fs::write(&path, "$MODE $ITERATION/$MAX_ITERATIONS").unwrap();
        let template = template(path.clone());
        assert_eq!(template.fill(2, 9).unwrap().text, "build 2/9");
        std::fs::write(&path, "other words ${ITERATION}").unwrap();
        assert_eq!(template.fill(3, 9).unwrap().text, "other words 3");
    }

    // fault: 62
    #[test]
    fn what_is_no_text_file_is_refused_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let why = |path: &Path| read_text(path).unwrap_err().to_string();
        assert_eq!(why(temp.path()), "it is a folder");
        let fifo = temp.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(why(&fifo).contains("no regular file"));
        assert!(why(Path::new("/dev/zero")).contains("no regular file"));
        let huge = temp.path().join("huge");
        File::create(&huge).unwrap().set_len(1 << 30).unwrap();
        assert!(why(&huge).contains("longer than 64 MB"));
        let bytes = temp.path().join("bytes");
        std::fs::write(&bytes, b"\xff\xfe").unwrap();
        assert_eq!(why(&bytes), "it is not UTF-8 text");
        let empty = temp.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        assert_eq!(why(&empty), "it is empty");
    }
}
