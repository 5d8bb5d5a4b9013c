//! `cargo xtask agents [--all]`: installs the agents that are tested for real, and prints where they are, as a shell
//! reads it. Each npm project is installed once, into a cache outside of the repository that is named by its lock.
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::command_line::{CommandLine, repository_root};
use crate::error::{Result, XtaskError};
use crate::out;

/// One npm project.
pub(crate) struct AgentPackage {
    /// Its folder below `crates/ralph-cli/testing`.
    folder: &'static str,
    /// The variable by which the tests learn where it is.
    pub(crate) variable: &'static str,
    /// The agents in it.
    pub(crate) agents: &'static str,
}

pub(crate) const STANDARD_AGENTS: AgentPackage =
    AgentPackage { folder: "agents", variable: "RALPH_TEST_AGENTS", agents: "claude, codex and opencode" };

pub(crate) const EXTRA_AGENTS: AgentPackage = AgentPackage {
    folder: "more_agents",
    variable: "RALPH_TEST_MORE_AGENTS",
    agents: "gemini, qwen, copilot, cline and goose",
};

/// What npm reads of a project.
const NPM_FILES: &[&str] = &["package.json", "package-lock.json", ".npmrc"];

const NPM_HINT: &str = "install Node.js 20 or newer with npm: `apt-get install nodejs npm` (Debian, Ubuntu), \
                        `dnf install nodejs-npm` (Fedora), `apk add nodejs npm` (Alpine), `brew install node` (macOS)";

pub(crate) fn main(args: &[String]) -> Result<()> {
    let packages: &[AgentPackage] = match args {
        [] => &[STANDARD_AGENTS],
        [all] if all == "--all" => &[STANDARD_AGENTS, EXTRA_AGENTS],
        _ => return Err(XtaskError::new("agents takes no argument but --all")),
    };
    for set in packages {
        out::print_line(&format!("export {}={}", set.variable, install_package(set)?.display()));
    }
    Ok(())
}

/// Returns the folder where the set is installed, and installs it if it is not there yet.
pub(crate) fn install_package(package: &AgentPackage) -> Result<PathBuf> {
    let source = repository_root().join("crates/ralph-cli/testing").join(package.folder);
    let cache = cache_folder()?;
    let wanted = cache.join(format!("{}-{}", package.folder, lock_hash(&source)?));
    // Whoever comes second waits, and then finds it there.
    let lock = cache.join("lock");
    let lock = File::create(&lock).map_err(|error| XtaskError::with_cause(lock.display(), error))?;
    lock.lock().map_err(|error| XtaskError::with_cause("the lock of the agents", error))?;
    if wanted.is_dir() {
        return Ok(wanted);
    }
    let unfinished = cache.join("unfinished");
    npm_install(&source, &unfinished)?;
    fs::rename(&unfinished, &wanted).map_err(|error| XtaskError::with_cause(wanted.display(), error))?;
    Ok(wanted)
}

/// Returns the folder for all sets, which outlives `cargo clean`.
fn cache_folder() -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let folder = base.unwrap_or_else(std::env::temp_dir).join("ralph/agents");
    fs::create_dir_all(&folder).map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    Ok(folder)
}

/// Returns the name of exactly these versions.
fn lock_hash(source: &Path) -> Result<String> {
    let lock = source.join("package-lock.json").display().to_string();
    let hash = CommandLine::parse("git hash-object --").args([lock]).read_stdout()?;
    Ok(hash.trim().chars().take(16).collect())
}

/// `npm ci` is not used: it wants every platform's packages in the lock, and not every registry has them all.
fn npm_install(source: &Path, folder: &Path) -> Result<()> {
    if !CommandLine::parse("npm --version").can_run() {
        return Err(
            XtaskError::new("the tests with real agents need npm, and there is none on PATH").with_hint(NPM_HINT)
        );
    }
    // What an install that was cut short has left.
    drop(fs::remove_dir_all(folder));
    fs::create_dir_all(folder).map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    for file in NPM_FILES {
        let copied = fs::copy(source.join(file), folder.join(file));
        copied.map_err(|error| XtaskError::with_cause(source.join(file).display(), error))?;
    }
    let folder = folder.display().to_string();
    let install = CommandLine::parse("npm install --no-save --loglevel error --prefix").args([folder]);
    out::print_error(&format!("$ {}   (once; about 600 MB)", install.to_shell_text()));
    install
        .run_quietly()
        .map_err(|failure| failure.with_hint("the npm registry must be within reach for this one time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locks_name_no_registry_and_pin_every_direct_dependency() {
        for set in [STANDARD_AGENTS, EXTRA_AGENTS] {
            let folder = repository_root().join("crates/ralph-cli/testing").join(set.folder);
            let lock = fs::read_to_string(folder.join("package-lock.json")).unwrap();
            assert!(!lock.contains("\"resolved\""), "{}", set.folder);
            let package = fs::read_to_string(folder.join("package.json")).unwrap();
            let ranges = ["\"^", "\"~", "\"*", "\">", "latest"];
            assert!(ranges.iter().all(|range| !package.contains(range)), "{package}");
        }
    }

    #[test]
    fn a_set_is_named_by_its_lock() {
        let name = |set: &AgentPackage| {
            lock_hash(&repository_root().join("crates/ralph-cli/testing").join(set.folder)).unwrap()
        };
        assert_ne!(name(&STANDARD_AGENTS), name(&EXTRA_AGENTS));
        assert_eq!(name(&STANDARD_AGENTS).len(), 16);
    }

    #[test]
    fn an_unknown_argument_is_refused() {
        assert!(main(&["--some".to_owned()]).is_err());
    }
}
