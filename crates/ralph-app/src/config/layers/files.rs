//! Finds the configuration files and reads them without trusting their contents.
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::config::error::{ConfigError, ValueError};
use ralph_engine::project::Project;

/// Maximum size of a file. A larger one is a mistake.
const MAX_CONFIG_BYTES: usize = 1 << 20;

/// The paths of configuration files and folders; `None` if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    /// The user's file, whether or not it exists.
    pub user_file: Option<PathBuf>,
    pub project_file: Option<PathBuf>,
    /// The folder of the project's check templates.
    pub template_folder: Option<PathBuf>,
    /// The folder of the project's verifier plugins.
    pub plugin_folder: Option<PathBuf>,
}

/// The result of reading a file that may be missing.
pub(in crate::config) enum ConfigFileContents {
    Text(String),
    Missing,
    /// The file or one of its folders is not accessible.
    PermissionDenied,
}

/// Finds the configuration files. `variable` reads an environment variable.
pub fn find_config_files(
    project: Option<&Project>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<ConfigFiles, ConfigError> {
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let folder = folder.map(|folder| folder.join("ralph"));
    folder.as_deref().map_or(Ok(()), refuse_misnamed)?;
    let (templates, verifiers) = (project.map(Project::templates_folder), project.map(Project::verifiers_folder));
    let project = project.map(find_project_file).transpose()?.flatten();
    Ok(ConfigFiles {
        user_file: folder.map(|folder| folder.join("config.yaml")),
        project_file: project,
        template_folder: templates,
        plugin_folder: verifiers,
    })
}

fn find_project_file(project: &Project) -> Result<Option<PathBuf>, ConfigError> {
    let home = &project.home;
    let (yaml, classic) = (home.join("config.yaml"), home.join("config"));
    // If the project's root is ralph's home, `config.yml` may belong to another program.
    if !project.is_own_home() {
        refuse_misnamed(home)?;
    }
    match (is_existing_file(&yaml), is_existing_file(&classic)) {
        (true, true) => Err(ValueError::new("both config and config.yaml exist, but only one is allowed")
            .with_hint("move all settings into one file and remove the other")
            .at_place(home.display().to_string())),
        (true, false) => Ok(Some(yaml)),
        (false, true) => Ok(Some(classic)),
        (false, false) => Ok(None),
    }
}

fn is_existing_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_dir())
}

/// Refuses a `config.yml`: ralph would not read it, and the user would not notice.
fn refuse_misnamed(folder: &Path) -> Result<(), ConfigError> {
    let other = folder.join("config.yml");
    if !is_existing_file(&other) {
        return Ok(());
    }
    let refusal = ValueError::new("ralph reads config.yaml, not config.yml");
    Err(refusal.with_hint("rename it to config.yaml").at_place(other.display().to_string()))
}

/// Reads a file of at most [`MAX_CONFIG_BYTES`].
pub(in crate::config) fn read_config_file(path: &Path) -> Result<ConfigFileContents, ConfigError> {
    let refused = |message: String| ValueError::new(message).at_place(path.display().to_string());
    match read_bytes(path) {
        Ok(bytes) if bytes.len() > MAX_CONFIG_BYTES => {
            Err(refused(format!("file is larger than {} MB", MAX_CONFIG_BYTES >> 20)))
        }
        Ok(bytes) => String::from_utf8(bytes).map(ConfigFileContents::Text).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
            ValueError::new("not UTF-8 text").at_place(format!("{}:{line}", path.display()))
        }),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound if is_existing_file(path) => Err(refused("dangling symbolic link".to_owned())),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(ConfigFileContents::Missing),
            io::ErrorKind::PermissionDenied => Ok(ConfigFileContents::PermissionDenied),
            _ => Err(refused(format!("cannot read the file: {error}"))),
        },
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe without a writer would block.
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
