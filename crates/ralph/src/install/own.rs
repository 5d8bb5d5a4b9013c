//! This very program, as others can start it: by an absolute path, whatever PATH and HOME they have.
use std::path::{Path, PathBuf};

use super::error::InstallError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    path: String,
}

impl Own {
    /// `known` are places at which the user finds ralph. One that leads here outlives an update better than where it leads.
    pub fn find(known: impl IntoIterator<Item = PathBuf>) -> Result<Self, InstallError> {
        let own = std::env::current_exe().map_err(|source| InstallError::Own { source })?;
        let is_here =
            |path: &PathBuf| path.is_absolute() && path.canonicalize().is_ok_and(|real| real == own);
        Self::at(known.into_iter().find(is_here).as_deref().unwrap_or(&own))
    }

    pub fn at(path: &Path) -> Result<Self, InstallError> {
        let unfit = |what| InstallError::Unfit { path: path.to_path_buf(), what };
        let text =
            path.to_str().ok_or_else(|| unfit("is no UTF-8 text, and cannot be written into settings"))?;
        if !path.is_absolute() || !path.is_file() {
            return Err(unfit("is not there any more: start ralph from where it is"));
        }
        Ok(Self { path: text.to_owned() })
    }

    /// Returns the path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path as a shell takes it for one word.
    #[must_use]
    pub fn quoted(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        match self.path.chars().all(is_plain) {
            true => self.path.clone(),
            false => format!("'{}'", self.path.replace('\'', r"'\''")),
        }
    }

    /// Returns the command of a hook.
    #[must_use]
    pub fn hook(&self, host: &str) -> String {
        format!("{} hook {host}", self.quoted())
    }
}

/// Tells whether a command is the hook of some ralph for this host.
pub(super) fn is_hook(command: &str, host: &str) -> bool {
    let program = command.strip_suffix(host).and_then(|rest| rest.strip_suffix(" hook "));
    program.is_some_and(|program| {
        let path = program.trim_matches('\'');
        path.starts_with('/') && path.rsplit('/').next().is_some_and(|name| name.starts_with("ralph"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: H2
    // fault: 115
    #[test]
    fn a_hook_names_ralph_by_its_whole_path_and_a_shell_takes_it_for_one_word() {
        let temp = tempfile::tempdir().unwrap();
        let odd = temp.path().join("it's $HOME; `x`");
        std::fs::create_dir(&odd).unwrap();
        for folder in [temp.path(), odd.as_path()] {
            let path = folder.join("ralph");
            std::fs::write(&path, "#!/bin/sh\nprintf '%s' \"$*\"\n").unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let command = Own::at(&path).unwrap().hook("claude");
            assert!(is_hook(&command, "claude") && !is_hook(&command, "codex"), "{command}");
            let said =
                std::process::Command::new("/bin/sh").env_clear().args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), "hook claude", "{command}");
        }
    }

    // spec: H2
    #[test]
    fn hooks_of_others_are_none_of_ours() {
        for command in [
            "ralph hook claude",
            "/bin/other hook claude",
            "/bin/ralph hook claude; x",
            "/bin/ralph run claude",
            "",
        ] {
            assert!(!is_hook(command, "claude"), "{command}");
        }
    }
}
