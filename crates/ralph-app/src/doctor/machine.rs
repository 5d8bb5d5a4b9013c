//! Checks the machine: git, the state folder and free disk space.
use std::path::{Path, PathBuf};

use super::finding::{DoctorAdvice, DoctorFinding, FindingStatus};
use ralph_engine::git;
use ralph_store::{OpenMode, Store};

const GIGABYTE_BYTES: u64 = 1 << 30;
/// Below this, the logs of a long run may not fit.
const LOW_DISK_BYTES: u64 = GIGABYTE_BYTES;
/// Below this, writes to the database may fail.
const CRITICAL_DISK_BYTES: u64 = 64 << 20;

/// The project that a run would use.
#[derive(Debug, Clone)]
pub struct ExaminedProject {
    pub root: PathBuf,
    pub state_folder: PathBuf,
}

/// Checks the machine. `project` is an error message outside a repository.
pub async fn check_machine(project: Result<&ExaminedProject, String>) -> Vec<DoctorFinding> {
    let mut findings = vec![check_git()];
    match project {
        Err(why) => findings.push(
            DoctorFinding::new("project", FindingStatus::Warning, why)
                .with_advice("runs need a git repository: create one with `git init`"),
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
        Ok(version) => DoctorFinding::new("git", FindingStatus::Good, version.trim().to_owned()),
        Err(error) => DoctorFinding::new("git", FindingStatus::Bad, error.to_string()).with_advice("install git"),
    }
}

async fn check_state(project: &ExaminedProject) -> DoctorFinding {
    let shown = project.state_folder.display();
    match Store::open(&project.state_folder, OpenMode::Existing).await {
        Ok(Some(store)) => {
            store.close().await;
            DoctorFinding::new("state", FindingStatus::Good, format!("{shown} is readable"))
        }
        Ok(None) => DoctorFinding::new("state", FindingStatus::Good, format!("{shown} contains no runs yet")),
        Err(error) => {
            DoctorFinding::new("state", FindingStatus::Bad, error.to_string()).with_advice(DoctorAdvice::InspectState)
        }
    }
}

/// Returns the folder, or the nearest one above it that exists.
fn nearest_existing_folder(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder)
}

fn check_writable(folder: &Path) -> DoctorFinding {
    let shown = folder.display();
    match rustix::fs::access(folder, rustix::fs::Access::WRITE_OK) {
        Ok(()) => DoctorFinding::new("folder", FindingStatus::Good, format!("{shown} is writable")),
        Err(error) => DoctorFinding::new("folder", FindingStatus::Bad, format!("cannot write to {shown}: {error}"))
            .with_advice("check its owner and permissions, and whether the disk is read-only"),
    }
}

fn check_disk_space(folder: &Path) -> DoctorFinding {
    let free = match rustix::fs::statvfs(folder) {
        Ok(facts) => facts.f_bavail.saturating_mul(facts.f_frsize),
        Err(error) => {
            return DoctorFinding::new("disk", FindingStatus::Warning, format!("free space is unknown: {error}"));
        }
    };
    let message = format!("{:.1} GB free", to_gigabytes(free));
    match free {
        ..CRITICAL_DISK_BYTES => {
            DoctorFinding::new("disk", FindingStatus::Bad, message).with_advice(DoctorAdvice::FreeDiskSpace)
        }
        CRITICAL_DISK_BYTES..LOW_DISK_BYTES => {
            DoctorFinding::new("disk", FindingStatus::Warning, message).with_advice(DoctorAdvice::LimitLogSize)
        }
        LOW_DISK_BYTES.. => DoctorFinding::new("disk", FindingStatus::Good, message),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn to_gigabytes(bytes: u64) -> f64 {
    bytes as f64 / GIGABYTE_BYTES as f64
}
