//! `ralph workflow run`.
use std::collections::BTreeMap;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use ralph_app::config::Settings;
use ralph_app::run::{BackgroundRunStart, ControlSource, WorktreeOutcome};
use ralph_app::view::{format_cost, pluralize, short_id};
use ralph_app::workflow_runs::{
    AnswerRequest, FinishedWorkflow, FoundWorkflowRun, PreparedWorkflow, ResumableWorkflow, WorkflowProcess,
    WorkflowRunRequest, WorkflowWorkspace, answer_question, find_resumable_workflow, find_workflow_run,
    prepare_workflow_run, resume_workflow_in_background, resume_workflow_run, run_workflow,
    start_workflow_in_background,
};
use ralph_engine::project::Project;
use ralph_process::{Keeper, StartupPipe};
use ralph_store::WorkflowRunRow;
use ralph_util::amounts::DollarAmount;
use ralph_util::sanitize::sanitize_text;
use serde_json::json;

use super::dry_run::{self, DryRunArgs};
use super::reporter::{WorkflowReporter, lost_messages};
use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::notifications::CommandNotifications;
use crate::commands::run::detach::{DetachArgs, announce_start};
use crate::commands::run::execute::with_keeper;
use crate::commands::{block_on, confirm, out, report_result};
use crate::error::CommandError;
use crate::hints;

/// Runs a workflow
///
/// Its files are checked first; nothing starts if a name, an agent or an input is missing. The nodes work in a separate
/// git work tree, unless the file or --no-worktree chooses the checkout. A run that needs an answer waits, prints the
/// command that answers, and ends with the exit code 6. Ctrl-C stops; `ralph resume` continues at the nodes that were not
/// finished.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("max_cost", |arg| arg.help("Spending limit in US dollars for the whole run with its children: 5, 0.25 [built-in: no limit]")))]
#[command(after_help = "Examples:
  ralph workflow run fix-issue 'the login page is slow'
  ralph workflow run review --input base=main
  ralph workflow run nightly --no-worktree --json
  ralph workflow run review --dry-run --stubs review.stubs.yaml

Exit codes: 0 completed, 3 a node failed, 6 waits for a person, 7 spending limit reached, 9 cancelled,
130/143 stopped by a signal, 143 also by `ralph pause`")]
pub struct RunWorkflowArgs {
    /// The name of the workflow
    name: String,
    /// The message for the workflow, as $ARGUMENTS
    message: Vec<String>,
    /// A named input of the workflow; repeat for more
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = parse_input)]
    inputs: Vec<(String, String)>,
    /// Works in the checkout itself, not in a separate work tree
    #[arg(long)]
    no_worktree: bool,
    /// Runs up to N agents at the same time [built-in: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: Option<u32>,
    /// Walks the graph without running agents, commands or scripts; nothing is written
    #[arg(long)]
    dry_run: bool,
    /// The outputs of nodes for --dry-run, as YAML: {NODE: TEXT, NODE: {output: …}, NODE: {fail: REASON}}
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    stubs: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    background: DetachArgs,
}

