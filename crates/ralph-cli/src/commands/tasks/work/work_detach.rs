//! `ralph work --detach`: starts the worker in the background, where it survives the terminal.
use std::path::Path;

use ralph_app::background_worker::{BackgroundWorkerStart, start_worker_in_background};
use ralph_app::work::PreparedWork;
use ralph_engine::run_driver::OutputVisibility;

use super::{WorkOutput, run_worker};
use crate::commands::run::execute::with_keeper;
use crate::commands::{out, report_result};
use crate::error::CommandError;

/// Continues a worker in the background. Returns as soon as the worker can lease tasks, or has failed before that.
pub(super) fn run_detached_worker(
    prepared: PreparedWork,
    output: WorkOutput,
    audience: OutputVisibility,
) -> Result<u8, CommandError> {
    let started = start_worker_in_background(prepared, |prepared, startup| {
        let worked = startup.map_err(CommandError::from).and_then(|startup| {
            let output = WorkOutput { startup: Some(startup), ..output };
            with_keeper(|keeper| run_worker(prepared, keeper, output))
        });
        report_result(worked)
    })?;
    match started {
        BackgroundWorkerStart::Started { worker, pid, log } => {
            announce_start(&worker, pid, &log, audience);
            Ok(0)
        }
        BackgroundWorkerStart::EndedEarly { code } => Ok(code),
    }
}

fn announce_start(worker: &str, pid: u32, log: &Path, audience: OutputVisibility) {
    out::print_line(&match audience {
        OutputVisibility::Hidden => serde_json::json!({ "worker": worker, "pid": pid, "log": log }).to_string(),
        OutputVisibility::Shown => format!(
            "{worker} continues in the background: `ralph attach` follows it, `ralph status` shows its loops, \
             `ralph cancel {worker}` stops it"
        ),
    });
}
