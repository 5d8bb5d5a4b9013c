//! What every run needs beside an agent: git, a place for the state, room on its disk.
use std::path::{Path, PathBuf};

use super::finding::{DoctorFinding, FindingStatus};
use ralph_engine::git;
use ralph_store::{OpenMode, Store};

const GIGABYTE_BYTES: u64 = 1 << 30;
/// With less than this the logs of one long run may not fit.
const LOW_DISK_BYTES: u64 = GIGABYTE_BYTES;
/// With less than this not even the database is safe.
const CRITICAL_DISK_BYTES: u64 = 64 << 20;

/// Where a run would work.
#[derive(Debug, Clone)]
pub struct ExaminedProject {
    pub root: PathBuf,
    pub state_folder: PathBuf,
}

/// Looks at the machine. Outside of a repository there is no place.
pub async fn check_machine(project: Result<&ExaminedProject, String>) -> Vec<DoctorFinding> {
    let mut findings = vec![check_git()];
    match project {
        Err(why) => findings.push(
            DoctorFinding::new("project", FindingStatus::Warning, why)
                .with_hint("runs need a git repository: `git init` makes one"),
        ),
        Ok(place) => {
            let folder = nearest_existing_folder(&place.state_folder);
            findings.push(check_state(place).await);
            findings.push(check_writable(folder));
            findings.push(check_disk_space(folder));
        }
    }
    findings
}

fn check_git() -> DoctorFinding {
    match git::run_git(Path::new("/"), &["--version"]) {
        Ok(said) => DoctorFinding::new("git", FindingStatus::Good, said.trim().to_owned()),
        Err(error) => DoctorFinding::new("git", FindingStatus::Bad, error.to_string()).with_hint("install git"),
    }
}

async fn check_state(project: &ExaminedProject) -> DoctorFinding {
    let shown = project.state_folder.display();
    match Store::open(&project.state_folder, OpenMode::Existing).await {
        Ok(Some(store)) => {
            store.close().await;
            DoctorFinding::new("state", FindingStatus::Good, format!("{shown} can be read"))
        }
        Ok(None) => DoctorFinding::new("state", FindingStatus::Good, format!("{shown} holds no runs yet")),
        Err(error) => DoctorFinding::new("state", FindingStatus::Bad, error.to_string())
            .with_hint("`ralph runs` says more, and what to do about it"),
    }
}

/// Returns the folder, or the nearest one above it that exists.
fn nearest_existing_folder(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder)
}

fn check_writable(folder: &Path) -> DoctorFinding {
    let shown = folder.display();
    match rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        Ok(()) => DoctorFinding::new("folder", FindingStatus::Good, format!("{shown} can be written")),
        Err(error) => DoctorFinding::new("folder", FindingStatus::Bad, format!("{shown} cannot be written: {error}"))
            .with_hint("look at its owner, its mode, and whether its disk is read-only"),
    }
}

fn check_disk_space(folder: &Path) -> DoctorFinding {
    let free = match rustix::fs::statvfs(folder) {
        Ok(facts) => facts.f_bavail.saturating_mul(facts.f_frsize),
        Err(error) => {
            return DoctorFinding::new("disk", FindingStatus::Warning, format!("its room is not known: {error}"));
        }
    };
    let what = format!("{:.1} GB are free", to_gigabytes(free));
    match free {
        ..CRITICAL_DISK_BYTES => {
            DoctorFinding::new("disk", FindingStatus::Bad, what).with_hint("make room: `ralph gc` removes old logs")
        }
        CRITICAL_DISK_BYTES..LOW_DISK_BYTES => DoctorFinding::new("disk", FindingStatus::Warning, what)
            .with_hint("raw logs of a run may take up to `limits.log_limit`; `ralph gc` removes old ones"),
        LOW_DISK_BYTES.. => DoctorFinding::new("disk", FindingStatus::Good, what),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn to_gigabytes(bytes: u64) -> f64 {
    bytes as f64 / GIGABYTE_BYTES as f64
}