/// The arguments that starting and continuing share.
#[derive(Debug, Clone, Args)]
pub struct DriveArgs {
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn parse_input(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    if name.is_empty() { Err("the name is empty".to_owned()) } else { Ok((name.to_owned(), value.to_owned())) }
}

pub fn run(args: &RunWorkflowArgs) -> Result<u8, CommandError> {
    if args.dry_run {
        return dry_run::run(DryRunArgs {
            name: &args.name,
            message: args.message.join(" "),
            inputs: args.inputs.iter().cloned().collect(),
            stubs: args.stubs.as_deref(),
            is_json: args.drive.output.is_json(),
        });
    }
    let project = Project::find_here()?;
    let mut settings = args.drive.load_settings(&project)?;
    args.agent.apply(&mut settings);
    args.limits.apply(&mut settings);
    settings.pipeline.slots.set_from_flag(args.slots, "--slots");
    let request = WorkflowRunRequest {
        name: &args.name,
        message: args.message.join(" "),
        inputs: args.inputs.iter().cloned().collect::<BTreeMap<_, _>>(),
        workspace: if args.no_worktree { WorkflowWorkspace::Checkout } else { WorkflowWorkspace::AsWritten },
        settings: &settings,
        extra_agent_args: args.agent.extra_args(),
        max_cost_micros: settings.limits.max_cost_usd.value.map(DollarAmount::as_micros),
    };
    let prepared = prepare_workflow_run(request, project.clone(), &TerminalInteraction)?;
    for note in &prepared.notes {
        out::print_note(&format!("note: {note}"));
    }
    if args.background.is_requested() {
        return run_in_background(prepared, args, settings, project);
    }
    let drive = DriverSetup { args: &args.drive, settings, project, startup: None };
    with_keeper(|keeper| CommandDriver::start(prepared, drive, keeper))
}

/// Starts the run in a process without a terminal, which writes to the log of the run.
fn run_in_background(
    prepared: PreparedWorkflow,
    args: &RunWorkflowArgs,
    settings: Settings,
    project: Project,
) -> Result<u8, CommandError> {
    let started = start_workflow_in_background(prepared, |prepared, output| {
        let output = output.map_err(CommandError::from);
        report_result(output.and_then(|output| {
            let drive = DriverSetup { args: &args.drive, settings, project, startup: output.startup_pipe };
            with_keeper(|keeper| CommandDriver::start(prepared, drive, keeper))
        }))
    })?;
    Ok(report_background_start(started, &args.drive))
}

/// Continues a workflow run in a process without a terminal.
pub fn resume_detached(part: Option<&str>, args: &DriveArgs, project: &Project) -> Result<u8, CommandError> {
    let run = match block_on(async { Ok(find_resumable_workflow(project, part).await?) })? {
        ResumableWorkflow::Open { run } => run,
        ResumableWorkflow::Ended(run) => return Ok(report_ended(&run)),
    };
    let settings = args.load_settings(project)?;
    let started = resume_workflow_in_background(project, &run, |output| {
        let output = output.map_err(CommandError::from);
        report_result(output.and_then(|output| {
            let project = project.clone();
            with_keeper(|keeper| async {
                let driver = CommandDriver { args, settings, project, keeper };
                driver.resume_and_report(Some(&run), output.startup_pipe).await
            })
        }))
    })?;
    Ok(report_background_start(started, args))
}

/// Continues a workflow run that no process drives.
pub async fn resume(
    part: Option<&str>,
    args: &DriveArgs,
    project: Project,
    keeper: Keeper,
) -> Result<u8, CommandError> {
    let settings = args.load_settings(&project)?;
    CommandDriver { args, settings, project, keeper }.resume_and_report(part, None).await
}

/// Says that nothing was started, and returns the exit code of the run.
fn report_ended(run: &WorkflowRunRow) -> u8 {
    out::print_note(&format!("workflow run {} has ended; nothing was started", short_id(&run.id)));
    out::print_message(&format!("{}: {}", run.status, run.reason.clone().unwrap_or_default()));
    run.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(0)
}

fn report_background_start(started: BackgroundRunStart, args: &DriveArgs) -> u8 {
    match started {
        BackgroundRunStart::Started { run_id, pid, log } => {
            announce_start(&run_id, pid, &log, args.output.audience());
            0
        }
        BackgroundRunStart::EndedEarly { code } => code,
    }
}

impl DriveArgs {
    pub fn load_settings(&self, project: &Project) -> Result<Settings, CommandError> {
        self.config.load_settings(Some(project))
    }
}

/// With what a command drives workflow runs.
pub struct DriverSetup<'a> {
    pub args: &'a DriveArgs,
    pub settings: Settings,
    pub project: Project,
    /// Releases the command that waits for the start in the background.
    pub startup: Option<StartupPipe>,
}

/// Drives workflow runs for a command.
pub struct CommandDriver<'a> {
    args: &'a DriveArgs,
    settings: Settings,
    project: Project,
    keeper: Keeper,
}

enum ResumeResult {
    Finished(Box<FinishedWorkflow>),
    /// The run has ended before, with this code.
    Ended {
        code: u8,
    },
}

impl<'a> CommandDriver<'a> {
    /// Starts a prepared run, and prints its result.
    pub async fn start(prepared: PreparedWorkflow, setup: DriverSetup<'a>, keeper: Keeper) -> Result<u8, CommandError> {
        let DriverSetup { args, settings, project, startup } = setup;
        let driver = CommandDriver { args, settings, project, keeper };
        let process = WorkflowProcess { startup, ..driver.process() };
        let notifications = driver.start_notifications();
        let finished = run_workflow(prepared, process).await?;
        let code = driver.answer_and_report(finished).await;
        notifications.finish().await;
        code
    }

    fn start_notifications(&self) -> CommandNotifications {
        CommandNotifications::start(&self.project, &self.settings)
    }

    fn process(&self) -> WorkflowProcess {
        WorkflowProcess {
            settings: self.settings.clone(),
            config: self.args.config.source(),
            keeper: self.keeper.clone(),
            control: ControlSource::ProcessSignals,
            person: Box::new(TerminalInteraction),
            observer: Arc::new(WorkflowReporter::new(&self.args.output)),
            startup: None,
        }
    }

