//! Whether what is installed is what this ralph would install.
use super::apply::FileOutcome;
use super::error::InstallError;
use super::hook_timeout::HookTimeout;
use super::host::HostInstaller;
use super::install_target::InstallTarget;
use super::ralph_executable::RalphExecutable;
use super::{plan_install, plan_uninstall};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallState {
    /// Nothing of ours is there.
    Absent,
    Current,
    /// Some of it is missing, or belongs to another ralph.
    Outdated,
}

/// Looks, and changes nothing.
pub fn detect_install_state(
    host: &HostInstaller,
    place: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Result<InstallState, InstallError> {
    if !plan_uninstall(host, place, own)?.has_installation() {
        return Ok(InstallState::Absent);
    }
    let is_kept = plan_install(host, place, own, HookTimeout::KeepExisting)?
        .file_reports()
        .iter()
        .all(|report| report.outcome == FileOutcome::Unchanged);
    Ok(if is_kept { InstallState::Current } else { InstallState::Outdated })
}
