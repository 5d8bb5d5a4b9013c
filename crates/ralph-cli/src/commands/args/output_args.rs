//! The output flags that all commands with a loop share.
use std::io::{self, IsTerminal};

use clap::Args;
use ralph_core::outcome::exit_code;

use crate::commands::out;
use crate::error::CommandError;
use crate::report::{
    CiReport, CiSystem, JsonReport, NotifyOnFirstFact, PlainReport, ReportDetail, RunHeading, StateReport,
    ThreadedReporter, detect_ci_system,
};
use ralph_app::config::ConfigSource;
use ralph_app::run::BackgroundOutput;
use ralph_engine::run_driver::{OutputVisibility, RunObserver, RunPlan};
use ralph_process::StartupPipe;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Shows only iterations, claims and verdicts
    #[arg(long, short)]
    quiet: bool,
    /// Prints every event as one line of JSON; the last one is run.finished
    #[arg(long)]
    json: bool,
}

/// The form in which a run is reported.
pub enum OutputMode {
    Json,
    Plain(ReportDetail),
    Background(BackgroundMode),
}

/// How a run in the background reports, and how it continues after it was parked.
pub struct BackgroundMode {
    pub output: BackgroundOutput,
    pub config: ConfigSource,
}

/// The report of a run, and whether a summary follows at its end.
pub struct RunReporter {
    pub report: ThreadedReporter,
    pub has_summary: bool,
}

impl OutputMode {
    /// Returns who reads the results: people or programs.
    pub fn audience(&self) -> OutputVisibility {
        match self {
            Self::Json => OutputVisibility::Hidden,
            Self::Plain(_) | Self::Background(_) => OutputVisibility::Shown,
        }
    }

    /// Starts the report of a run.
    pub fn start_reporter(self, heading: RunHeading) -> Result<RunReporter, CommandError> {
        let has_summary = !matches!(self, Self::Json);
        let max_iterations = heading.max_iterations;
        let report = match self {
            Self::Json => ThreadedReporter::start(|| JsonReport::new(out::TrackedStdout)),
            Self::Plain(detail) => match ci_system() {
                Some(system) => ThreadedReporter::start(move || {
                    let report = CiReport::new(io::stderr(), system, detail, heading.clone());
                    StateReport::new(report, heading)
                }),
                None => ThreadedReporter::start(move || {
                    StateReport::new(PlainReport::new(io::stderr(), detail, max_iterations), heading)
                }),
            },
            Self::Background(background) => {
                ThreadedReporter::start(move || start_background_report(background.output, max_iterations))
            }
        };
        let report = report.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        Ok(RunReporter { report, has_summary })
    }
}

impl OutputArgs {
    pub fn audience(&self) -> OutputVisibility {
        if self.json { OutputVisibility::Hidden } else { OutputVisibility::Shown }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn output_mode(&self, plan: &RunPlan) -> OutputMode {
        match (self.json, self.quiet, plan.context.agent.preset().display_filter) {
            (true, _, _) => OutputMode::Json,
            (false, true, _) => OutputMode::Plain(ReportDetail::Milestones),
            (false, false, Some(_)) => OutputMode::Plain(ReportDetail::DisplayFilter),
            (false, false, None) => OutputMode::Plain(ReportDetail::Everything),
        }
    }
}

/// Returns the CI system whose log the output goes to. On a terminal, a person reads it.
fn ci_system() -> Option<CiSystem> {
    let is_terminal = io::stderr().is_terminal();
    detect_ci_system(|name| std::env::var(name).ok()).filter(|_| !is_terminal)
}

/// Returns a report that writes milestones to the log, and releases the parent process once the run is stored.
fn start_background_report(output: BackgroundOutput, max_iterations: u32) -> impl RunObserver {
    let BackgroundOutput { log, startup_pipe } = output;
    NotifyOnFirstFact::new(PlainReport::new(log, ReportDetail::Milestones, max_iterations), || {
        startup_pipe.into_iter().for_each(StartupPipe::release_parent);
    })
}
