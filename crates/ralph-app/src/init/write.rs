//! Writes the files of `ralph init` that do not exist yet.
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::detect::DetectedProject;
use super::texts::{InitFile, init_files};
use ralph_engine::project::Project;

#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct InitWriteError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// The outcome for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitFileResult {
    /// Relative to the project's root.
    pub path: PathBuf,
    pub outcome: InitFileOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitFileOutcome {
    Created,
    /// The file existed and was not changed.
    Kept,
}

/// Writes the missing files. Keeps a classic `config` instead of writing `config.yaml`, because having both is an
/// error.
pub fn write_init_files(
    project: &Project,
    found: &DetectedProject,
    agents: &str,
) -> Result<Vec<InitFileResult>, InitWriteError> {
    let home = project.home.strip_prefix(&project.root).unwrap_or(&project.home).to_path_buf();
    let home_prefix = if home.as_os_str().is_empty() { String::new() } else { format!("{}/", home.display()) };
    let mut written = Vec::new();
    for (place, text) in init_files(found, &home_prefix, agents) {
        let path = match place {
            InitFile::Home("config.yaml") if project.home.join("config").is_file() => {
                written.push(InitFileResult { path: home.join("config"), outcome: InitFileOutcome::Kept });
                continue;
            }
            InitFile::Home(name) => home.join(name),
            InitFile::Root(path) if project.root.join(&path).parent().is_some_and(Path::is_dir) => continue,
            InitFile::Root(path) => PathBuf::from(path),
        };
        let outcome = create_file(&project.root.join(&path), &text)
            .map_err(|source| InitWriteError { path: project.root.join(&path), source })?;
        written.push(InitFileResult { path, outcome });
    }
    Ok(written)
}

/// Creates the file, unless it exists. Does not follow a link.
fn create_file(path: &Path, text: &str) -> io::Result<InitFileOutcome> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            let written = file.write_all(text.as_bytes());
            if written.is_err() {
                // The next run would keep an incomplete file.
                let _ = std::fs::remove_file(path);
            }
            written.map(|()| InitFileOutcome::Created)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(InitFileOutcome::Kept),
        Err(error) => Err(error),
    }
}
