//! `cargo xtask agents [--all]`: installs the real agents for the tests, and prints their folders as shell exports.
//! Each npm project is installed once, into a cache outside the repository whose name contains the hash of the lock
//! file.
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::browser::{self, CHROMIUM_VARIABLE};
use crate::command_line::{CommandLine, repository_root};
use crate::error::{Result, XtaskError};
use crate::out;

/// An npm project with agents.
pub(crate) struct AgentPackage {
    /// The folder below `crates/ralph-cli/testing`.
    folder: &'static str,
    /// The environment variable that passes the installation folder to the tests.
    pub(crate) variable: &'static str,
    /// The names of its agents, for messages.
    pub(crate) agents: &'static str,
}

pub(crate) const STANDARD_AGENTS: AgentPackage =
    AgentPackage { folder: "agents", variable: "RALPH_TEST_AGENTS", agents: "claude, codex and opencode" };

pub(crate) const EXTRA_AGENTS: AgentPackage = AgentPackage {
    folder: "more_agents",
    variable: "RALPH_TEST_MORE_AGENTS",
    agents: "gemini, qwen, copilot, cline, goose, pi, claude-agent-acp and codex-acp",
};

/// The runtimes of script nodes, from npm and PyPI.
pub(crate) const SCRIPT_RUNTIMES: AgentPackage =
    AgentPackage { folder: "runtimes", variable: "RALPH_TEST_RUNTIMES", agents: "bun and uv" };

/// The driver of the browser in the tests of the dashboard.
pub(crate) const BROWSER_DRIVER: AgentPackage =
    AgentPackage { folder: "browser", variable: "RALPH_TEST_BROWSER", agents: "the driver of the browser" };

/// Sends generated requests to the API of the server; from PyPI alone.
pub(crate) const API_TESTER: AgentPackage =
    AgentPackage { folder: "api_tester", variable: "RALPH_TEST_API_TESTER", agents: "schemathesis" };

/// The packages that the tests need.
pub(crate) const STANDARD_PACKAGES: &[AgentPackage] = &[STANDARD_AGENTS, SCRIPT_RUNTIMES, BROWSER_DRIVER, API_TESTER];

/// The same with the agents that only `--all-agents` tests.
pub(crate) const ALL_PACKAGES: &[AgentPackage] =
    &[STANDARD_AGENTS, SCRIPT_RUNTIMES, BROWSER_DRIVER, API_TESTER, EXTRA_AGENTS];

/// The packages of PyPI, if a project has some. They are installed into the folder `python`.
const PYTHON_FILE: &str = "requirements.txt";

const PYTHON_HINT: &str = "install Python 3 with pip: `apt-get install python3-pip` (Debian, Ubuntu), \
                           `dnf install python3-pip` (Fedora), `apk add py3-pip` (Alpine), `brew install python` (macOS)";

/// The files that npm needs.
const NPM_FILES: &[&str] = &["package.json", "package-lock.json", ".npmrc"];

const NPM_HINT: &str = "install Node.js 20 or newer with npm: `apt-get install nodejs npm` (Debian, Ubuntu), \
                        `dnf install nodejs-npm` (Fedora), `apk add nodejs npm` (Alpine), `brew install node` (macOS)";

pub(crate) fn main(args: &[String]) -> Result<()> {
    let packages: &[AgentPackage] = match args {
        [] => STANDARD_PACKAGES,
        [all] if all == "--all" => ALL_PACKAGES,
        _ => return Err(XtaskError::new("agents accepts no argument except --all")),
    };
    for package in packages {
        out::print_line(&format!("export {}={}", package.variable, install_package(package)?.display()));
    }
    out::print_line(&format!("export {CHROMIUM_VARIABLE}={}", browser::require_chromium()?.display()));
    Ok(())
}

/// Installs the package if necessary, and returns its folder.
pub(crate) fn install_package(package: &AgentPackage) -> Result<PathBuf> {
    let source = repository_root().join("crates/ralph-cli/testing").join(package.folder);
    let cache = cache_folder()?;
    let wanted = cache.join(format!("{}-{}", package.folder, lock_hash(&source)?));
    // A concurrent install waits here, and then finds the package installed.
    let lock = cache.join("lock");
    let lock = File::create(&lock).map_err(|error| XtaskError::with_cause(lock.display(), error))?;
    lock.lock().map_err(|error| XtaskError::with_cause("cannot lock the agents cache", error))?;
    if wanted.is_dir() {
        return Ok(wanted);
    }
    let unfinished = cache.join("unfinished");
    // An interrupted install may have left files.
    drop(fs::remove_dir_all(&unfinished));
    fs::create_dir_all(&unfinished).map_err(|error| XtaskError::with_cause(unfinished.display(), error))?;
    npm_install(&source, &unfinished)?;
    pip_install(&source, &unfinished)?;
    fs::rename(&unfinished, &wanted).map_err(|error| XtaskError::with_cause(wanted.display(), error))?;
    Ok(wanted)
}

