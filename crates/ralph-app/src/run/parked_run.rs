//! Runs that are parked: a long wait has ended their driver, and they are resumed after it.
use std::time::Duration;

use ralph_core::event::UnixMillis;
use ralph_engine::project::Project;
use ralph_engine::run_driver::Clock;

use super::{FoundRun, find_run};
use crate::error::AppResult;

/// How often the wall clock is read: a machine may have slept, or its clock may have been set.
const WALL_CLOCK_POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Returns until when a run is parked, or `None` if it is not.
pub async fn parked_until(project: &Project, run: &str) -> AppResult<Option<UnixMillis>> {
    let FoundRun { store, run } = find_run(project, Some(run)).await?;
    let until = store.load_run(&run.id).await?.state.parked_until();
    store.close().await;
    Ok(until)
}

/// Sleeps until this time by the wall clock.
pub async fn sleep_until_wall_clock(until: UnixMillis) {
    loop {
        let left = Duration::from_millis(until.elapsed_since(Clock::wall_now()));
        if left.is_zero() {
            return;
        }
        tokio::time::sleep(left.min(WALL_CLOCK_POLL_INTERVAL)).await;
    }
}
