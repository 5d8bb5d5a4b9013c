//! `cargo xtask deny`: checks licences, bans and sources of all dependencies with cargo-deny, and records the pass. CI does not
//! run cargo-deny, which takes minutes to build; it fails if the dependencies have changed since the recorded pass.
//! Advisories are not checked, because they need a database from the network.
use std::fs;
use std::path::PathBuf;

use crate::agents::cache_folder;
use crate::command_line::{CommandLine, repository_root};
use crate::error::{Result, XtaskError};
use crate::out;

const VERSION: &str = "0.20.2";

/// The recorded pass: a hash and a name per line.
const RECORD: &str = ".config/deny-pass";

/// The files that decide the result.
const CHECKED_FILES: [&str; 2] = ["Cargo.lock", "deny.toml"];

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        return Err(XtaskError::new(format!("deny takes no argument, but got {arg}")));
    }
    let program = install()?.display().to_string();
    let check = CommandLine::parse(&program).args(["--log-level", "error", "check", "licenses", "bans", "sources"]);
    check.run_quietly()?;
    let record = repository_root().join(RECORD);
    fs::write(&record, current_hashes()?).map_err(|error| XtaskError::with_cause(record.display(), error))?;
    out::print_line(&format!("deny: licences, bans and sources are fine; recorded in {RECORD}"));
    Ok(())
}

/// Installs cargo-deny into the cache if necessary, and returns its path.
fn install() -> Result<PathBuf> {
    let folder = cache_folder()?.join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        out::print_line(&format!("installing cargo-deny {VERSION} (takes some minutes)"));
        let root = folder.display().to_string();
        CommandLine::parse("cargo install --locked --quiet cargo-deny --version")
            .args([VERSION, "--root", &root])
            .run_quietly()?;
    }
    Ok(program)
}

/// Fails if the dependencies or their rules have changed since the recorded pass.
pub(crate) fn check_recorded_pass() -> Result<()> {
    let recorded = fs::read_to_string(repository_root().join(RECORD)).unwrap_or_default();
    if recorded == current_hashes()? {
        return Ok(());
    }
    Err(XtaskError::new(format!("{} have changed since the pass recorded in {RECORD}", CHECKED_FILES.join(" or ")))
        .with_hint("run `cargo xtask deny`, and commit the record"))
}

fn current_hashes() -> Result<String> {
    let mut record = String::new();
    for file in CHECKED_FILES {
        let path = repository_root().join(file).display().to_string();
        let hash = CommandLine::parse("git hash-object --").args([path]).read_stdout()?;
        record.push_str(&format!("{} {file}\n", hash.trim()));
    }
    Ok(record)
}