/// Returns the cache folder, which `cargo clean` does not remove.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = named("XDG_CACHE_HOME").or_else(|| named("HOME").map(|home| home.join(".cache")));
    let folder = base.unwrap_or_else(std::env::temp_dir).join("ralph/agents");
    fs::create_dir_all(&folder).map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    Ok(folder)
}

/// Returns a hash of the lock file, which identifies the exact versions.
fn lock_hash(source: &Path) -> Result<String> {
    let files = ["package-lock.json", PYTHON_FILE].map(|name| source.join(name));
    let files = files.iter().filter(|file| file.exists()).map(|file| file.display().to_string());
    let hashes = CommandLine::parse("git hash-object --").args(files).read_stdout()?;
    // Eight digits of each of two hashes, or sixteen of one.
    let digits = 16 / hashes.lines().count().max(1);
    Ok(hashes.lines().flat_map(|hash| hash.trim().chars().take(digits)).collect())
}

/// Installs the packages of npm, if the project has some. Runs `npm install`, not `npm ci`, which requires packages of every platform that not every registry has.
fn npm_install(source: &Path, folder: &Path) -> Result<()> {
    if !source.join("package.json").exists() {
        return Ok(());
    }
    if !CommandLine::parse("npm --version").can_run() {
        return Err(XtaskError::new("the tests with real agents need npm, but it is not on PATH").with_hint(NPM_HINT));
    }
    for file in NPM_FILES {
        let copied = fs::copy(source.join(file), folder.join(file));
        copied.map_err(|error| XtaskError::with_cause(source.join(file).display(), error))?;
    }
    let folder = folder.display().to_string();
    let install = CommandLine::parse("npm install --no-save --loglevel error --prefix").args([folder]);
    out::print_error(&format!("$ {}   (once; about 600 MB)", install.to_shell_text()));
    install
        .run_quietly()
        .map_err(|failure| failure.with_hint("the first installation needs access to the npm registry"))
}

/// Installs the packages of PyPI, if the project has some.
fn pip_install(source: &Path, folder: &Path) -> Result<()> {
    let file = source.join(PYTHON_FILE);
    if !file.exists() {
        return Ok(());
    }
    let pip = "python3 -m pip";
    if !CommandLine::parse(&format!("{pip} --version")).can_run() {
        return Err(XtaskError::new("these tests need pip, but Python has none").with_hint(PYTHON_HINT));
    }
    let target = folder.join("python").display().to_string();
    let install = CommandLine::parse(&format!("{pip} install --quiet --disable-pip-version-check --no-deps --target"));
    let install = install.args([target, "-r".to_owned(), file.display().to_string()]);
    out::print_error(&format!("$ {}   (once)", install.to_shell_text()));
    install.run_quietly().map_err(|failure| failure.with_hint("the first installation needs access to PyPI"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_files_name_no_registry_and_pin_every_direct_dependency() {
        for set in [STANDARD_AGENTS, SCRIPT_RUNTIMES, BROWSER_DRIVER, EXTRA_AGENTS] {
            let folder = repository_root().join("crates/ralph-cli/testing").join(set.folder);
            let lock = fs::read_to_string(folder.join("package-lock.json")).unwrap();
            assert!(!lock.contains("\"resolved\""), "{}", set.folder);
            let package = fs::read_to_string(folder.join("package.json")).unwrap();
            let ranges = ["\"^", "\"~", "\"*", "\">", "latest"];
            assert!(ranges.iter().all(|range| !package.contains(range)), "{package}");
        }
    }

    #[test]
    fn a_package_is_identified_by_its_lock_file() {
        let name = |set: &AgentPackage| {
            lock_hash(&repository_root().join("crates/ralph-cli/testing").join(set.folder)).unwrap()
        };
        assert_ne!(name(&STANDARD_AGENTS), name(&EXTRA_AGENTS));
        assert_eq!(name(&STANDARD_AGENTS).len(), 16);
        assert_eq!(name(&SCRIPT_RUNTIMES).len(), 16);
    }

    #[test]
    fn an_unknown_argument_is_refused() {
        assert!(main(&["--some".to_owned()]).is_err());
    }
}
