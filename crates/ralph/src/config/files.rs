//! The configuration's files: where they are, and reading them without trusting them.
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Refusal};
use super::yaml::MOST_BYTES;
use crate::project::Project;

/// The files that hold settings; `None` where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Where the user's own file is, whether it exists or not.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
}

/// Finds the files. `variable` looks up the environment.
pub fn find(
    project: Option<&Project>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Files, ConfigError> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let project = project.map(|project| project_file(&project.home)).transpose()?.flatten();
    Ok(Files { user: folder.map(|folder| folder.join("ralph/config.yaml")), project })
}

fn project_file(home: &Path) -> Result<Option<PathBuf>, ConfigError> {
    let (yaml, classic) = (home.join("config.yaml"), home.join("config"));
    let exists = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| !found.is_dir());
    match (exists(&yaml), exists(&classic)) {
        (true, true) => Err(Refusal::new("config and config.yaml stand side by side, and only one can hold")
            .hint("move the settings of one into the other, and remove it")
            .at(home.display().to_string())),
        (true, false) => Ok(Some(yaml)),
        (false, true) => Ok(Some(classic)),
        (false, false) => Ok(None),
    }
}

/// Reads a file that is not too large. `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    let refused = |what: String| Refusal::new(what).at(path.display().to_string());
    match bytes(path) {
        Ok(bytes) if bytes.len() > MOST_BYTES => {
            Err(refused(format!("it is larger than {} MB", MOST_BYTES >> 20)))
        }
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|error| {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
            Refusal::new("it is not UTF-8 text").at(format!("{}:{line}", path.display()))
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(refused(format!("it cannot be read: {error}"))),
    }
}

fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe without a writer must not hold us up.
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
