//! The path of the running ralph executable, and which hook commands start ralph.
use std::path::{Path, PathBuf};

use super::contents::hook_command::{self, RalphCall, find_ralph_call};
use super::error::InstallError;
use ralph_util::shell_words;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RalphExecutable {
    path: String,
    path_lookup: PathLookup,
}

/// The result of looking up `ralph` on the user's PATH.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathLookup {
    ThisExecutable,
    OtherExecutable(PathBuf),
    NotFound,
}

impl RalphExecutable {
    /// Locates the running executable. `on_path` is the `ralph` on the user's PATH. If it resolves to this executable,
    /// it is preferred, because it survives an update better than the resolved path.
    pub fn locate(on_path: Option<PathBuf>) -> Result<Self, InstallError> {
        let own = std::env::current_exe().map_err(|source| InstallError::UnknownExecutable { source })?;
        let is_this = |path: &Path| path.canonicalize().is_ok_and(|real| real == own);
        match on_path {
            Some(path) if path.is_absolute() && is_this(&path) => Self::from_path(&path, PathLookup::ThisExecutable),
            Some(other) => Self::from_path(&own, PathLookup::OtherExecutable(other)),
            None => Self::from_path(&own, PathLookup::NotFound),
        }
    }

    fn from_path(path: &Path, path_lookup: PathLookup) -> Result<Self, InstallError> {
        let unusable = |problem| InstallError::UnusablePath { path: path.to_path_buf(), problem };
        let text = path.to_str().ok_or_else(|| unusable("is not valid UTF-8, so it cannot be written to settings"))?;
        if !path.is_absolute() || !path.is_file() {
            return Err(unusable("no longer exists: start ralph from its current location"));
        }
        Ok(Self { path: text.to_owned(), path_lookup })
    }

    /// Returns a warning if hooks that call `ralph` by name do not start this executable.
    #[must_use]
    pub fn path_warning(&self) -> Option<String> {
        match &self.path_lookup {
            PathLookup::ThisExecutable => None,
            PathLookup::NotFound => Some(format!(
                "`ralph` is not on your PATH, so shared hooks of a project do nothing: add the folder of {} to PATH",
                self.path
            )),
            PathLookup::OtherExecutable(other) => Some(format!(
                "`ralph` on your PATH is {}, so shared hooks of a project start that executable instead of {}",
                other.display(),
                self.path
            )),
        }
    }

    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path, quoted as one shell word. Hand-written because the `shlex` crate quotes some paths
    /// differently, and hooks of existing installations would then count as changed.
    #[must_use]
    pub fn shell_quoted(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
        match self.path.chars().all(is_plain) {
            true => self.path.clone(),
            false => format!("'{}'", self.path.replace('\'', r"'\''")),
        }
    }
}

/// Recognises ralph's hooks in the settings of a host.
pub(crate) struct HookMatcher<'a> {
    host: &'a str,
    /// Paths of ralph executables that may have another name.
    programs: Vec<&'a str>,
}

impl<'a> HookMatcher<'a> {
    /// `old` is the executable of the previous installation.
    pub(crate) fn new(host: &'a str, own: &'a RalphExecutable, old: Option<&'a str>) -> Self {
        Self { host, programs: std::iter::once(own.path()).chain(old).collect() }
    }

    /// Returns whether a command is a hook of any ralph for this host, with any options. A command line that runs
    /// something else too belongs to the user.
    pub(crate) fn matches_command(&self, command: &str) -> bool {
        let call = find_ralph_call(command);
        let words = shell_words::split_words(call.command_text()).unwrap_or_default();
        let [program, hook, host, options @ ..] = words.as_slice() else { return false };
        let is_ralph = match call {
            RalphCall::ByPath(_) => self.is_ralph_program(program),
            RalphCall::ByName(_) => program == hook_command::RALPH_NAME,
        };
        hook == "hook"
            && host == self.host
            && is_ralph
            && !command.trim().contains('\n')
            && !options.iter().any(|word| starts_another_command(word))
    }

    fn is_ralph_program(&self, program: &str) -> bool {
        let is_named_ralph = |path: &str| path.rsplit('/').next().is_some_and(|name| name.starts_with("ralph"));
        program.starts_with('/') && (is_named_ralph(program) || self.programs.contains(&program))
    }
}

fn starts_another_command(word: &str) -> bool {
    word == "&" || word.contains([';', '|', '`']) || word.contains("&&") || word.contains("$(")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::InstallScope;

    // spec: H2
    // fault: 115
    #[test]
    fn a_hook_calls_ralph_by_its_absolute_path_quoted_as_one_shell_word() {
        let temp = tempfile::tempdir().unwrap();
        let odd = temp.path().join("it's $HOME; `x`");
        std::fs::create_dir(&odd).unwrap();
        for folder in [temp.path(), odd.as_path()] {
            let path = folder.join("ralph");
            std::fs::write(&path, "#!/bin/sh\nprintf '%s' \"$*\"\n").unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let own = RalphExecutable::from_path(&path, PathLookup::NotFound).unwrap();
            let command = hook_command::hook_command_by_path(&own, "claude");
            let is_of = |host| HookMatcher::new(host, &own, None).matches_command(&command);
            assert!(is_of("claude") && !is_of("codex"), "{command}");
            let output = std::process::Command::new("/bin/sh").env_clear().args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), "hook claude", "{command}");
        }
    }

    // spec: H2
    #[test]
    fn hooks_of_other_programs_are_not_ours() {
        let own = RalphExecutable { path: "/bin/loop".to_owned(), path_lookup: PathLookup::NotFound };
        let ours = HookMatcher::new("claude", &own, Some("/old/loop"));
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
            assert!(!ours.matches_command(command), "{command}");
        }
    }

    // spec: H2
    #[test]
    fn a_hook_is_ours_with_any_options_and_executable_name() {
        let own = RalphExecutable { path: "/my bin/loop".to_owned(), path_lookup: PathLookup::NotFound };
        let ours = HookMatcher::new("claude", &own, Some("/old/loop"));
        for command in [
            "/bin/ralph hook claude --seconds 1800",
            "/bin/ralph-2 hook claude --seconds=1800 2>>/tmp/log",
            "'/my bin/loop' hook claude",
            "\"/my bin/loop\" hook claude Stop\n",
            "/old/loop  hook claude --seconds 60",
        ] {
            assert!(ours.matches_command(command), "{command}");
        }
    }

    // spec: H2
    #[test]
    fn a_hook_that_calls_ralph_by_name_is_ours_only_in_its_exact_form() {
        let own = RalphExecutable { path: "/my bin/loop".to_owned(), path_lookup: PathLookup::NotFound };
        let ours = HookMatcher::new("codex", &own, None);
        let project = InstallScope::Project("/project".into());
        let command = hook_command::hook_command(&project, &own, "codex");
        assert!(
            ours.matches_command(&command) && !HookMatcher::new("qwen", &own, None).matches_command(&command),
            "{command}"
        );
        assert!(ours.matches_command(&hook_command::hook_command(&project, &own, "codex Stop --seconds 1800")));
        for (old, new) in [
            ("exec ralph", "exec other"),
            ("exec ralph", "exec /bin/ralph"),
            ("sh -c", "bash -c"),
            ("hook codex", "hook codex; x"),
            ("hook codex", "run codex"),
            ("|| :'", "|| :' x"),
            ("|| :'", "|| x'"),
            ("2>&1 &&", "2>&1; x &&"),
        ] {
            let other = command.replacen(old, new, 1);
            assert!(other != command && !ours.matches_command(&other), "{other}");
        }
    }
}
