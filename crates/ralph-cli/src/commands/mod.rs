//! The command line: one file per command, in a folder by what the user wants to do. A command parses its arguments, calls a use case of `ralph-app` and prints
//! the result. Only this module and `report` print.
mod args;
mod confirm;
mod control;
mod help;
mod interaction;
mod look;
mod notifications;
mod out;
mod plumbing;
mod run;
mod session;
mod set_up;
mod tasks;
mod trace;
mod workflows;

use std::ffi::{OsStr, OsString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use ralph_core::event::StopSignal;
use ralph_core::outcome::{RunEnd, exit_code};

use control::{accept, cancel, guide, limit, pause, reject, retry, undo};
use look::{attach, board, diff, events, inbox, logs, report, runs, show, stats, status, verify, why};
use plumbing::{backup, complete_ids, completions, demo_agent, detect, export, filter_lines, gc, import, man, mcp};
use run::{classic, demo, resume, run_args, run_command, serve};
use set_up::{agents, config, doctor, init, install, notify, templates, trust};
use tasks::{land, rewind, task, work};
use workflows::workflow;

use crate::error::CommandError;
use crate::report::ColorMode;
use ralph_agents::FILTER_SUBCOMMAND;
use ralph_process as process;

/// Runs coding agents in a loop until their work is proven done.
///
/// A promise is a request to verify, never proof: the agent says that it is done,
/// and your checks decide.
#[derive(Debug, Parser)]
#[command(name = "ralph", version, max_term_width = 100, disable_help_subcommand = true, after_help = HELP_EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: CliCommand,
}

const HELP_EXAMPLES: &str = "\
Examples:
  ralph demo                                   a full run; needs no account
  ralph run 'Fix the failing tests' --check 'cargo test'
  ralph run @task.md --agent text --agent-cmd ./my-agent.sh
  ralph plan && ralph build 20                 prompts/plan.md, then prompts/build.md
  ralph run @task.md --check 'make test' --detach; ralph attach
  ralph task import tasks.yaml; ralph work --slots 2 --until-idle
  ralph inbox; ralph why; ralph logs           what waits for you, why, and what the agent did
  ralph resume                                 continue after Ctrl-C, a crash or a reboot
  ralph status; ralph cancel TASK-001          from another terminal

Exit codes: 0 completed, 1 preflight, 2 no plan, 3 not complete, 4 agent failed,
5 git failed, 6 blocked, 7 over budget, 8 stalled, 9 cancelled,
10 state unusable, 64 usage, 70 internal error, 130/143 stopped by a signal";

/// The arguments of a command are built only when it is used (`defer`): building all of them takes longer than most
/// commands.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum CliCommand {
    Run(Box<run_args::RunArgs>),
    Plan(Box<classic::PlanArgs>),
    Build(Box<classic::BuildArgs>),
    Prompt(Box<classic::PromptArgs>),
    Resume(resume::ResumeArgs),
    Demo(demo::DemoArgs),
    Serve(serve::ServeArgs),
    Attach(attach::AttachArgs),
    #[command(visible_alias = "ps")]
    Status(status::StatusArgs),
    Board(board::BoardArgs),
    Inbox(inbox::InboxArgs),
    #[command(visible_aliases = ["stop", "kill"])]
    Cancel(cancel::CancelArgs),
    Pause(pause::PauseArgs),
    Retry(retry::RetryArgs),
    Guide(guide::GuideArgs),
    Limit(limit::ChangeLimitArgs),
    Accept(accept::AcceptArgs),
    Reject(reject::RejectArgs),
    Init(init::InitArgs),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Trust(trust::TrustArgs),
    Notify(notify::NotifyCommand),
    Task(task::TaskCommand),
    Work(Box<work::WorkArgs>),
    Workflow(Box<workflow::WorkflowCommand>),
    Loop(session::LoopCommand),
    Hook(session::HookArgs),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Why(why::WhyArgs),
    Report(report::ReportArgs),
    #[command(visible_alias = "log")]
    Logs(logs::LogsArgs),
    Stats(stats::StatsArgs),
    Verify(verify::VerifyArgs),
    #[command(visible_alias = "merge")]
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
    Mcp(mcp::McpArgs),
    Help(help::HelpArgs),
    #[command(name = "task-create", hide = true)]
    TaskCreate(Box<task::TaskCreateArgs>),
    #[command(name = "task-followup", hide = true)]
    TaskFollowup(Box<task::TaskFollowupArgs>),
    #[command(name = "ralph-status", hide = true)]
    RalphStatus(status::StatusArgs),
    #[command(name = "ralph-cancel", hide = true)]
    RalphCancel(cancel::CancelArgs),
    #[command(name = FILTER_SUBCOMMAND, hide = true)]
    FilterLines(filter_lines::FilterLinesArgs),
    #[command(name = "complete-ids", hide = true)]
    CompleteIds(complete_ids::CompleteIdsArgs),
    #[command(name = "demo-agent", hide = true)]
    DemoAgent(demo_agent::DemoAgentArgs),
}

