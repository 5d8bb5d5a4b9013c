//! Executes a prepared run for the commands that start one: here or in the background, with a report and a summary.
use ralph_core::outcome::exit_code;

use crate::commands::args::output_args::{OutputArgs, OutputMode, RunReporter};
use crate::commands::notifications::CommandNotifications;
use crate::commands::run::detach::{DetachArgs, run_detached};
use crate::commands::run::parked_run::ParkedRun;
use crate::commands::run::run_report::{print_delivery, print_fresh_session_note, print_run_header, print_summary};
use crate::commands::run::state_requests::forward_state_requests;
use crate::commands::{block_on, signal_exit_code};
use crate::error::CommandError;
use crate::report::RunHeading;
use ralph_app::config::ConfigSource;
use ralph_app::run::{ControlSource, DrivenRun, PreparedRun, RunHost, StartedRun, start_run};
use ralph_engine::run_driver::RunPlan;
use ralph_process::Keeper;

/// Runs a command that starts agents.
pub fn with_keeper<W: Future<Output = Result<u8, CommandError>>>(
    work: impl FnOnce(Keeper) -> W,
) -> Result<u8, CommandError> {
    // Fork the keeper before the first thread starts, and before any lock is taken: it would inherit the lock.
    let keeper = Keeper::start().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    block_on(work(keeper))
}

/// Like [`with_keeper`], with several threads: a server answers requests while loops work.
pub fn with_keeper_and_threads<W: Future<Output = Result<u8, CommandError>>>(
    work: impl FnOnce(Keeper) -> W,
) -> Result<u8, CommandError> {
    let failed = |error: &(dyn std::error::Error + 'static)| CommandError::from_error(exit_code::INTERNAL_ERROR, error);
    let keeper = Keeper::start().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| failed(&error))?;
    let code = runtime.block_on(work(keeper));
    // A request that still waits for git or a file does not delay the end.
    runtime.shutdown_background();
    code
}

/// Starts a run here or in the background.
pub fn start_here_or_detached(
    prepared: PreparedRun,
    output: &OutputArgs,
    background: &DetachArgs,
    config: ConfigSource,
) -> Result<u8, CommandError> {
    if background.is_requested() {
        let source = config.clone();
        return run_detached(prepared, output, config, |run, output| execute_run(run, output, Some(&source)));
    }
    let show = output.output_mode(prepared.plan());
    execute_run(prepared, show, Some(&config))
}

/// Runs to the end and prints the result. Without a source of the configuration, no notification is sent.
pub fn execute_run(
    prepared: PreparedRun,
    output: OutputMode,
    config: Option<&ConfigSource>,
) -> Result<u8, CommandError> {
    with_keeper(|keeper| execute_with_keeper(prepared, keeper, output, config))
}

/// Runs to the end with a keeper that is already running.
pub async fn execute_with_keeper(
    prepared: PreparedRun,
    keeper: Keeper,
    output: OutputMode,
    config: Option<&ConfigSource>,
) -> Result<u8, CommandError> {
    let started = start_run(prepared, run_host(keeper)).await?;
    match output {
        OutputMode::Plain(_) => print_run_header(started.plan()),
        OutputMode::Json | OutputMode::Background(_) => print_fresh_session_note(started.plan()),
    }
    drive_and_report(started, output, config).await
}

/// Returns the process of a command: it drives one run, and signals stop it.
pub fn run_host(keeper: Keeper) -> RunHost {
    RunHost { keeper, control: ControlSource::ProcessSignals }
}

/// Returns what the lines of a run begin with.
fn run_heading(plan: &RunPlan) -> RunHeading {
    let role = plan.spec.stage.as_ref().map(|stage| stage.role.to_string());
    let label = role.unwrap_or_else(|| plan.context.agent.name.to_string());
    RunHeading { max_iterations: plan.spec.policy.max_iterations, label }
}

/// Drives a run to its end, and prints the summary and where its work is.
pub async fn drive_and_report(
    started: StartedRun,
    output: OutputMode,
    config: Option<&ConfigSource>,
) -> Result<u8, CommandError> {
    let audience = output.audience();
    let parked = ParkedRun::for_background(&started, &output)?;
    let RunReporter { mut report, has_summary } = output.start_reporter(run_heading(started.plan()))?;
    let notifications = CommandNotifications::start_with_config(&started.plan().context.project, config);
    let state_requests = report.state_requester().map(forward_state_requests);
    let driven = {
        let state_requests = async {
            match state_requests {
                Some(requests) => requests.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            driven = started.drive(&mut report) => driven,
            never = state_requests => match never {},
        }
    };
    // Prints the last lines of the report before the summary.
    drop(report);
    let finished = match driven? {
        DrivenRun::Ended(finished) => finished,
        DrivenRun::StoppedInSetup(signal) => return Ok(signal_exit_code(signal)),
    };
    if has_summary {
        print_summary(&finished.summary);
    }
    let delivered = finished.delivery.map(|delivery| print_delivery(&delivery, audience));
    notifications.finish().await;
    delivered?;
    match parked {
        Some(parked) if finished.summary.end.is_parked() => Box::pin(parked.continue_after_wait()).await,
        Some(_) | None => Ok(finished.summary.end.exit_code),
    }
}
