//! The configuration's files: where they are, and reading them without trusting them.
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, Refusal};
use ralph_engine::project::Project;

/// Larger files are mistakes.
const MOST_BYTES: usize = 1 << 20;

/// The files that hold settings; `None` where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// Where the user's own file is, whether it exists or not.
    pub user: Option<PathBuf>,
    /// The project's file.
    pub project: Option<PathBuf>,
    /// The folder of the project's own templates of checks.
    pub templates: Option<PathBuf>,
    /// The folder of the project's plugins.
    pub verifiers: Option<PathBuf>,
}

/// What is where a file may be.
pub(super) enum Found {
    Text(String),
    Nothing,
    /// We may not read it, or not even look.
    Closed,
}

/// Finds the files. `variable` looks up the environment.
pub fn find(
    project: Option<&Project>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Files, ConfigError> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let folder = folder.map(|folder| folder.join("ralph"));
    folder.as_deref().map_or(Ok(()), refuse_misnamed)?;
    let (templates, verifiers) = (project.map(Project::templates), project.map(Project::verifiers));
    let project = project.map(project_file).transpose()?.flatten();
    Ok(Files { user: folder.map(|folder| folder.join("config.yaml")), project, templates, verifiers })
}

fn project_file(project: &Project) -> Result<Option<PathBuf>, ConfigError> {
    let home = &project.home;
    let (yaml, classic) = (home.join("config.yaml"), home.join("config"));
    // In a root that is the home, other files are none of our business.
    if !project.is_own_home() {
        refuse_misnamed(home)?;
    }
    match (exists(&yaml), exists(&classic)) {
        (true, true) => Err(Refusal::new("config and config.yaml stand side by side, and only one can hold")
            .hint("move the settings of one into the other, and remove it")
            .at(home.display().to_string())),
        (true, false) => Ok(Some(yaml)),
        (false, true) => Ok(Some(classic)),
        (false, false) => Ok(None),
    }
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_dir())
}

/// A file that looks like ours must not be passed over in silence.
fn refuse_misnamed(folder: &Path) -> Result<(), ConfigError> {
    let other = folder.join("config.yml");
    if !exists(&other) {
        return Ok(());
    }
    let refusal = Refusal::new("the name of the configuration is config.yaml, and this is not read");
    Err(refusal.hint("rename it to config.yaml").at(other.display().to_string()))
}

/// Reads a file that is not too large.
pub(super) fn read(path: &Path) -> Result<Found, ConfigError> {
    let refused = |what: String| Refusal::new(what).at(path.display().to_string());
    match bytes(path) {
        Ok(bytes) if bytes.len() > MOST_BYTES => {
            Err(refused(format!("it is larger than {} MB", MOST_BYTES >> 20)))
        }
        Ok(bytes) => String::from_utf8(bytes).map(Found::Text).map_err(|error| {
            let line =
                error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
            Refusal::new("it is not UTF-8 text").at(format!("{}:{line}", path.display()))
        }),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound if exists(path) => {
                Err(refused("it is a link that leads nowhere".to_owned()))
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(Found::Nothing),
            io::ErrorKind::PermissionDenied => Ok(Found::Closed),
            _ => Err(refused(format!("it cannot be read: {error}"))),
        },
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
