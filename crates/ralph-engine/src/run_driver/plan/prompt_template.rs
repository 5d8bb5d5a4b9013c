//! A prompt file that is read, and whose variables are expanded, in every iteration.
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ralph_core::prompt_variables::{ExpandedPrompt, expand_variables};
use serde::{Deserialize, Serialize};

use super::prompt_source::read_bounded_prompt;
use super::stored_path;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptTemplate {
    #[serde(with = "stored_path")]
    pub path: PathBuf,
    /// Values that stay the same for the whole run.
    pub variables: BTreeMap<String, String>,
}

impl PromptTemplate {
    /// Reads the file and expands its variables for one iteration.
    pub fn expand_variables(&self, iteration: u32, max_iterations: u32) -> io::Result<ExpandedPrompt> {
        let text = read_text_file(&self.path)?;
        let (iteration, max_iterations) = (iteration.to_string(), max_iterations.to_string());
        Ok(expand_variables(&text, |name| match name {
            "ITERATION" => Some(&iteration),
            "MAX_ITERATIONS" => Some(&max_iterations),
            name => self.variables.get(name).map(String::as_str),
        }))
    }
}

/// Reads a text file. Fails if the path is not a regular file, is too long or is not text; never blocks on a pipe.
pub fn read_text_file(path: &Path) -> io::Result<String> {
    let bytes = read_bounded_prompt(open_regular_file(path)?)?;
    String::from_utf8(bytes).map_err(|_| invalid_file_error("it is not UTF-8 text"))
}

fn open_regular_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let kind = file.metadata()?.file_type();
    match (kind.is_file(), kind.is_dir()) {
        (true, _) => Ok(file),
        (false, true) => Err(invalid_file_error("it is a folder")),
        (false, false) => {
            Err(invalid_file_error("it is not a regular file, and it must be readable again for every iteration"))
        }
    }
}

fn invalid_file_error(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template_at(path: PathBuf) -> PromptTemplate {
        let variables = [("MODE", "build"), ("ITERATION", "from the config")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        PromptTemplate { path, variables: variables.into() }
    }

    // spec: C3
    #[test]
    fn the_file_is_read_and_expanded_every_time_and_values_of_the_run_take_precedence() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("build.md");
        std::fs::write(&path, "$MODE $ITERATION/$MAX_ITERATIONS").unwrap();
        let template = template_at(path.clone());
        assert_eq!(template.expand_variables(2, 9).unwrap().text, "build 2/9");
        std::fs::write(&path, "other text ${ITERATION}").unwrap();
        assert_eq!(template.expand_variables(3, 9).unwrap().text, "other text 3");
    }

    // fault: 62
    #[test]
    fn anything_but_a_text_file_is_refused_at_once() {
        let temp = tempfile::tempdir().unwrap();
        let reason = |path: &Path| read_text_file(path).unwrap_err().to_string();
        assert_eq!(reason(temp.path()), "it is a folder");
        let fifo = temp.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert!(reason(&fifo).contains("not a regular file"));
        assert!(reason(Path::new("/dev/zero")).contains("not a regular file"));
        let huge = temp.path().join("huge");
        File::create(&huge).unwrap().set_len(1 << 30).unwrap();
        assert!(reason(&huge).contains("longer than 64 MB"));
        let bytes = temp.path().join("bytes");
        std::fs::write(&bytes, b"\xff\xfe").unwrap();
        assert_eq!(reason(&bytes), "it is not UTF-8 text");
        let empty = temp.path().join("empty");
        std::fs::write(&empty, "").unwrap();
        assert_eq!(reason(&empty), "it is empty");
    }
}
