//! The programs that ralph can be put into. A new one is a file beside this one and a line in [`HOSTS`].
mod claude;
mod codex;
mod codex_trust;
mod copilot;
mod gemini;
mod opencode;
mod qwen;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::call;
use super::commands::COMMANDS;
use super::error::InstallError;
use super::merge::Hook;
use super::own::Own;
use super::part::{Content, Part};
use super::patience::flag;
use super::place::{Place, Scope};
use ralph_util::suggest;

pub const HOSTS: &[&Host] =
    &[&claude::CLAUDE, &codex::CODEX, &gemini::GEMINI, &qwen::QWEN, &copilot::COPILOT, &opencode::OPENCODE];

/// One program, and what it needs to know ralph.
pub struct Host {
    pub name: &'static str,
    /// Returns where the user's own settings are.
    home: fn(&Place<'_>) -> Result<PathBuf, InstallError>,
    /// Where they are in a project.
    project: &'static str,
    /// How many of its settings' units of time are a second.
    pub(super) ticks: u64,
    parts: fn(&Site<'_>) -> Vec<Part>,
    /// Says what people have to do themselves, if anything.
    advice: fn(&Scope) -> Option<String>,
    /// Whose a project's file with the hooks is.
    shared: Shared,
    /// Says what the user has yet to do before the host runs the hooks, as far as that can be seen.
    obstacle: fn(&Place<'_>, &Own) -> Option<String>,
    /// Says what in the settings keeps the host from running any hook.
    ban: fn(&Place<'_>) -> Option<String>,
}

/// Whose a project's file with the hooks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shared {
    /// Everybody's who has the project.
    All,
    /// The user's alone.
    One,
}

/// Where and for whom parts are made.
struct Site<'a> {
    scope: &'a Scope,
    folder: &'a Path,
    own: &'a Own,
    /// How long the host waits for a hook.
    seconds: u64,
}

/// Finds a host by its name.
pub fn find(name: &str) -> Result<&'static Host, InstallError> {
    HOSTS.iter().copied().find(|host| host.name == name).ok_or_else(|| InstallError::UnknownHost {
        name: name.to_owned(),
        near: suggest::near(name, &names()),
    })
}

fn names() -> Vec<&'static str> {
    HOSTS.iter().map(|host| host.name).collect()
}

impl Host {
    /// Returns the folder with the settings.
    pub fn folder(&self, place: &Place<'_>) -> Result<PathBuf, InstallError> {
        match &place.scope {
            Scope::User => (self.home)(place),
            Scope::Project(root) => Ok(root.join(self.project)),
            Scope::Plugin(folder) => Ok(folder.clone()),
        }
    }

    /// Returns everything that belongs to it, with hooks for which the host waits so many seconds.
    pub(super) fn parts(&self, place: &Place<'_>, folder: &Path, (own, seconds): (&Own, u64)) -> Vec<Part> {
        (self.parts)(&Site { scope: &place.scope, folder, own, seconds })
    }

    /// Says what people have to do themselves, if anything.
    #[must_use]
    pub fn advice(&self, scope: &Scope) -> Option<String> {
        (self.advice)(scope)
    }

    /// Tells whether its hooks name ralph by its name.
    pub(super) fn is_by_name(&self, scope: &Scope) -> bool {
        matches!(scope, Scope::Project(_)) && self.shared == Shared::All
    }

    /// Says what in the settings keeps it from running any hook.
    pub(super) fn ban(&self, place: &Place<'_>) -> Option<String> {
        (self.ban)(place)
    }

    /// Says what the user has yet to do before the host runs the hooks, as far as that can be seen.
    #[must_use]
    pub fn obstacle(&self, place: &Place<'_>, own: &Own) -> Option<String> {
        (self.obstacle)(place, own)
    }
}

impl Site<'_> {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns ralph as people and agents call it.
    fn ralph(&self) -> String {
        call::word(self.scope, self.own)
    }

    /// Returns the command of a hook, with the host's name and what else it is told.
    fn command(&self, words: &str) -> String {
        call::hook(self.scope, self.own, &format!("{words}{}", flag(self.seconds)))
    }

    /// Puts hooks into a file with settings, as most hosts have them.
    fn hooks(&self, file: &str, hook: &Value, events: &[&'static str]) -> Part {
        let entry = json!({ "hooks": [hook] });
        let hooks = events.iter().map(|event| Hook { event, entry: entry.clone() }).collect();
        Part { path: self.at(file), content: Content::Hooks(hooks) }
    }

    /// Makes a skill of every command.
    fn skills(&self, mark: char) -> impl Iterator<Item = Part> {
        COMMANDS.iter().map(move |command| {
            Part::whole(
                self.at(&format!("skills/{}/SKILL.md", command.name)),
                command.skill(&self.ralph(), mark),
            )
        })
    }
}
