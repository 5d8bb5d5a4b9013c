//! How a hook starts ralph: by its path, for the one user whose ralph it is; by its name, where the file is everybody's. Who has
//! no ralph must not notice that kind: it does nothing, and hears its program out.
use super::own::Own;
use super::place::Scope;
use ralph_util::shell_words;

/// What everybody calls ralph.
pub(super) const NAME: &str = "ralph";

const BEFORE: &str = "command -v ralph >/dev/null 2>&1 && exec ";
const BEHIND: &str = "; cat >/dev/null 2>&1 || :";

/// Returns ralph as people, agents and plugins call it. What lies in a project is everybody's.
pub(super) fn program<'a>(scope: &Scope, own: &'a Own) -> &'a str {
    match scope {
        Scope::User | Scope::Plugin(_) => own.path(),
        Scope::Project(_) => NAME,
    }
}

/// Returns it as a shell takes it for one word.
pub(super) fn word(scope: &Scope, own: &Own) -> String {
    match scope {
        Scope::User | Scope::Plugin(_) => own.quoted(),
        Scope::Project(_) => NAME.to_owned(),
    }
}

/// Returns the command of a hook. `words` are plain: a host, an event, options.
pub(super) fn hook(scope: &Scope, own: &Own, words: &str) -> String {
    match scope {
        Scope::User | Scope::Plugin(_) => by_path(own, words),
        Scope::Project(_) => format!("sh -c '{BEFORE}{NAME} hook {words}{BEHIND}'"),
    }
}

/// Returns the command of a hook in a file that is one user's alone.
pub(super) fn by_path(own: &Own, words: &str) -> String {
    format!("{} hook {words}", own.quoted())
}

/// The call of some ralph within the command of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Called<'a> {
    ByPath(&'a str),
    /// Exactly as [`hook`] writes it.
    ByName(String),
}

/// Finds the call within a command, whoever wrote it.
pub(super) fn called(command: &str) -> Called<'_> {
    let words = shell_words::split(command).unwrap_or_default();
    let inner = match words.as_slice() {
        [shell, option, script] if shell == "sh" && option == "-c" => within(script),
        _ => None,
    };
    inner.map_or(Called::ByPath(command), |inner| Called::ByName(inner.to_owned()))
}

fn within(script: &str) -> Option<&str> {
    script.strip_prefix(BEFORE)?.strip_suffix(BEHIND)
}

impl Called<'_> {
    /// Returns its words as they stand there.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::ByPath(text) => text,
            Self::ByName(text) => text,
        }
    }
}
