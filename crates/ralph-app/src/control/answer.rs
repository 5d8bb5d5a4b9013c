//! Waiting for the ralph process that drives a loop, but not for ever.
use std::time::Duration;

use ralph_engine::lock::RunOwner;
use ralph_store::LoopRow;

use super::describe_loop;
use crate::error::{AppError, AppResult, ErrorKind};

/// How often a condition is polled.
const ANSWER_POLL_INTERVAL: Duration = Duration::from_millis(25);

/// How long the driver of a loop may take to answer, beyond the time that the command itself needs.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Polls until there is a value. Returns none after the timeout.
pub async fn poll_with_timeout<T>(
    timeout: Duration,
    mut poll: impl AsyncFnMut() -> AppResult<Option<T>>,
) -> AppResult<Option<T>> {
    let polling = async {
        loop {
            if let Some(value) = poll().await? {
                return Ok(value);
            }
            tokio::time::sleep(ANSWER_POLL_INTERVAL).await;
        }
    };
    tokio::time::timeout(timeout, polling).await.ok().transpose()
}

/// The driver of the loop does not answer.
#[must_use]
pub fn unresponsive_error(row: &LoopRow, owner: Option<&RunOwner>) -> AppError {
    let driver = owner.map_or_else(|| "the ralph that drives it".to_owned(), ToString::to_string);
    let message = format!("the Ralph loop for {} does not answer: {driver}", describe_loop(row));
    AppError::from_message(ErrorKind::StateUnusable, message)
        .with_cause("it has received the command and has not carried it out: is it stopped (Ctrl-Z)?")
}

/// No process drives the task or run.
#[must_use]
pub fn not_running_error(name: &str) -> AppError {
    AppError::preflight(format!("no loop is running for {name}"))
}
