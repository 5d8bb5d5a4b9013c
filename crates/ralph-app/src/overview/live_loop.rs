//! The current facts of a loop that runs: when its agent last wrote something, and its spending limit.
use std::fs;
use std::time::UNIX_EPOCH;

use ralph_engine::project::Project;
use ralph_engine::run_driver::RunSpec;
use ralph_store::RunRow;

/// Returns when the agent of a run last wrote output, in milliseconds since 1970.
#[must_use]
pub fn last_output_at(project: &Project, run: &str) -> Option<i64> {
    let files = fs::read_dir(project.run_folder(run)).ok()?;
    let logs = files.filter_map(Result::ok).filter(|file| file.file_name().to_string_lossy().ends_with(".ndjson"));
    let newest = logs.filter_map(|file| file.metadata().ok()?.modified().ok()).max()?;
    i64::try_from(newest.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
}

/// Returns the spending limit of a run, in millionths of a dollar.
#[must_use]
pub fn cost_limit_of_run(run: &RunRow) -> Option<u64> {
    RunSpec::parse(&run.settings).ok()?.policy.budget.max_cost_micros
}
