//! The command line: one file per command. Commands parse, call the rooms and print; only here and in
//! `report` is anything printed, and only `main` exits.
mod agent_args;
mod agents;
mod around;
mod attach;
mod backup;
mod budget;
mod budget_args;
mod cancel;
mod check_args;
mod classic;
mod completions;
mod config;
mod config_args;
mod consent;
mod demand;
mod demo;
mod demo_agent;
mod detach;
mod detect;
mod diff;
mod doctor;
mod events;
mod export;
mod filter_lines;
mod follow;
mod gc;
mod guide;
mod import;
mod init;
mod install;
mod judge;
mod land;
mod land_proof;
mod land_report;
mod land_turn;
mod limit_args;
mod looking;
mod man;
mod offer;
mod out;
mod output_args;
mod own_tree;
mod pause;
mod pick;
mod resume;
mod retry;
mod rewind;
mod run;
mod run_args;
mod runs;
mod session;
mod show;
mod stats;
mod status;
mod status_watch;
mod target;
mod task;
mod templates;
mod trace;
mod tree_hold;
mod trust;
mod undo;
mod usual_plan;
mod values;
mod verify;
mod verify_report;
mod work;

use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use ralph_core::outcome::exit_code;

use crate::error::Failure;
use crate::report::Paint;
use ralph_agents::FILTER_COMMAND;
use ralph_process as process;

/// Runs coding agents in a loop until their work is proven done.
///
/// A promise is a request to verify, never proof: the agent says that it is done, and your checks decide.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ralph demo                                        see the whole story, no account needed
  ralph run 'Fix the failing tests' --check 'cargo test'
  ralph run @task.md --agent text --agent-cmd ./my-agent.sh
  ralph plan && ralph build 20                      prompts/plan.md, then prompts/build.md
  ralph run @task.md --check 'make test' --detach; ralph attach
  ralph task import tasks.yaml; ralph work --slots 2 --until-idle
  ralph show                                        what the newest run did, and why
  ralph resume                                      go on after Ctrl-C, a crash or a reboot
  ralph status; ralph cancel TASK-001               from another terminal

Exit codes: 0 completed, 1 preflight, 2 no plan, 3 not complete, 4 agent failed, 5 git failed,
6 blocked, 7 over budget, 8 stalled, 9 cancelled, 10 state unusable, 64 usage, 70 internal fault, 130/143 stopped by a signal";

/// Only the command that was asked for is described to the parser: describing them all takes longer than most of what
/// follows.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    Run(Box<run_args::RunArgs>),
    Plan(Box<classic::PlanArgs>),
    Build(Box<classic::BuildArgs>),
    Prompt(Box<classic::PromptArgs>),
    Resume(resume::ResumeArgs),
    Demo(demo::DemoArgs),
    Attach(attach::AttachArgs),
    Status(status::StatusArgs),
    Cancel(cancel::CancelArgs),
    Pause(pause::PauseArgs),
    Retry(retry::RetryArgs),
    Guide(guide::GuideArgs),
    Init(init::InitArgs),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Trust(trust::TrustArgs),
    Task(task::TaskCommand),
    Work(Box<work::WorkArgs>),
    Loop(session::LoopCommand),
    Hook(session::HookArgs),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Stats(stats::StatsArgs),
    Verify(verify::VerifyArgs),
    Land(land::LandArgs),
    Rewind(rewind::RewindArgs),
    Diff(diff::DiffArgs),
    Undo(undo::UndoArgs),
    Events(events::EventsArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Backup(backup::BackupArgs),
    Gc(gc::GcArgs),
    Agents(agents::AgentsArgs),
    Detect(detect::DetectArgs),
    Doctor(doctor::DoctorArgs),
    Templates(templates::TemplatesArgs),
    Config(config::ConfigCommand),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    #[command(name = "task-create", hide = true)]
    TaskCreate(Box<task::CreateArgs>),
    #[command(name = "task-followup", hide = true)]
    TaskFollowup(Box<task::FollowupArgs>),
    #[command(name = "ralph-status", hide = true)]
    RalphStatus(status::StatusArgs),
    #[command(name = "ralph-cancel", hide = true)]
    RalphCancel(cancel::CancelArgs),
    #[command(name = FILTER_COMMAND, hide = true)]
    FilterLines(filter_lines::FilterLinesArgs),
    #[command(name = "demo-agent", hide = true)]
    DemoAgent(demo_agent::DemoAgentArgs),
}

