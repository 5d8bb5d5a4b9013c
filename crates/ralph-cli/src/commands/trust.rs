//! `ralph trust`, and the question that every loop asks first: may the project's own commands be started?
use clap::Args;

use super::config_args::ConfigArgs;
use super::nested_run::find_enclosing_run;
use super::{confirm, out};
use crate::error::CommandError;
use ralph_app::config::{ProjectCommand, Settings, SettingsPart, SettingsUse};
use ralph_app::trust::{CommandFingerprint, TrustError, TrustList, TrustStatus};
use ralph_engine::project::Project;
use ralph_engine::run_driver::RunPlan;
use ralph_util::sanitize::sanitize_text;

/// Approves the commands that this project's configuration wants to start
///
/// A repository can carry commands that somebody else wrote: an agent's program, its arguments and variables, checks,
/// what the agent may do unasked.
/// ralph starts none of them before you have approved them once; when one changes, it asks again. What you type
/// yourself, and the file that you name with --config, needs no approval. An agent cannot approve.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph trust                     shows the commands, asks, and approves them
  ralph trust --yes               without a question, such as in a script
  ralph trust --show              only shows them
  ralph trust --remove            takes the approval back

The list of approved projects is ~/.local/state/ralph/trusted.json (or below XDG_STATE_HOME).")]
pub struct TrustArgs {
    /// Shows the commands and whether they are approved, and changes nothing
    #[arg(long, conflicts_with = "remove")]
    show: bool,
    /// Takes the approval back
    #[arg(long)]
    remove: bool,
    /// Approves without asking
    #[arg(long, short, conflicts_with_all = ["show", "remove"])]
    yes: bool,
}

pub fn run(args: &TrustArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    if args.remove {
        return revoke_approval(&project);
    }
    let settings = ConfigArgs::default().load_settings(Some(&project))?;
    let commands = &settings.project_commands;
    if commands.is_empty() {
        out::print_message("nothing to approve: the configuration of this project starts no commands of its own");
        return Ok(0);
    }
    for command in commands {
        out::print_message(&format_command(command));
    }
    if args.show {
        let known = open_trust_ledger()?.trust_status(&project.root, &fingerprint_commands(commands))?;
        out::print_message(approval_text(known));
        return Ok(0);
    }
    if find_enclosing_run(&project).is_some() {
        return Err(CommandError::preflight_error(
            "an agent cannot approve the commands of the project that it works on",
        )
        .with_hint("a person approves, outside of the run"));
    }
    if !args.yes {
        confirm::require_confirmation("not approved")?;
    }
    approve_commands(&project, &settings)?;
    out::print_message(&format!("approved for {}", project.root.display()));
    Ok(0)
}

fn revoke_approval(project: &Project) -> Result<u8, CommandError> {
    let root = project.root.display();
    if open_trust_ledger()?.revoke_approval(&project.root)? {
        out::print_message(&format!("the approval for {root} is taken back"));
    } else {
        out::print_message(&format!("{root} was not approved"));
    }
    Ok(0)
}

/// Tells whether everything that the project's configuration could start is approved, or nothing needs to be.
pub fn is_approved(project: &Project, settings: &Settings) -> Result<bool, CommandError> {
    let commands = &settings.project_commands;
    Ok(commands.is_empty()
        || open_trust_ledger()?.trust_status(&project.root, &fingerprint_commands(commands))? == TrustStatus::Approved)
}

/// Remembers that the user has approved the project's commands as they are now. Where there are none, there is nothing
/// to remember.
pub fn approve_commands(project: &Project, settings: &Settings) -> Result<(), CommandError> {
    if settings.project_commands.is_empty() {
        return Ok(());
    }
    Ok(open_trust_ledger()?.approve_commands(&project.root, &fingerprint_commands(&settings.project_commands))?)
}

/// Lets a run go on if it starts no command of the project's own, or the user has approved them.
pub fn ensure_approved(plan: &RunPlan, settings: &Settings) -> Result<(), CommandError> {
    let checks = if plan.criteria.is_empty() { SettingsPart::Unused } else { SettingsPart::Used };
    ensure_approved_with(plan, settings, checks, &[])
}

/// The same for a run with criteria of its own: whether the checks of the configuration are among them, and the templates
/// that they were made from.
pub fn ensure_approved_with(
    plan: &RunPlan,
    settings: &Settings,
    checks: SettingsPart,
    templates: &[String],
) -> Result<(), CommandError> {
    let used = SettingsUse {
        agents: plan.all_agents().map(|agent| agent.name.as_str()).collect(),
        permission: SettingsPart::Used,
        checks,
        criteria: &plan.criteria,
        templates,
    };
    ensure_use_approved(&plan.project, settings, &used)
}

/// The same for a part of the settings. People at a terminal are asked; everyone else hears what to do.
pub fn ensure_use_approved(project: &Project, settings: &Settings, used: &SettingsUse<'_>) -> Result<(), CommandError> {
    if settings.project_commands(used).is_empty() {
        return Ok(());
    }
    match open_trust_ledger()?.trust_status(&project.root, &fingerprint_commands(&settings.project_commands))? {
        TrustStatus::Approved => Ok(()),
        TrustStatus::Changed | TrustStatus::Unknown if ask_for_approval(settings) => {
            approve_commands(project, settings)
        }
        known @ (TrustStatus::Changed | TrustStatus::Unknown) => match settings.missing_plugin(used) {
            Some(name) => Err(missing_plugin_error(project, &name)),
            None => Err(unapproved_error(settings, known)),
        },
    }
}

/// What is not there cannot be approved.
fn missing_plugin_error(project: &Project, name: &str) -> CommandError {
    CommandError::preflight_error(format!("there is no plugin {name} in {}", project.verifiers_folder().display()))
        .with_hint("put an executable file of that name there, or mend the check that names it")
}

fn unapproved_error(settings: &Settings, known: TrustStatus) -> CommandError {
    let failure = CommandError::preflight_error(match known {
        TrustStatus::Changed => "the commands of this project have changed since you approved them",
        TrustStatus::Unknown | TrustStatus::Approved => "you have not approved the commands of this project",
    });
    let commands = settings.project_commands.iter().map(format_command);
    commands
        .fold(failure, CommandError::with_cause)
        .with_hint("look at them; if they are what you want, run: ralph trust")
}

/// Asks a person.
fn ask_for_approval(settings: &Settings) -> bool {
    if !confirm::is_interactive() {
        return false;
    }
    out::print_note("This project's configuration wants to start commands that you have not approved:");
    settings.project_commands.iter().for_each(|command| out::print_note(&format!("  {}", format_command(command))));
    confirm::ask_yes_no("Start them? [y/N] ")
}

/// Somebody else may have written the value to look like something else on a terminal.
fn format_command(command: &ProjectCommand) -> String {
    format!("{}: {}  ({})", sanitize_text(&command.key), sanitize_text(&command.value), command.origin)
}

fn approval_text(known: TrustStatus) -> &'static str {
    match known {
        TrustStatus::Approved => "approved",
        TrustStatus::Changed => "not approved: they have changed since",
        TrustStatus::Unknown => "not approved",
    }
}

fn fingerprint_commands(commands: &[ProjectCommand]) -> CommandFingerprint {
    CommandFingerprint::from_commands(commands.iter().map(|command| (command.key.as_str(), command.value.as_str())))
}

fn open_trust_ledger() -> Result<TrustList, TrustError> {
    TrustList::for_user(|name| std::env::var_os(name))
}
