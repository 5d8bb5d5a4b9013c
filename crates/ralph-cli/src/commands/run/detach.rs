//! `--detach`: starts a run in the background, where it survives the terminal.
use std::path::Path;

use clap::Args;

use crate::commands::args::output_args::{BackgroundMode, OutputArgs, OutputMode};
use crate::commands::{out, report_result};
use crate::error::CommandError;
use ralph_app::config::ConfigSource;
use ralph_app::run::{BackgroundRun, BackgroundRunStart, start_in_background};
use ralph_app::view::short_id;
use ralph_engine::run_driver::OutputVisibility;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct DetachArgs {
    /// Runs in the background, independent of the terminal; prints the run id and returns
    #[arg(long)]
    detach: bool,
}

impl DetachArgs {
    pub fn is_requested(&self) -> bool {
        self.detach
    }
}

/// Continues a run in the background. Returns as soon as the run is stored, or has failed before that.
pub fn run_detached<R: BackgroundRun>(
    run: R,
    output: &OutputArgs,
    config: ConfigSource,
    continue_run: impl FnOnce(R, OutputMode) -> Result<u8, CommandError>,
) -> Result<u8, CommandError> {
    let started = start_in_background(run, |run, background| {
        let background = background.map_err(CommandError::from);
        let mode = background.map(|output| OutputMode::Background(BackgroundMode { output, config }));
        report_result(mode.and_then(|mode| continue_run(run, mode)))
    })?;
    match started {
        BackgroundRunStart::Started { run_id, pid, log } => {
            announce_start(&run_id, pid, &log, output.audience());
            Ok(0)
        }
        BackgroundRunStart::EndedEarly { code } => Ok(code),
    }
}

/// Prints how a run in the background is followed.
pub fn announce_start(id: &str, pid: u32, log: &Path, audience: OutputVisibility) {
    let short = short_id(id);
    out::print_line(&match audience {
        OutputVisibility::Hidden => serde_json::json!({ "run": id, "pid": pid, "log": log }).to_string(),
        OutputVisibility::Shown => {
            format!("run {short} continues in the background: `ralph attach {short}` follows it, `kill {pid}` stops it")
        }
    });
}
