//! Writes the files of `ralph init`, each only where there is none.
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::detect::DetectedProject;
use super::texts::{InitFile, init_files};
use ralph_engine::project::Project;

#[derive(Debug, thiserror::Error)]
#[error("{} cannot be written", path.display())]
pub struct InitWriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitFileResult {
    /// From the project's root.
    pub path: PathBuf,
    pub outcome: InitFileOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitFileOutcome {
    Created,
    /// It was there, and stays as it is.
    Kept,
}

/// Writes what is missing. A classic `config` counts as a configuration: two would be an error.
pub fn write_init_files(
    project: &Project,
    found: &DetectedProject,
    agents: &str,
) -> Result<Vec<InitFileResult>, InitWriteError> {
    let home = project.home.strip_prefix(&project.root).unwrap_or(&project.home).to_path_buf();
    let shown = if home.as_os_str().is_empty() { String::new() } else { format!("{}/", home.display()) };
    let mut written = Vec::new();
    for (place, text) in init_files(found, &shown, agents) {
        let path = match place {
            InitFile::Home("config.yaml") if project.home.join("config").is_file() => {
                written.push(InitFileResult { path: home.join("config"), outcome: InitFileOutcome::Kept });
                continue;
            }
            InitFile::Home(name) => home.join(name),
            InitFile::Root(path) if project.root.join(&path).parent().is_some_and(Path::is_dir) => continue,
            InitFile::Root(path) => PathBuf::from(path),
        };
        let made = create_file(&project.root.join(&path), &text)
            .map_err(|source| InitWriteError { path: project.root.join(&path), source })?;
        written.push(InitFileResult { path, outcome: made });
    }
    Ok(written)
}

/// Does not follow a link that somebody put in the file's place.
fn create_file(path: &Path, text: &str) -> io::Result<InitFileOutcome> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            let written = file.write_all(text.as_bytes());
            if written.is_err() {
                // Half a file would be kept the next time.
                let _ = std::fs::remove_file(path);
            }
            written.map(|()| InitFileOutcome::Created)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(InitFileOutcome::Kept),
        Err(error) => Err(error),
    }
}
