//! This very program, as others can start it: by an absolute path, whatever PATH and HOME they have.
use std::path::{Path, PathBuf};

use super::error::InstallError;
use crate::shell_words;

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

/// Which commands in the settings of a host are hooks of ours.
pub(super) struct Ours<'a> {
    host: &'a str,
    /// Ralphs that may be called otherwise.
    programs: Vec<&'a str>,
}

impl<'a> Ours<'a> {
    /// `old` is the program that was installed before.
    pub(super) fn new(host: &'a str, own: &'a Own, old: Option<&'a str>) -> Self {
        Self { host, programs: std::iter::once(own.path()).chain(old).collect() }
    }

    /// Tells whether a command is the hook of some ralph for this host, whatever it is told beside. With another command
    /// behind it, it is the user's.
    pub(super) fn is(&self, command: &str) -> bool {
        let words = shell_words::split(command).unwrap_or_default();
        let [program, hook, host, more @ ..] = words.as_slice() else { return false };
        hook == "hook"
            && host == self.host
            && self.is_ralph(program)
            && !command.trim().contains('\n')
            && !more.iter().any(|word| begins_another(word))
    }

    fn is_ralph(&self, program: &str) -> bool {
        let is_named = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("ralph"));
        program.starts_with('/') && (is_named(program) || self.programs.contains(&program))
    }
}

fn begins_another(word: &str) -> bool {
    word == "&" || word.contains([';', '|', '`']) || word.contains("&&") || word.contains("$(")
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
            let own = Own::at(&path).unwrap();
            let command = own.hook("claude");
            let is_of = |host| Ours::new(host, &own, None).is(&command);
            assert!(is_of("claude") && !is_of("codex"), "{command}");
            let said =
                std::process::Command::new("/bin/sh").env_clear().args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), "hook claude", "{command}");
        }
    }

    // spec: H2
    #[test]
    fn hooks_of_others_are_none_of_ours() {
        let own = Own { path: "/bin/loop".to_owned() };
        let ours = Ours::new("claude", &own, Some("/old/loop"));
        for command in [
            "ralph hook claude",
            "/bin/other hook claude",
            "/bin/ralph hook claude; x",
            "/bin/ralph hook claude && x",
            "/bin/ralph hook claude | x",
            "/bin/ralph hook claude & x",
            "/bin/ralph hook claude\nx",
            "/bin/ralph hook claude $(x)",
            "/bin/ralph hook 'claude",
            "/bin/ralph run claude",
            "",
        ] {
            assert!(!ours.is(command), "{command}");
        }
    }

    // spec: H2
    #[test]
    fn a_hook_is_ours_whatever_it_is_told_beside_and_whatever_this_ralph_is_called() {
        let own = Own { path: "/my bin/loop".to_owned() };
        let ours = Ours::new("claude", &own, Some("/old/loop"));
        for command in [
            "/bin/ralph hook claude --seconds 1800",
            "/bin/ralph-2 hook claude --seconds=1800 2>>/tmp/log",
            "'/my bin/loop' hook claude",
            "\"/my bin/loop\" hook claude Stop\n",
            "/old/loop  hook claude --seconds 60",
        ] {
            assert!(ours.is(command), "{command}");
        }
    }
}
