//! Checks that the installed session hooks of an agent are those of this ralph.
use super::agents::AgentExamination;
use super::finding::{DoctorAdvice, DoctorFinding, FindingStatus};
use ralph_agents::install::{
    self, HostInstaller, InstallScope, InstallState, InstallTarget, InstallWarning, host_installers,
};

/// Checks the hooks in the user's and the project's settings. Returns no finding where none are installed.
pub(super) fn check_hooks(agent: &str, examination: &AgentExamination) -> Vec<DoctorFinding> {
    let host = host_installers().find(|host| host.name == agent);
    let scopes = [InstallScope::User, InstallScope::Project(examination.root.clone())];
    host.into_iter().flat_map(|host| scopes.iter().flat_map(|scope| hook_findings(host, scope, examination))).collect()
}

fn hook_findings(host: &HostInstaller, scope: &InstallScope, examination: &AgentExamination) -> Vec<DoctorFinding> {
    let Some(own) = &examination.own_program else { return Vec::new() };
    let variable = |name: &str| std::env::var_os(name);
    let place =
        InstallTarget { scope: scope.clone(), project_root: Some(examination.root.clone()), env_var: &variable };
    let scope = scope.name();
    let finding = |status, message: String| DoctorFinding::new("hooks", status, format!("{scope} scope: {message}"));
    let installed = match install::detect_install_state(host, &place, own) {
        Ok(InstallState::Absent) => return Vec::new(),
        Ok(InstallState::Current) => host.pending_user_action(&place, own).map_or_else(
            || finding(FindingStatus::Good, "up to date".to_owned()),
            |action| finding(FindingStatus::Warning, action),
        ),
        Ok(InstallState::Outdated) => finding(FindingStatus::Warning, "outdated or incomplete".to_owned())
            .with_advice(DoctorAdvice::UpdateHooks { host: host.name, scope }),
        Err(error) => finding(FindingStatus::Warning, error.to_string())
            .with_advice(DoctorAdvice::InspectHooks { host: host.name, scope }),
    };
    let warnings = install::install_warnings(host, &place, own).into_iter().map(|warning| {
        let finding = finding(FindingStatus::Warning, warning.to_string());
        match warning {
            InstallWarning::Text(_) => finding,
            InstallWarning::InstalledTwice { host } => finding.with_advice(DoctorAdvice::RemoveDuplicateHooks { host }),
        }
    });
    std::iter::once(installed).chain(warnings).collect()
}
