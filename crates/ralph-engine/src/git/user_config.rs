//! Finds words in the git configuration of the user and the system. It is not parsed: a setting that may matter is enough for the
//! caller to ask git.
use std::path::PathBuf;

use super::exact_files::{MAX_SETTINGS_BYTES, read_regular_file};

/// Variables that replace the configuration files.
const OTHER_FILES: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// The text of all configuration files that are not part of a repository.
pub(super) struct UserConfig {
    text: String,
    /// The folder of git in the user's configuration, if there is one.
    folder: Option<PathBuf>,
}

impl UserConfig {
    /// Reads the configuration files. `None`: one cannot be read.
    pub(super) fn read() -> Option<Self> {
        let home = std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let config_home = std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let folder = config_home.or_else(|| Some(home.as_ref()?.join(".config"))).map(|folder| folder.join("git"));
        let of_user =
            home.map(|home| home.join(".gitconfig")).into_iter().chain(folder.as_ref().map(|f| f.join("config")));
        let named = OTHER_FILES.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        let mut text = String::new();
        for file in of_user.chain(named).chain(system_files()) {
            if file.symlink_metadata().is_ok() {
                let content = read_regular_file(&file, MAX_SETTINGS_BYTES).ok();
                // The device of an empty file is not a regular one.
                let content = content.or_else(|| (file == std::path::Path::new("/dev/null")).then(Vec::new))?;
                text.push_str(&String::from_utf8_lossy(&content).to_ascii_lowercase());
                text.push('\n');
            }
        }
        Some(Self { text, folder })
    }

    /// Returns whether one of these words, in lower case, is part of the configuration.
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }

    /// Returns the path of a file that git reads if the configuration names no other one.
    pub(super) fn default_file(&self, name: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Returns the configuration files of the system: where distributions have it, and beside the folder of the program.
fn system_files() -> impl Iterator<Item = PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|program| program.is_file());
    let linked = program.as_ref().and_then(|program| program.canonicalize().ok());
    let beside = program.into_iter().chain(linked);
    let beside = beside.filter_map(|program| Some(program.parent()?.parent()?.join("etc/gitconfig")));
    [PathBuf::from("/etc/gitconfig")].into_iter().chain(beside)
}
