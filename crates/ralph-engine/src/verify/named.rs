//! The files of the work tree that a check's command runs, and the folders in which it looks for programs.
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

use ralph_core::criterion::{CheckCommand, ExternalCheck, Runs};

use super::Ground;

/// How many words of a command are named that only a shell understands.
const MOST_NOTES: usize = 3;

pub(super) struct Named {
    /// Programs and scripts, each with all the places that may be meant, whether something is there or not.
    scripts: Vec<Vec<PathBuf>>,
    perhaps: Vec<PathBuf>,
    /// Folders in which programs are found by their names.
    pub(super) folders: Vec<PathBuf>,
    /// What cannot be told beforehand.
    pub(super) notes: Vec<String>,
}

impl Named {
    pub(super) fn of(ground: &Ground, check: &ExternalCheck) -> Self {
        let Runs { scripts, perhaps, folders, unknown } =
            check.command.runs(&|name| value(ground, check, name));
        let bases = bases(ground, check);
        let inside = |names: &[String]| -> Vec<PathBuf> {
            let paths =
                names.iter().flat_map(|name| bases.iter().map(move |base| straight(&base.join(name))));
            paths.filter(|path| path.starts_with(&ground.root)).collect()
        };
        let scripts: Vec<Vec<PathBuf>> = scripts.iter().map(|places| inside(places)).collect();
        Self {
            scripts: scripts.into_iter().filter(|places| !places.is_empty()).collect(),
            perhaps: inside(&perhaps),
            folders: on_path(ground, check).into_iter().chain(inside(&folders)).collect(),
            notes: unknown.iter().take(MOST_NOTES).map(|word| note(check, word)).collect(),
        }
    }

    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.scripts.iter().flatten().chain(&self.perhaps).cloned().collect()
    }

    /// Tells whether a program or script is in none of its places.
    pub(super) fn is_missing(&self) -> bool {
        self.scripts.iter().any(|places| !places.iter().any(|path| path.exists()))
    }
}

fn note(check: &ExternalCheck, word: &str) -> String {
    format!(
        "`{}` names what it runs by `{word}`: which file that is cannot be told beforehand, so it is not sealed; guard it if it decides",
        check.command
    )
}

fn value(ground: &Ground, check: &ExternalCheck, name: &str) -> Option<String> {
    let given = || ground.env.iter().find(|(known, _)| known == name)?.1.to_str().map(str::to_owned);
    check.env.get(name).cloned().or_else(given)
}

/// Returns the folders from which paths are meant. In a list, the program is meant from the root, wherever it runs.
fn bases(ground: &Ground, check: &ExternalCheck) -> Vec<PathBuf> {
    let folder =
        check.working_dir.as_ref().map_or_else(|| ground.root.clone(), |named| ground.root.join(named));
    match &check.command {
        CheckCommand::Shell(_) => vec![folder],
        CheckCommand::Argv(_) if folder == ground.root => vec![folder],
        CheckCommand::Argv(_) => vec![folder, ground.root.clone()],
    }
}

/// Returns the folders of the work tree that stand on the PATH of a check.
fn on_path(ground: &Ground, check: &ExternalCheck) -> Vec<PathBuf> {
    let own = check.env.get("PATH").map(OsString::from);
    let path =
        own.or_else(|| ground.env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone()));
    let bases = bases(ground, check);
    let entries: Vec<PathBuf> = std::env::split_paths(path.as_deref().unwrap_or(OsStr::new(""))).collect();
    entries
        .iter()
        .flat_map(|entry| bases.iter().map(move |base| straight(&base.join(entry))))
        .map(
            |entry| {
                if entry.starts_with(&ground.root) { entry } else { entry.canonicalize().unwrap_or(entry) }
            },
        )
        .filter(|entry| entry.starts_with(&ground.root))
        .collect()
}

/// Returns a path without `.` and `..`; links are not followed.
fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(straight.pop()),
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => straight.push(part),
        }
    }
    straight
}
