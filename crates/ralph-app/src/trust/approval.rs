//! May the project's own commands be started? Every use case that starts one asks here first.
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunPlan;
use ralph_util::sanitize::sanitize_text;

use super::{CommandFingerprint, TrustError, TrustList, TrustStatus};
use crate::advice::Advice;
use crate::config::{ProjectCommand, Settings, SettingsPart, SettingsUse};
use crate::error::{AppError, AppResult};
use crate::interaction::Interaction;
use crate::run::refuse_command_by_agent;

/// Returns whether the user has approved everything that the project's configuration could start.
pub fn is_approved(project: &Project, settings: &Settings) -> AppResult<bool> {
    Ok(settings.project_commands.is_empty() || approval_status(project, settings)? == TrustStatus::Approved)
}

/// Returns whether the user has approved the project's commands as they are now.
pub fn approval_status(project: &Project, settings: &Settings) -> AppResult<TrustStatus> {
    let fingerprint = fingerprint_commands(&settings.project_commands);
    Ok(open_trust_list()?.trust_status(&project.root, &fingerprint)?)
}

/// Records that the user has approved the project's commands as they are now. Does nothing if there are none.
pub fn approve_commands(project: &Project, settings: &Settings) -> AppResult<()> {
    if settings.project_commands.is_empty() {
        return Ok(());
    }
    refuse_approval_by_agent(project)?;
    Ok(open_trust_list()?.approve_commands(&project.root, &fingerprint_commands(&settings.project_commands))?)
}

/// Refuses an agent that would approve the commands of the project that it works on.
pub fn refuse_approval_by_agent(project: &Project) -> AppResult<()> {
    refuse_command_by_agent(project, "approve the commands of the project that it works on")
}

/// Returns whether there was an approval to revoke. Only a person may revoke it.
pub fn revoke_approval(project: &Project) -> AppResult<bool> {
    refuse_command_by_agent(project, "revoke the approval of the project that it works on")?;
    Ok(open_trust_list()?.revoke_approval(&project.root)?)
}

/// Refuses a run that would start a command of the project that the user has not approved.
pub fn ensure_approved(plan: &RunPlan, settings: &Settings, person: &dyn Interaction) -> AppResult<()> {
    let checks = if plan.spec.criteria.is_empty() { SettingsPart::Unused } else { SettingsPart::Used };
    ensure_approved_with(plan, settings, CriteriaOrigin { checks, templates: &[] }, person)
}

/// Where the criteria of a plan come from.
#[derive(Debug, Clone, Copy)]
pub struct CriteriaOrigin<'a> {
    /// Whether the checks of the configuration are among them.
    pub checks: SettingsPart,
    /// The templates that they were made from.
    pub templates: &'a [String],
}

/// Like [`ensure_approved`], for a run whose criteria do not all come from the configuration.
pub fn ensure_approved_with(
    plan: &RunPlan,
    settings: &Settings,
    criteria: CriteriaOrigin<'_>,
    person: &dyn Interaction,
) -> AppResult<()> {
    let used = SettingsUse {
        agents: plan.context.all_agents().map(|agent| agent.name.as_str()).collect(),
        permission: SettingsPart::Used,
        checks: criteria.checks,
        criteria: &plan.spec.criteria,
        templates: criteria.templates,
    };
    ensure_use_approved(&plan.context.project, settings, &used, person)
}

/// Refuses to use a part of the settings whose commands the user has not approved. A person who is there is asked.
pub fn ensure_use_approved(
    project: &Project,
    settings: &Settings,
    used: &SettingsUse<'_>,
    person: &dyn Interaction,
) -> AppResult<()> {
    if settings.project_commands(used).is_empty() {
        return Ok(());
    }
    match approval_status(project, settings)? {
        TrustStatus::Approved => Ok(()),
        TrustStatus::Changed | TrustStatus::Unknown if person.approve_commands(&settings.project_commands) => {
            approve_commands(project, settings)
        }
        status @ (TrustStatus::Changed | TrustStatus::Unknown) => match settings.missing_plugin(used) {
            Some(name) => Err(missing_plugin_error(project, &name)),
            None => Err(unapproved_error(settings, status)),
        },
    }
}

/// A file that does not exist cannot be approved.
fn missing_plugin_error(project: &Project, name: &str) -> AppError {
    AppError::preflight(format!("there is no plugin {name} in {}", project.verifiers_folder().display()))
        .with_advice("put an executable file of that name there, or correct the check that names it")
}

fn unapproved_error(settings: &Settings, status: TrustStatus) -> AppError {
    let has_commands = settings.project_commands.len() > settings.loosened_rules.len();
    let failure = AppError::preflight(match (status, has_commands) {
        (TrustStatus::Changed, true) => "the commands of this project have changed since you approved them",
        (TrustStatus::Changed, false) => "the rules that this project loosens have changed since you approved them",
        (TrustStatus::Unknown | TrustStatus::Approved, true) => "you have not approved the commands of this project",
        (TrustStatus::Unknown | TrustStatus::Approved, false) => {
            "this project loosens your rules, and you have not approved that"
        }
    });
    let commands = settings.project_commands.iter().map(format_command);
    commands.fold(failure, AppError::with_cause).with_advice(Advice::ApproveCommands)
}

/// Returns a command on one line, with its place. Control characters in it are escaped: the text may come from a stranger.
#[must_use]
pub fn format_command(command: &ProjectCommand) -> String {
    format!("{}: {}  ({})", sanitize_text(&command.key), sanitize_text(&command.value), command.origin)
}

fn fingerprint_commands(commands: &[ProjectCommand]) -> CommandFingerprint {
    CommandFingerprint::from_commands(commands.iter().map(|command| (command.key.as_str(), command.value.as_str())))
}

fn open_trust_list() -> Result<TrustList, TrustError> {
    TrustList::for_user(|name| std::env::var_os(name))
}
