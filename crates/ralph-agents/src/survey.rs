//! Which agents are on this machine, found without starting any: the file on PATH, and the version that its package
//! names.
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::{Agent, Program};
use ralph_process as process;
use ralph_process::SpawnError;

/// How far above a program its package may begin.
const DEPTH: usize = 6;
/// Longer files are no packages.
const LONGEST: u64 = 1 << 20;

/// Where an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// On PATH. The version is known where a package beside it tells.
    Installed {
        path: PathBuf,
        version: Option<String>,
    },
    Missing,
    /// On PATH is a file of its name, but no program that runs here.
    Broken {
        why: String,
    },
    /// It is part of ralph.
    BuiltIn,
    /// The user names the program.
    Yours,
}

/// Looks for an agent's program as it would be started from a folder.
#[must_use]
pub fn look(agent: &dyn Agent, folder: &Path) -> Presence {
    match agent.program() {
        Program::OwnBinary => Presence::BuiltIn,
        Program::Required => Presence::Yours,
        Program::Named(program) => match process::find_program(folder, program) {
            Ok(path) => {
                let version = agent.about().package.and_then(|package| packaged_version(&path, package));
                Presence::Installed { path, version }
            }
            Err(SpawnError::NotFound { .. }) => Presence::Missing,
            Err(error) => Presence::Broken { why: error.to_string() },
        },
    }
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}

/// Returns the version of the package that the program is part of. Parts for one machine have longer names.
#[must_use]
pub fn packaged_version(program: &Path, package: &str) -> Option<String> {
    let file = fs::canonicalize(program).ok()?;
    let folders = file.ancestors().skip(1).take(DEPTH);
    let found = folders.filter_map(|folder| read(&folder.join("package.json")));
    found.into_iter().find(|found| found.name.starts_with(package)).map(|found| found.version)
}

fn read(path: &Path) -> Option<Package> {
    let is_sane = fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() < LONGEST);
    is_sane.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A8
    fn a_program_has_the_version_of_the_package_that_it_is_part_of() {
        let temp = tempfile::tempdir().unwrap();
        let package = temp.path().join("node_modules/@openai/codex");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(temp.path().join("package.json"), r#"{"name":"mine","version":"9.9.9"}"#).unwrap();
        fs::write(package.join("package.json"), r#"{"name":"@openai/codex","version":"0.166.0"}"#).unwrap();
        fs::write(package.join("bin/codex.js"), "").unwrap();
        let link = temp.path().join("codex");
        std::os::unix::fs::symlink(package.join("bin/codex.js"), &link).unwrap();
        assert_eq!(packaged_version(&link, "@openai/codex").as_deref(), Some("0.166.0"));
        assert_eq!(
            packaged_version(&link, "@google/gemini-cli"),
            None,
            "the project's own package is another"
        );
        assert_eq!(packaged_version(&temp.path().join("gone"), "@openai/codex"), None);
    }
}