/// Runs the command line and returns the exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    process::ignore_file_size_signal();
    let args = insert_linked_command(args.into_iter().collect());
    let cli = match parse_command_line(&args) {
        Ok(cli) => cli,
        Err(error) => return report_parse_error(&error, &args),
    };
    let result = catch_unwind(AssertUnwindSafe(|| init_tracing(&cli.command).and_then(|()| run_command(cli.command))))
        .unwrap_or_else(|_| {
            // The panic handler has already printed message and location.
            Err(CommandError::from_message(exit_code::INTERNAL_ERROR, "internal error in ralph")
                .with_hint("please report the panic message above"))
        });
    ExitCode::from(report_result(result))
}

/// Names of links to ralph that work as commands, as in the original tools.
const COMMAND_LINK_NAMES: [&str; 4] = ["task-create", "task-followup", "ralph-status", "ralph-cancel"];

fn insert_linked_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let name = args.first().map(Path::new).and_then(Path::file_name).and_then(OsStr::to_str);
    let linked = COMMAND_LINK_NAMES.into_iter().find(|linked| name == Some(linked));
    if let Some(linked) = linked {
        args.insert(1, linked.into());
    }
    args
}

/// Parses the arguments. Help and errors come from the complete parser, which knows all commands.
fn parse_command_line(args: &[OsString]) -> Result<Cli, clap::Error> {
    match Cli::try_parse_from(args) {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => {
            Cli::from_arg_matches(&complete_parser().try_get_matches_from(args)?)
        }
        parsed => parsed,
    }
}

/// Returns the parser with all commands and their arguments. Its help lists the commands in groups.
fn complete_parser() -> Command {
    let mut parser = Cli::command();
    parser.build();
    parser.help_template(help::grouped_help_template())
}

/// Starts tracing. A hook must answer its session even if tracing cannot start.
fn init_tracing(command: &CliCommand) -> Result<(), CommandError> {
    match (trace::start_tracing(), command) {
        (Err(failure), CliCommand::Hook(args)) => {
            session::log_hook_failure(args, &failure);
            Ok(())
        }
        (started, _) => started,
    }
}

/// Prints the error of a failed command and returns the exit code.
fn report_result(result: Result<u8, CommandError>) -> u8 {
    let code = result.unwrap_or_else(|failure| {
        out::print_command_error(&failure);
        failure.exit_code
    });
    if !out::has_lost_output() {
        return code;
    }
    let lost = CommandError::preflight_error("cannot write to standard output: the output is incomplete");
    out::print_command_error(
        &lost.with_hint("free space on its disk; a run continues without output: see `ralph show` and `ralph events`"),
    );
    if code == exit_code::COMPLETED { exit_code::PREFLIGHT_FAILED } else { code }
}

