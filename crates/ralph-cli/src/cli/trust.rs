//! `ralph trust`, and the question that every loop asks first: may the project's own commands be started?
use clap::Args;

use super::around::run_around;
use super::config_args::ConfigArgs;
use super::{consent, out};
use crate::error::Failure;
use ralph_app::config::{Part, ProjectCommand, Settings, Use};
use ralph_app::trust::{Knowledge, Ledger, Seal, TrustError};
use ralph_engine::engine::RunPlan;
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize;

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

pub fn run(args: &TrustArgs) -> Result<u8, Failure> {
    let project = Project::here()?;
    if args.remove {
        return remove(&project);
    }
    let settings = ConfigArgs::default().settings(Some(&project))?;
    let commands = &settings.of_project;
    if commands.is_empty() {
        out::say("nothing to approve: the configuration of this project starts no commands of its own");
        return Ok(0);
    }
    for command in commands {
        out::say(&shown(command));
    }
    if args.show {
        let known = ledger()?.knows(&project.root, &seal(commands))?;
        out::say(known_words(known));
        return Ok(0);
    }
    if run_around(&project).is_some() {
        return Err(Failure::preflight(
            "an agent cannot approve the commands of the project that it works on",
        )
        .hint("a person approves, outside of the run"));
    }
    if !args.yes {
        consent::required("not approved")?;
    }
    approve(&project, &settings)?;
    out::say(&format!("approved for {}", project.root.display()));
    Ok(0)
}

fn remove(project: &Project) -> Result<u8, Failure> {
    let root = project.root.display();
    if ledger()?.forget(&project.root)? {
        out::say(&format!("the approval for {root} is taken back"));
    } else {
        out::say(&format!("{root} was not approved"));
    }
    Ok(0)
}

/// Tells whether everything that the project's configuration could start is approved, or nothing needs to be.
pub fn is_approved(project: &Project, settings: &Settings) -> Result<bool, Failure> {
    let commands = &settings.of_project;
    Ok(commands.is_empty() || ledger()?.knows(&project.root, &seal(commands))? == Knowledge::Approved)
}

/// Remembers that the user has approved the project's commands as they are now. Where there are none, there is nothing
/// to remember.
pub fn approve(project: &Project, settings: &Settings) -> Result<(), Failure> {
    if settings.of_project.is_empty() {
        return Ok(());
    }
    Ok(ledger()?.approve(&project.root, &seal(&settings.of_project))?)
}

/// Lets a run go on if it starts no command of the project's own, or the user has approved them.
pub fn ensure(plan: &RunPlan, settings: &Settings) -> Result<(), Failure> {
    let checks = if plan.checks.is_empty() { Part::Left } else { Part::Used };
    ensure_with(plan, settings, checks, &[])
}

/// The same for a run with criteria of its own: whether the checks of the configuration are among them, and the templates
/// that they were made from.
pub fn ensure_with(
    plan: &RunPlan,
    settings: &Settings,
    checks: Part,
    templates: &[String],
) -> Result<(), Failure> {
    let used = Use {
        agents: plan.agents().map(|agent| agent.name.as_str()).collect(),
        permission: Part::Used,
        checks,
        criteria: &plan.checks,
        templates,
    };
    ensure_use(&plan.project, settings, &used)
}

/// The same for a part of the settings. People at a terminal are asked; everyone else hears what to do.
pub fn ensure_use(project: &Project, settings: &Settings, used: &Use<'_>) -> Result<(), Failure> {
    if settings.project_commands(used).is_empty() {
        return Ok(());
    }
    match ledger()?.knows(&project.root, &seal(&settings.of_project))? {
        Knowledge::Approved => Ok(()),
        Knowledge::Changed | Knowledge::Unknown if is_answered(settings) => approve(project, settings),
        known @ (Knowledge::Changed | Knowledge::Unknown) => match settings.missing_plugin(used) {
            Some(name) => Err(missing(project, &name)),
            None => Err(refused(settings, known)),
        },
    }
}

/// What is not there cannot be approved.
fn missing(project: &Project, name: &str) -> Failure {
    Failure::preflight(format!("there is no plugin {name} in {}", project.verifiers().display()))
        .hint("put an executable file of that name there, or mend the check that names it")
}

fn refused(settings: &Settings, known: Knowledge) -> Failure {
    let failure = Failure::preflight(match known {
        Knowledge::Changed => "the commands of this project have changed since you approved them",
        Knowledge::Unknown | Knowledge::Approved => "you have not approved the commands of this project",
    });
    let commands = settings.of_project.iter().map(shown);
    commands.fold(failure, Failure::cause).hint("look at them; if they are what you want, run: ralph trust")
}

/// Asks a person.
fn is_answered(settings: &Settings) -> bool {
    if !consent::can_be_asked() {
        return false;
    }
    out::note("This project's configuration wants to start commands that you have not approved:");
    settings.of_project.iter().for_each(|command| out::note(&format!("  {}", shown(command))));
    consent::is_given("Start them? [y/N] ")
}

/// Somebody else may have written the value to look like something else on a terminal.
fn shown(command: &ProjectCommand) -> String {
    format!("{}: {}  ({})", sanitize(&command.key), sanitize(&command.value), command.origin)
}

fn known_words(known: Knowledge) -> &'static str {
    match known {
        Knowledge::Approved => "approved",
        Knowledge::Changed => "not approved: they have changed since",
        Knowledge::Unknown => "not approved",
    }
}

fn seal(commands: &[ProjectCommand]) -> Seal {
    Seal::of(commands.iter().map(|command| (command.key.as_str(), command.value.as_str())))
}

fn ledger() -> Result<Ledger, TrustError> {
    Ledger::of_user(|name| std::env::var_os(name))
}
