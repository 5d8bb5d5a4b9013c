//! Warnings about problems that keep installed hooks from working.
use super::host::HostInstaller;
use super::install_target::{InstallScope, InstallTarget};
use super::plan_uninstall;
use super::ralph_executable::RalphExecutable;

/// A problem that keeps installed hooks from working.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallWarning {
    #[error("{0}")]
    Text(String),
    #[error("it is installed for you and for this project, so each hook is called twice and only one call is answered")]
    InstalledTwice { host: &'static str },
}

/// Returns the warnings for an installation.
#[must_use]
pub fn install_warnings(
    host: &HostInstaller,
    target: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Vec<InstallWarning> {
    let path_warning = own.path_warning().filter(|_| host.is_called_by_name(&target.scope));
    let texts = [path_warning, host.hooks_disabled_reason(target)].into_iter().flatten().map(InstallWarning::Text);
    texts.chain(duplicate_install_warning(host, target, own)).collect()
}

/// If ralph is installed for the user and for the project, the host calls both hooks.
fn duplicate_install_warning(
    host: &HostInstaller,
    target: &InstallTarget<'_>,
    own: &RalphExecutable,
) -> Option<InstallWarning> {
    let scope = match (&target.scope, &target.project_root) {
        (InstallScope::User, Some(root)) => InstallScope::Project(root.clone()),
        (InstallScope::Project(_), _) => InstallScope::User,
        (InstallScope::User, None) | (InstallScope::Plugin(_), _) => return None,
    };
    let other = InstallTarget { scope, project_root: target.project_root.clone(), env_var: target.env_var };
    let is_elsewhere = host.settings_folder(&other).ok()? != host.settings_folder(target).ok()?;
    let is_duplicate = is_elsewhere && plan_uninstall(host, &other, own).is_ok_and(|plan| plan.has_installation());
    is_duplicate.then_some(InstallWarning::InstalledTwice { host: host.name })
}
