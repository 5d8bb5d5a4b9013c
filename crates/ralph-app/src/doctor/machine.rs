//! What every run needs beside an agent: git, a place for the state, room on its disk.
use std::path::{Path, PathBuf};

use super::finding::{Finding, Status};
use ralph_engine::git;
use ralph_store::{Opening, Store};

const GIGABYTE: u64 = 1 << 30;
/// With less than this the logs of one long run may not fit.
const LITTLE: u64 = GIGABYTE;
/// With less than this not even the database is safe.
const TOO_LITTLE: u64 = 64 << 20;

/// Where a run would work.
#[derive(Debug, Clone)]
pub struct Place {
    pub root: PathBuf,
    pub state: PathBuf,
}

/// Looks at the machine. Outside of a repository there is no place.
pub async fn of_machine(place: Result<&Place, String>) -> Vec<Finding> {
    let mut findings = vec![git_program()];
    match place {
        Err(why) => findings.push(
            Finding::new("project", Status::Warning, why)
                .hint("runs need a git repository: `git init` makes one"),
        ),
        Ok(place) => {
            let folder = nearest(&place.state);
            findings.push(state(place).await);
            findings.push(writable(folder));
            findings.push(disk(folder));
        }
    }
    findings
}

fn git_program() -> Finding {
    match git::git(Path::new("/"), &["--version"]) {
        Ok(said) => Finding::new("git", Status::Good, said.trim().to_owned()),
        Err(error) => Finding::new("git", Status::Bad, error.to_string()).hint("install git"),
    }
}

async fn state(place: &Place) -> Finding {
    let shown = place.state.display();
    match Store::open(&place.state, Opening::Existing).await {
        Ok(Some(store)) => {
            store.close().await;
            Finding::new("state", Status::Good, format!("{shown} can be read"))
        }
        Ok(None) => Finding::new("state", Status::Good, format!("{shown} holds no runs yet")),
        Err(error) => Finding::new("state", Status::Bad, error.to_string())
            .hint("`ralph runs` says more, and what to do about it"),
    }
}

/// Returns the folder, or the nearest one above it that exists.
fn nearest(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder)
}

fn writable(folder: &Path) -> Finding {
    let shown = folder.display();
    match rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        Ok(()) => Finding::new("folder", Status::Good, format!("{shown} can be written")),
        Err(error) => Finding::new("folder", Status::Bad, format!("{shown} cannot be written: {error}"))
            .hint("look at its owner, its mode, and whether its disk is read-only"),
    }
}

fn disk(folder: &Path) -> Finding {
    let free = match rustix::fs::statvfs(folder) {
        Ok(facts) => facts.f_bavail.saturating_mul(facts.f_frsize),
        Err(error) => {
            return Finding::new("disk", Status::Warning, format!("its room is not known: {error}"));
        }
    };
    let what = format!("{:.1} GB are free", gigabytes(free));
    match free {
        ..TOO_LITTLE => {
            Finding::new("disk", Status::Bad, what).hint("make room: `ralph gc` removes old logs")
        }
        TOO_LITTLE..LITTLE => Finding::new("disk", Status::Warning, what)
            .hint("raw logs of a run may take up to `limits.log_limit`; `ralph gc` removes old ones"),
        LITTLE.. => Finding::new("disk", Status::Good, what),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / GIGABYTE as f64
}
