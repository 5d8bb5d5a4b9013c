//! Installs ralph into interactive agents: hooks in their settings, and slash commands. It changes nothing that belongs
//! to the user, reverts exactly its own changes, and starts no program.
pub(crate) mod apply;
pub(crate) mod contents;
pub(crate) mod error;
pub(crate) mod host;
pub(crate) mod install_record;
pub(crate) mod install_state;
pub(crate) mod install_target;
pub mod merge;
pub(crate) mod plan_install;
pub(crate) mod plan_uninstall;
pub(crate) mod ralph_executable;
pub(crate) mod warnings;

pub use apply::{FileOutcome, FileReport, InstallPlan, apply_plan};
pub use contents::hook_timeout::{HookTimeout, MAX_HOOK_TIMEOUT_SECONDS, MIN_HOOK_TIMEOUT_SECONDS};
pub use error::InstallError;
pub use host::{HostInstaller, find_host_installer, host_installers};
pub use install_state::{InstallState, detect_install_state};
pub use install_target::{InstallScope, InstallTarget};
pub use ralph_executable::RalphExecutable;
pub use warnings::{InstallWarning, install_warnings};

/// Returns what `install` would do, without doing it.
pub fn plan_install(
    host: &HostInstaller,
    target: &InstallTarget,
    own: &RalphExecutable,
    timeout: HookTimeout,
) -> Result<InstallPlan, InstallError> {
    plan_install::plan_install(host, target, own, timeout)
}

/// Returns what `uninstall` would do, without doing it.
pub fn plan_uninstall(
    host: &HostInstaller,
    target: &InstallTarget,
    own: &RalphExecutable,
) -> Result<InstallPlan, InstallError> {
    plan_uninstall::plan_uninstall(host, target, own)
}