/// Runs the command line and returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    process::fail_instead_of_dying();
    let args = by_name(args.into_iter().collect());
    let cli = match parse(&args) {
        Ok(cli) => cli,
        Err(error) => return refused(&error, &args),
    };
    let result = catch_unwind(AssertUnwindSafe(|| traced(&cli.command).and_then(|()| dispatch(cli.command))))
        .unwrap_or_else(|_| {
            // The panic itself has said what and where.
            Err(Failure::plain(exit_code::INTERNAL, "a fault inside ralph")
                .hint("please report what stands above"))
        });
    ExitCode::from(exit_code_of(result))
}

/// The names of the original work are commands too where a link to ralph bears them.
const LINKED: [&str; 4] = ["task-create", "task-followup", "ralph-status", "ralph-cancel"];

fn by_name(mut args: Vec<OsString>) -> Vec<OsString> {
    let name = args.first().map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str);
    let linked = LINKED.into_iter().find(|linked| name == Some(linked));
    if let Some(linked) = linked {
        args.insert(1, linked.into());
    }
    args
}

/// Whoever gets an answer instead of a command gets one that knows of all commands.
fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    match Cli::try_parse_from(args) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => {
            let mut whole = Cli::command();
            whole.build();
            Cli::from_arg_matches(&whole.try_get_matches_from(args)?)
        }
        parsed => parsed,
    }
}

/// Starts tracing. A session waits for the answer of its hook, whatever cannot be traced.
fn traced(command: &Command) -> Result<(), Failure> {
    match (trace::start(), command) {
        (Err(failure), Command::Hook(args)) => {
            session::bear(args, &failure);
            Ok(())
        }
        (started, _) => started,
    }
}

/// Returns what a command is worth to scripts, and tells people why it failed.
fn exit_code_of(result: Result<u8, Failure>) -> u8 {
    let code = result.unwrap_or_else(|failure| {
        out::failure(&failure);
        failure.exit_code
    });
    if !out::is_lost() {
        return code;
    }
    let lost =
        Failure::preflight("standard output cannot be written: what should stand there is not complete");
    out::failure(
        &lost.hint("is its disk full? A run went on without it: `ralph show` and `ralph events` have it"),
    );
    if code == exit_code::COMPLETED { exit_code::PREFLIGHT } else { code }
}

fn dispatch(command: Command) -> Result<u8, Failure> {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Plan(args) => classic::plan(&args),
        Command::Build(args) => classic::build(&args),
        Command::Prompt(args) => classic::prompt(&args),
        Command::Resume(args) => resume::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Attach(args) => attach::run(&args),
        Command::Status(args) | Command::RalphStatus(args) => status::run(&args),
        Command::Cancel(args) | Command::RalphCancel(args) => cancel::run(&args),
        Command::Pause(args) => pause::run(&args),
        Command::Retry(args) => retry::run(&args),
        Command::Guide(args) => guide::run(&args),
        Command::Init(args) => init::run(&args),
        Command::Install(args) => install::install(&args),
        Command::Uninstall(args) => install::uninstall(&args),
        Command::Trust(args) => trust::run(&args),
        Command::Task(args) => task::run(&args),
        Command::Work(args) => work::run(&args),
        Command::Loop(args) => session::run(&args),
        Command::Hook(args) => session::answer(&args),
        Command::TaskCreate(args) => task::create(&args),
        Command::TaskFollowup(args) => task::followup(&args),
        Command::Runs(args) => runs::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Land(args) => land::run(&args),
        Command::Rewind(args) => rewind::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Undo(args) => undo::run(&args),
        Command::Events(args) => events::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Import(args) => import::run(&args),
        Command::Backup(args) => backup::run(&args),
        Command::Gc(args) => gc::run(&args),
        Command::Agents(args) => agents::run(&args),
        Command::Detect(args) => detect::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Templates(args) => templates::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::FilterLines(args) => filter_lines::run(&args),
        Command::DemoAgent(args) => demo_agent::run(&args),
    }
}

/// Help and version are answers; everything else that the parser refuses is a usage error, and a hook answers that as well.
fn refused(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if error.use_stderr() {
        // It repeats what it does not understand, which may be a secret.
        let text = error.render();
        let colours = Paint::for_stream(&std::io::stderr()) == Paint::Colour;
        out::complain(&if colours { text.ansi().to_string() } else { text.to_string() });
        let text = text.to_string();
        let why = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return ExitCode::from(session::excuse(args, why).unwrap_or(exit_code::USAGE));
    }
    // Where nobody reads, nothing can be said.
    let _ = error.print();
    ExitCode::SUCCESS
}

/// Runs a command that waits on the world but starts no agent.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    runtime.block_on(work)
}