fn run_command(command: CliCommand) -> Result<u8, CommandError> {
    match command {
        CliCommand::Run(args) => run_command::run(&args),
        CliCommand::Plan(args) => classic::run_plan_mode(&args),
        CliCommand::Build(args) => classic::run_build_mode(&args),
        CliCommand::Prompt(args) => classic::run_prompt_mode(&args),
        CliCommand::Resume(args) => resume::run(&args),
        CliCommand::Demo(args) => demo::run(&args),
        CliCommand::Serve(args) => serve::run(&args),
        CliCommand::Attach(args) => attach::run(&args),
        CliCommand::Status(args) | CliCommand::RalphStatus(args) => status::run(&args),
        CliCommand::Cancel(args) | CliCommand::RalphCancel(args) => cancel::run(&args),
        CliCommand::Pause(args) => pause::run(&args),
        CliCommand::Retry(args) => retry::run(&args),
        CliCommand::Guide(args) => guide::run(&args),
        CliCommand::Limit(args) => limit::run(&args),
        CliCommand::Accept(args) => accept::run(&args),
        CliCommand::Reject(args) => reject::run(&args),
        CliCommand::Init(args) => init::run(&args),
        CliCommand::Install(args) => install::run_install(&args),
        CliCommand::Uninstall(args) => install::run_uninstall(&args),
        CliCommand::Trust(args) => trust::run(&args),
        CliCommand::Notify(args) => notify::run(&args),
        CliCommand::Task(args) => task::run(&args),
        CliCommand::Work(args) => work::run(&args),
        CliCommand::Workflow(args) => workflow::run(&args),
        CliCommand::Loop(args) => session::run(&args),
        CliCommand::Hook(args) => session::answer_hook(&args),
        CliCommand::TaskCreate(args) => task::create_task(&args),
        CliCommand::TaskFollowup(args) => task::create_followup_task(&args),
        CliCommand::Runs(args) => runs::run(&args),
        CliCommand::Show(args) => show::run(&args),
        CliCommand::Why(args) => why::run(&args),
        CliCommand::Report(args) => report::run(&args),
        CliCommand::Board(args) => board::run(&args),
        CliCommand::Inbox(args) => inbox::run(&args),
        CliCommand::Logs(args) => logs::run(&args),
        CliCommand::Stats(args) => stats::run(&args),
        CliCommand::Verify(args) => verify::run(&args),
        CliCommand::Land(args) => land::run(&args),
        CliCommand::Rewind(args) => rewind::run(&args),
        CliCommand::Diff(args) => diff::run(&args),
        CliCommand::Undo(args) => undo::run(&args),
        CliCommand::Events(args) => events::run(&args),
        CliCommand::Export(args) => export::run(&args),
        CliCommand::Import(args) => import::run(&args),
        CliCommand::Backup(args) => backup::run(&args),
        CliCommand::Gc(args) => gc::run(&args),
        CliCommand::Agents(args) => agents::run(&args),
        CliCommand::Detect(args) => detect::run(&args),
        CliCommand::Doctor(args) => doctor::run(&args),
        CliCommand::Templates(args) => templates::run(&args),
        CliCommand::Config(args) => config::run(&args),
        CliCommand::Completions(args) => completions::run(&args),
        CliCommand::Man(args) => man::run(&args),
        CliCommand::Mcp(args) => mcp::run(&args),
        CliCommand::Help(args) => help::run(&args),
        CliCommand::CompleteIds(args) => complete_ids::run(&args),
        CliCommand::FilterLines(args) => filter_lines::run(&args),
        CliCommand::DemoAgent(args) => demo_agent::run(&args),
    }
}

/// Prints help or version, or reports a usage error. A hook also replies to its session.
fn report_parse_error(error: &clap::Error, args: &[OsString]) -> ExitCode {
    if error.use_stderr() {
        // The message quotes the invalid argument, which may be a secret: print_stderr redacts it.
        let text = error.render();
        let colours = ColorMode::for_stream(&std::io::stderr()) == ColorMode::Colored;
        out::print_stderr(&if colours { text.ansi().to_string() } else { text.to_string() });
        let text = text.to_string();
        let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        return ExitCode::from(session::reply_to_bad_call(args, reason).unwrap_or(exit_code::USAGE_ERROR));
    }
    // A closed stream cannot be reported.
    let _ = error.print();
    ExitCode::SUCCESS
}

/// Returns the exit code of a command that a signal stopped.
fn signal_exit_code(signal: StopSignal) -> u8 {
    RunEnd::interrupted_by_signal(signal).exit_code
}

/// Runs an async command that starts no agent.
fn block_on<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    runtime.block_on(work)
}
