//! Detects which agents are installed without starting them: the executable on PATH, and the version in its npm
//! package.
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::program_repair::ProgramRepair;
use crate::{Agent, AgentProgram};
use ralph_process as process;
use ralph_process::SpawnError;

/// How many folders above an executable are searched for its package.json.
const MAX_PACKAGE_DEPTH: usize = 6;
/// Larger files are ignored.
const MAX_PACKAGE_JSON_BYTES: u64 = 1 << 20;

/// Whether and where an agent is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentPresence {
    /// On PATH. The version is known if the executable belongs to an npm package.
    Installed {
        path: PathBuf,
        version: Option<String>,
    },
    Missing,
    /// PATH has a file with that name, but it cannot be executed.
    Broken {
        reason: String,
        repair: Option<ProgramRepair>,
    },
    /// Part of ralph.
    BuiltIn,
    /// The user must name the program.
    UserProvided,
}

/// Finds an agent's executable as a start from `folder` would find it.
#[must_use]
pub fn detect_agent(agent: &dyn Agent, folder: &Path) -> AgentPresence {
    match agent.program() {
        AgentProgram::OwnBinary => AgentPresence::BuiltIn,
        AgentProgram::UserProvided => AgentPresence::UserProvided,
        AgentProgram::OnPath(program) => match process::find_program(folder, program) {
            Ok(path) => {
                let version = agent.profile().npm_package.and_then(|package| npm_package_version(&path, package));
                AgentPresence::Installed { path, version }
            }
            Err(SpawnError::NotFound { .. }) => AgentPresence::Missing,
            Err(error) => {
                let repair = ProgramRepair::for_error(&error);
                AgentPresence::Broken { reason: error.to_string(), repair }
            }
        },
    }
}

#[derive(Deserialize)]
struct NpmPackage {
    name: String,
    version: String,
}

/// Returns the version of the npm package that contains the executable. Platform-specific packages have the package
/// name as a prefix.
#[must_use]
pub fn npm_package_version(program: &Path, package: &str) -> Option<String> {
    let file = fs::canonicalize(program).ok()?;
    let folders = file.ancestors().skip(1).take(MAX_PACKAGE_DEPTH);
    let found = folders.filter_map(|folder| read_package_json(&folder.join("package.json")));
    found.into_iter().find(|found| found.name.starts_with(package)).map(|found| found.version)
}

fn read_package_json(path: &Path) -> Option<NpmPackage> {
    let is_plausible =
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() < MAX_PACKAGE_JSON_BYTES);
    is_plausible.then(|| serde_json::from_slice(&fs::read(path).ok()?).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A8
    fn a_program_has_the_version_of_its_npm_package() {
        let temp = tempfile::tempdir().unwrap();
        let package = temp.path().join("node_modules/@openai/codex");
        fs::create_dir_all(package.join("bin")).unwrap();
        fs::write(temp.path().join("package.json"), r#"{"name":"mine","version":"9.9.9"}"#).unwrap();
        fs::write(package.join("package.json"), r#"{"name":"@openai/codex","version":"0.166.0"}"#).unwrap();
        fs::write(package.join("bin/codex.js"), "").unwrap();
        let link = temp.path().join("codex");
        std::os::unix::fs::symlink(package.join("bin/codex.js"), &link).unwrap();
        assert_eq!(npm_package_version(&link, "@openai/codex").as_deref(), Some("0.166.0"));
        assert_eq!(
            npm_package_version(&link, "@google/gemini-cli"),
            None,
            "a package.json of the project is a different package"
        );
        assert_eq!(npm_package_version(&temp.path().join("gone"), "@openai/codex"), None);
    }
}
