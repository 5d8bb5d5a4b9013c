//! Installs ralph in the sessions of an agent: hooks and slash commands in its settings.
use std::path::PathBuf;

use ralph_agents::install::{
    self, HookTimeout, HostInstaller, InstallPlan, InstallScope, InstallTarget, InstallWarning, RalphExecutable,
    find_host_installer,
};
use ralph_engine::project::Project;
use ralph_process as process;

use crate::error::AppResult;
use crate::git_exclusion::{self, ExclusionMode, GitExclusion};

/// Where ralph is installed or removed.
pub struct InstallRequest<'a> {
    /// The program that runs the sessions.
    pub host: &'a str,
    pub scope: InstallScope,
    pub mode: InstallMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstallMode {
    Apply,
    /// Only report what would be changed.
    DryRun,
}

impl InstallMode {
    fn exclusion_mode(self) -> ExclusionMode {
        match self {
            Self::Apply => ExclusionMode::Apply,
            Self::DryRun => ExclusionMode::Plan,
        }
    }
}

/// The changes that were made, or would be made.
pub struct InstallReport {
    pub host: &'static HostInstaller,
    pub scope: InstallScope,
    /// The folder with the settings of the program.
    pub settings_folder: PathBuf,
    pub changes: InstallPlan,
    /// The steps that the user must still take.
    pub advice: Option<String>,
    pub warnings: Vec<InstallWarning>,
    /// The measures that keep the settings of this machine out of git.
    pub git_exclusion: GitExclusion,
}

/// Installs hooks and slash commands.
pub fn install_ralph(request: InstallRequest<'_>, timeout: HookTimeout) -> AppResult<InstallReport> {
    let (host, own) = (find_host_installer(request.host)?, find_own_program()?);
    let (variable, project_root) = (|name: &str| std::env::var_os(name), current_project_root());
    let target = InstallTarget { scope: request.scope, project_root, env_var: &variable };
    let changes = install::plan_install(host, &target, &own, timeout)?;
    apply_changes(&changes, request.mode)?;
    let private_file = host.private_project_file(&target.scope);
    let git_exclusion = private_file
        .map_or(GitExclusion::Unchanged, |file| git_exclusion::exclude_file(&file, request.mode.exclusion_mode()));
    Ok(InstallReport {
        git_exclusion,
        host,
        settings_folder: host.settings_folder(&target)?,
        changes,
        advice: host.post_install_advice(&target.scope),
        warnings: install::install_warnings(host, &target, &own),
        scope: target.scope,
    })
}

/// Removes everything that [`install_ralph`] has installed.
pub fn uninstall_ralph(request: InstallRequest<'_>) -> AppResult<InstallReport> {
    let (host, own) = (find_host_installer(request.host)?, find_own_program()?);
    let (variable, project_root) = (|name: &str| std::env::var_os(name), current_project_root());
    let target = InstallTarget { scope: request.scope, project_root, env_var: &variable };
    let changes = install::plan_uninstall(host, &target, &own)?;
    apply_changes(&changes, request.mode)?;
    let settings_folder = host.settings_folder(&target)?;
    let private_file = host.private_project_file(&target.scope);
    let git_exclusion = private_file
        .map_or(GitExclusion::Unchanged, |file| git_exclusion::remove_exclusion(&file, request.mode.exclusion_mode()));
    let (advice, warnings) = (None, Vec::new());
    Ok(InstallReport { host, settings_folder, changes, advice, warnings, scope: target.scope, git_exclusion })
}

fn current_project_root() -> Option<PathBuf> {
    Project::find_here().ok().map(|project| project.root)
}

fn apply_changes(changes: &InstallPlan, mode: InstallMode) -> AppResult<()> {
    match mode {
        InstallMode::Apply => Ok(install::apply_plan(changes)?),
        InstallMode::DryRun => Ok(()),
    }
}

/// Returns the path of this program: the one on PATH if it leads here, else the path of this binary.
pub fn find_own_program() -> AppResult<RalphExecutable> {
    let known = std::env::current_dir().ok().and_then(|here| process::find_program(&here, "ralph").ok());
    Ok(RalphExecutable::locate(known)?)
}
