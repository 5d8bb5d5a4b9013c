//! Installs ralph into interactive agents: hooks in their settings, and slash commands. It changes nothing that belongs
//! to the user, reverts exactly its own changes, and starts no program.
mod apply;
mod error;
mod hook_command;
mod hook_timeout;
mod host;
mod install_part;
mod install_record;
mod install_state;
mod install_target;
pub mod merge;
mod plan_install;
mod plan_uninstall;
mod ralph_executable;
mod settings_file;
mod slash_commands;
mod warnings;

pub use apply::{FileOutcome, FileReport, InstallPlan, apply_plan};
pub use error::InstallError;
pub use hook_timeout::{HookTimeout, MAX_HOOK_TIMEOUT_SECONDS, MIN_HOOK_TIMEOUT_SECONDS};
pub use host::{HOST_INSTALLERS, HostInstaller, find_host_installer};
pub use install_state::{InstallState, detect_install_state};
pub use install_target::{InstallScope, InstallTarget};
pub use ralph_executable::RalphExecutable;
pub use warnings::install_warnings;

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
