//! Whether the installed files are those that this ralph would install.
use super::apply::FileOutcome;
use super::contents::hook_timeout::HookTimeout;
use super::error::InstallError;
use super::host::HostInstaller;
use super::install_target::InstallTarget;
use super::ralph_executable::RalphExecutable;
use super::{plan_install, plan_uninstall};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallState {
    Absent,
    Current,
    /// Some files are missing, or belong to another ralph.
    Outdated,
}

/// Compares the installed files with those of this ralph. Changes nothing.
pub fn detect_install_state(
    host: &HostInstaller,
    target: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Result<InstallState, InstallError> {
    if !plan_uninstall(host, target, own)?.has_installation() {
        return Ok(InstallState::Absent);
    }
    let is_current = plan_install(host, target, own, HookTimeout::KeepExisting)?
        .file_reports()
        .iter()
        .all(|report| report.outcome == FileOutcome::Unchanged);
    Ok(if is_current { InstallState::Current } else { InstallState::Outdated })
}
