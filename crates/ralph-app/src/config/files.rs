//! The configuration's files: where they are, and reading them without trusting them.
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::{ConfigError, ValueError};
use ralph_engine::project::Project;

/// Larger files are mistakes.
const MAX_CONFIG_BYTES: usize = 1 << 20;

/// The files that hold settings; `None` where there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigFiles {
    /// Where the user's own file is, whether it exists or not.
    pub user_file: Option<PathBuf>,
    /// The project's file.
    pub project_file: Option<PathBuf>,
    /// The folder of the project's own templates of checks.
    pub template_folder: Option<PathBuf>,
    /// The folder of the project's plugins.
    pub plugin_folder: Option<PathBuf>,
}

/// What is where a file may be.
pub(super) enum ConfigFileContents {
    Text(String),
    Missing,
    /// We may not read it, or not even look.
    PermissionDenied,
}

/// Finds the files. `variable` looks up the environment.
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
    // In a root that is the home, other files are none of our business.
    if !project.is_own_home() {
        refuse_misnamed(home)?;
    }
    match (is_existing_file(&yaml), is_existing_file(&classic)) {
        (true, true) => Err(ValueError::new("config and config.yaml stand side by side, and only one can hold")
            .with_hint("move the settings of one into the other, and remove it")
            .at_place(home.display().to_string())),
        (true, false) => Ok(Some(yaml)),
        (false, true) => Ok(Some(classic)),
        (false, false) => Ok(None),
    }
}

fn is_existing_file(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_dir())
}

/// A file that looks like ours must not be passed over in silence.
fn refuse_misnamed(folder: &Path) -> Result<(), ConfigError> {
    let other = folder.join("config.yml");
    if !is_existing_file(&other) {
        return Ok(());
    }
    let refusal = ValueError::new("the name of the configuration is config.yaml, and this is not read");
    Err(refusal.with_hint("rename it to config.yaml").at_place(other.display().to_string()))
}

/// Reads a file that is not too large.
pub(super) fn read_config_file(path: &Path) -> Result<ConfigFileContents, ConfigError> {
    let refused = |what: String| ValueError::new(what).at_place(path.display().to_string());
    match read_bytes(path) {
        Ok(bytes) if bytes.len() > MAX_CONFIG_BYTES => {
            Err(refused(format!("it is larger than {} MB", MAX_CONFIG_BYTES >> 20)))
        }
        Ok(bytes) => String::from_utf8(bytes).map(ConfigFileContents::Text).map_err(|error| {
            let line = error.as_bytes()[..error.utf8_error().valid_up_to()].split(|byte| *byte == b'\n').count();
            ValueError::new("it is not UTF-8 text").at_place(format!("{}:{line}", path.display()))
        }),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound if is_existing_file(path) => {
                Err(refused("it is a link that leads nowhere".to_owned()))
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Ok(ConfigFileContents::Missing),
            io::ErrorKind::PermissionDenied => Ok(ConfigFileContents::PermissionDenied),
            _ => Err(refused(format!("it cannot be read: {error}"))),
        },
    }
}

fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe without a writer must not hold us up.
    let file: File = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
