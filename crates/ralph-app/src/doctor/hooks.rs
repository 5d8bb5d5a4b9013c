//! Whether ralph's hooks in the sessions of an agent are those that this ralph would install.
use super::agents::AgentExamination;
use super::finding::{DoctorFinding, FindingStatus};
use ralph_agents::install::{self, HOST_INSTALLERS, HostInstaller, InstallScope, InstallState, InstallTarget};

/// Looks at the user's settings and at the project's. Where nothing is installed, nothing is said.
pub(super) fn check_hooks(agent: &str, examination: &AgentExamination) -> Vec<DoctorFinding> {
    let host = HOST_INSTALLERS.iter().find(|host| host.name == agent);
    let scopes = [InstallScope::User, InstallScope::Project(examination.root.clone())];
    host.into_iter().flat_map(|host| scopes.iter().flat_map(|scope| hook_findings(host, scope, examination))).collect()
}

fn hook_findings(host: &HostInstaller, scope: &InstallScope, examination: &AgentExamination) -> Vec<DoctorFinding> {
    let Some(own) = &examination.own_program else { return Vec::new() };
    let variable = |name: &str| std::env::var_os(name);
    let place =
        InstallTarget { scope: scope.clone(), project_root: Some(examination.root.clone()), env_var: &variable };
    let (name, scope) = (host.name, scope.name());
    let of = |status, what: String| DoctorFinding::new("hooks", status, format!("of the {scope}: {what}"));
    let installed = match install::detect_install_state(host, &place, own) {
        Ok(InstallState::Absent) => return Vec::new(),
        Ok(InstallState::Current) => host.pending_user_action(&place, own).map_or_else(
            || of(FindingStatus::Good, "those of this ralph".to_owned()),
            |obstacle| of(FindingStatus::Warning, obstacle),
        ),
        Ok(InstallState::Outdated) => {
            of(FindingStatus::Warning, "not those of this ralph, or not all of them".to_owned())
                .with_hint(format!("bring them up to date: ralph install {name} --{scope}"))
        }
        Err(error) => of(FindingStatus::Warning, error.to_string())
            .with_hint(format!("`ralph install {name} --{scope}` says more, and what to do about it")),
    };
    let warnings =
        install::install_warnings(host, &place, own).into_iter().map(|warning| of(FindingStatus::Warning, warning));
    std::iter::once(installed).chain(warnings).collect()
}
