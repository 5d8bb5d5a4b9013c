//! How a hook starts ralph: by its path, for the one user whose ralph it is; by its name, where the file is everybody's. Who has
//! no ralph must not notice that kind: it does nothing, and hears its program out.
use super::install_target::InstallScope;
use super::ralph_executable::RalphExecutable;
use ralph_util::shell_words;

/// What everybody calls ralph.
pub(super) const RALPH_NAME: &str = "ralph";

const GUARD_PREFIX: &str = "command -v ralph >/dev/null 2>&1 && exec ";
const GUARD_SUFFIX: &str = "; cat >/dev/null 2>&1 || :";

/// Returns ralph as people, agents and plugins call it. What lies in a project is everybody's.
pub(super) fn ralph_program<'a>(scope: &InstallScope, own: &'a RalphExecutable) -> &'a str {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => own.path(),
        InstallScope::Project(_) => RALPH_NAME,
    }
}

/// Returns it as a shell takes it for one word.
pub(super) fn ralph_shell_word(scope: &InstallScope, own: &RalphExecutable) -> String {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => own.shell_quoted(),
        InstallScope::Project(_) => RALPH_NAME.to_owned(),
    }
}

/// Returns the command of a hook. `words` are plain: a host, an event, options.
pub(super) fn hook_command(scope: &InstallScope, own: &RalphExecutable, words: &str) -> String {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => hook_command_by_path(own, words),
        InstallScope::Project(_) => format!("sh -c '{GUARD_PREFIX}{RALPH_NAME} hook {words}{GUARD_SUFFIX}'"),
    }
}

/// Returns the command of a hook in a file that is one user's alone.
pub(super) fn hook_command_by_path(own: &RalphExecutable, words: &str) -> String {
    format!("{} hook {words}", own.shell_quoted())
}

/// The call of some ralph within the command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RalphCall<'a> {
    ByPath(&'a str),
    /// Exactly as [`hook`] writes it.
    ByName(String),
}

/// Finds the call within a command, whoever wrote it.
pub(super) fn find_ralph_call(command: &str) -> RalphCall<'_> {
    let words = shell_words::split_words(command).unwrap_or_default();
    let inner = match words.as_slice() {
        [shell, option, script] if shell == "sh" && option == "-c" => guarded_call(script),
        _ => None,
    };
    inner.map_or(RalphCall::ByPath(command), |inner| RalphCall::ByName(inner.to_owned()))
}

fn guarded_call(script: &str) -> Option<&str> {
    script.strip_prefix(GUARD_PREFIX)?.strip_suffix(GUARD_SUFFIX)
}

impl RalphCall<'_> {
    /// Returns its words as they stand there.
    pub(super) fn command_text(&self) -> &str {
        match self {
            Self::ByPath(text) => text,
            Self::ByName(text) => text,
        }
    }
}
