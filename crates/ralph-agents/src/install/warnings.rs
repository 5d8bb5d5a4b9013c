//! What is in the way of hooks that are installed, or goes wrong with them, whoever has put it there.
use super::hook_command;
use super::host::HostInstaller;
use super::install_target::{InstallScope, InstallTarget};
use super::plan_uninstall;
use super::ralph_executable::RalphExecutable;

/// Says what people should know about what is installed at a place.
#[must_use]
pub fn install_warnings(host: &HostInstaller, place: &InstallTarget<'_>, own: &RalphExecutable) -> Vec<String> {
    let misnamed = own.path_warning().filter(|_| host.is_called_by_name(&place.scope));
    [misnamed, host.hooks_disabled_reason(place), duplicate_install_warning(host, place, own)]
        .into_iter()
        .flatten()
        .collect()
}

/// Where the user has hooks of ours and the project too, the program calls both.
fn duplicate_install_warning(host: &HostInstaller, place: &InstallTarget<'_>, own: &RalphExecutable) -> Option<String> {
    let scope = match (&place.scope, &place.project_root) {
        (InstallScope::User, Some(root)) => InstallScope::Project(root.clone()),
        (InstallScope::Project(_), _) => InstallScope::User,
        (InstallScope::User, None) | (InstallScope::Plugin(_), _) => return None,
    };
    let other = InstallTarget { scope, project_root: place.project_root.clone(), env_var: place.env_var };
    let is_elsewhere = host.settings_folder(&other).ok()? != host.settings_folder(place).ok()?;
    let is_there = is_elsewhere && plan_uninstall(host, &other, own).is_ok_and(|found| found.has_installation());
    let (name, ralph) = (host.name, hook_command::RALPH_NAME);
    is_there.then(|| {
        format!(
            "it is installed for you and for this project, so each hook is called twice, of which one is answered: \
             take one out with `{ralph} uninstall {name} --user` or `{ralph} uninstall {name} --project`"
        )
    })
}
