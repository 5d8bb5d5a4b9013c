//! The command with which a hook starts ralph: by absolute path in a user's files, by name in shared project files. For
//! users without ralph, a shared hook does nothing except read its stdin.
use crate::install::install_target::InstallScope;
use crate::install::ralph_executable::RalphExecutable;
use ralph_util::shell_words;

/// The name of the executable on PATH.
pub(crate) const RALPH_NAME: &str = "ralph";

const GUARD_PREFIX: &str = "command -v ralph >/dev/null 2>&1 && exec ";
const GUARD_SUFFIX: &str = "; cat >/dev/null 2>&1 || :";

/// Returns the program that users, agents and plugins call: the path of this ralph, or its name in shared project
/// files.
pub(crate) fn ralph_program<'a>(scope: &InstallScope, own: &'a RalphExecutable) -> &'a str {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => own.path(),
        InstallScope::Project(_) => RALPH_NAME,
    }
}

/// Same as [`ralph_program`], quoted as one shell word.
pub(crate) fn ralph_shell_word(scope: &InstallScope, own: &RalphExecutable) -> String {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => own.shell_quoted(),
        InstallScope::Project(_) => RALPH_NAME.to_owned(),
    }
}

/// Returns the command of a hook. `args` need no quoting: a host, an event, options.
pub(crate) fn hook_command(scope: &InstallScope, own: &RalphExecutable, args: &str) -> String {
    match scope {
        InstallScope::User | InstallScope::Plugin(_) => hook_command_by_path(own, args),
        InstallScope::Project(_) => format!("sh -c '{GUARD_PREFIX}{RALPH_NAME} hook {args}{GUARD_SUFFIX}'"),
    }
}

/// Returns the command of a hook in a file that is not shared.
pub(crate) fn hook_command_by_path(own: &RalphExecutable, args: &str) -> String {
    format!("{} hook {args}", own.shell_quoted())
}

/// The call of ralph within the command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RalphCall<'a> {
    ByPath(&'a str),
    /// In exactly the form that [`hook_command`] writes.
    ByName(String),
}

/// Finds the call of ralph within a command.
pub(crate) fn find_ralph_call(command: &str) -> RalphCall<'_> {
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
    /// Returns the text of the call.
    pub(crate) fn command_text(&self) -> &str {
        match self {
            Self::ByPath(text) => text,
            Self::ByName(text) => text,
        }
    }
}