    async fn resume_and_report(&self, part: Option<&str>, startup: Option<StartupPipe>) -> Result<u8, CommandError> {
        let notifications = self.start_notifications();
        let code = match self.resume(part, startup).await? {
            ResumeResult::Finished(finished) => self.answer_and_report(*finished).await,
            ResumeResult::Ended { code } => return Ok(code),
        };
        notifications.finish().await;
        code
    }

    async fn resume(&self, part: Option<&str>, startup: Option<StartupPipe>) -> Result<ResumeResult, CommandError> {
        let FoundWorkflowRun { store, run } = find_workflow_run(&self.project, part).await?;
        if run.ended_at.is_some() && run.status != "failed" {
            return Ok(ResumeResult::Ended { code: report_ended(&run) });
        }
        let process = WorkflowProcess { startup, ..self.process() };
        let finished = resume_workflow_run(&self.project, run, store, process).await?;
        Ok(ResumeResult::Finished(Box::new(finished)))
    }

    /// Asks the person at the terminal while the run waits, and prints how it ended.
    async fn answer_and_report(&self, mut finished: FinishedWorkflow) -> Result<u8, CommandError> {
        while finished.end.status == "waiting" && confirm::is_interactive() && !self.args.output.is_json() {
            let Some(question) = finished.end.questions.first() else { break };
            let Some((decision, text)) = ask(&question.node, &question.text, &question.decisions) else { break };
            let node = question.node.clone();
            let run = finished.run.clone();
            let asking = question.run.clone();
            let request = AnswerRequest { run: Some(&asking), node: Some(&node), decision: &decision, text };
            if let Err(error) = answer_question(&self.project, request).await {
                out::print_command_error(&error.into());
                continue;
            }
            match self.resume(Some(&run), None).await? {
                ResumeResult::Finished(next) => finished = *next,
                ResumeResult::Ended { code } => return Ok(code),
            }
        }
        self.print_result(finished)
    }

    fn print_result(&self, finished: FinishedWorkflow) -> Result<u8, CommandError> {
        let FinishedWorkflow { run, end, worktree, log, cost_micros } = finished;
        let short = short_id(&run).to_owned();
        if self.args.output.is_json() {
            let questions: Vec<_> = end.questions.iter().map(|question| &question.name).collect();
            out::print_line(
                &json!({ "event": "workflow.result", "run": run, "status": end.status, "reason": end.reason,
                    "exit_code": end.exit_code, "output": end.output, "proof": end.proof, "questions": questions })
                .to_string(),
            );
            return Ok(end.exit_code);
        }
        out::print_message(&sanitize_text(&format!("\n{}: {}", end.status, end.reason)));
        if let Some(output) = end.output.as_deref().filter(|output| !output.trim().is_empty()) {
            out::print_message(&sanitize_text(output));
        }
        for question in &end.questions {
            out::print_message(&sanitize_text(&format!("\n{} asks:\n{}", question.node, question.text)));
            for decision in &question.decisions {
                out::print_message(&format!(
                    "answer    {}",
                    hints::workflow_answer_command(short_id(&question.run), &question.node, decision)
                ));
            }
        }
        if let Some(cost) = cost_micros {
            out::print_message(&format!("spent     {}", format_cost(Some(cost))));
        }
        if end.status == "interrupted" {
            out::print_message(&format!("resume    ralph resume {short}"));
        }
        out::print_message(&format!("details   ralph show {short}"));
        out::print_message(&format!("log       {}", log.display()));
        let lost = lost_messages();
        if lost > 0 {
            let lost = pluralize(i64::try_from(lost).unwrap_or(i64::MAX), "message");
            out::print_message(&format!("lost      {lost} could not be printed; the log has all of them"));
        }
        if let Some(worktree) = worktree {
            print_worktree(&worktree?);
        }
        Ok(end.exit_code)
    }
}

fn print_worktree(outcome: &WorktreeOutcome) {
    out::print_note(&match outcome {
        WorktreeOutcome::Unfinished { path } => format!("tree      {} contains the work so far", path.display()),
        WorktreeOutcome::Accepted { branch, tree } => format!("branch    {branch}; `ralph land {tree}` merges it"),
        WorktreeOutcome::NotAccepted { branch, reason } => format!("warning: {branch} was not moved: {reason}"),
    });
}

/// Asks the person at the terminal. Returns the decision and the text, or `None` without an answer.
fn ask(node: &str, text: &str, decisions: &[String]) -> Option<(String, String)> {
    out::print_note(&sanitize_text(&format!("\n{node} asks:\n{text}\n")));
    out::print_question(&format!("Answer ({}), then text; empty: later: ", decisions.join(", ")));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).ok()?;
    let answer = answer.trim();
    let (decision, text) = answer.split_once(char::is_whitespace).unwrap_or((answer, ""));
    (!decision.is_empty()).then(|| (decision.to_owned(), text.trim().to_owned()))
}
