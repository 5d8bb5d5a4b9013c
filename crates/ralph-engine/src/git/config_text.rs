//! Finds words in the text of git's configuration files. The files are not parsed: if a setting may matter, the caller asks git.
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::head_file::{find_common_dir, find_git_dir};
use crate::git::work_files::exact_files::{MAX_SETTINGS_BYTES, read_regular_file};

/// Variables that replace the configuration files.
const OTHER_FILES: [&str; 2] = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"];

/// The text of configuration files, in lower case and without blanks.
pub(super) struct ConfigText {
    text: String,
}

impl ConfigText {
    /// Reads the configuration of the repository of a work tree. `None`: it cannot be read.
    pub(super) fn of_repository(root: &Path) -> Option<Self> {
        let git_dir = find_git_dir(root)?;
        let shared = read_settings(&find_common_dir(&git_dir).join("config"))?;
        let of_worktree = git_dir.join("config.worktree");
        let of_worktree = if is_there(&of_worktree) { read_settings(&of_worktree)? } else { String::new() };
        Some(Self { text: shared + &of_worktree })
    }

    /// Reads the configuration files that are not part of a repository. `None`: one cannot be read.
    pub(super) fn of_user() -> Option<Self> {
        let home_file = home_folder().map(|home| home.join(".gitconfig"));
        let of_user = home_file.into_iter().chain(user_file("config"));
        let named = OTHER_FILES.into_iter().filter_map(std::env::var_os).map(PathBuf::from);
        let mut text = String::new();
        for file in of_user.chain(named).chain(system_files("gitconfig")).filter(|file| is_there(file)) {
            // The device of an empty file is not a regular one.
            if file != Path::new("/dev/null") {
                text.push_str(&read_settings(&file)?);
            }
        }
        Some(Self { text })
    }

    /// Returns whether one of these words, in lower case and without blanks, is part of the configuration.
    pub(super) fn mentions(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.text.contains(word))
    }

    /// Returns whether every setting with this name has this value.
    pub(super) fn has_only(&self, name: &str, value: &str) -> bool {
        self.text.matches(name).count() == self.text.matches(&format!("{name}={value}\n")).count()
    }
}

fn is_there(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}

fn read_settings(file: &Path) -> Option<String> {
    let content = read_regular_file(file, MAX_SETTINGS_BYTES).ok()?;
    let is_whole = (content.len() as u64) < MAX_SETTINGS_BYTES;
    let text = String::from_utf8_lossy(&content).to_ascii_lowercase().replace([' ', '\t', '\r'], "");
    is_whole.then(|| text + "\n")
}

fn home_folder() -> Option<PathBuf> {
    set_variable("HOME").map(PathBuf::from)
}

fn set_variable(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns the path of a file of the user that git reads without a setting that names it.
pub(super) fn user_file(name: &str) -> Option<PathBuf> {
    let config_home = set_variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = config_home.or_else(|| Some(home_folder()?.join(".config")))?;
    Some(folder.join("git").join(name))
}

/// Returns the paths of a file of the system: where distributions have it, and beside the folder of the program.
pub(super) fn system_files(name: &str) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let program = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|program| program.is_file());
    let linked = program.as_ref().and_then(|program| program.canonicalize().ok());
    let beside = |program: PathBuf| Some(program.parent()?.parent()?.join("etc").join(name));
    let besides = program.into_iter().chain(linked).filter_map(beside);
    [Path::new("/etc").join(OsStr::new(name))].into_iter().chain(besides).collect()
}
