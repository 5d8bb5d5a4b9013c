//! Calls a use case for a request.
use std::future::Future;

use axum::http::StatusCode;
use ralph_app::error::AppResult;
use tokio::runtime::Handle;

use crate::context::SharedContext;
use crate::problem::Problem;

/// Runs a use case in a thread where it may block: it may start git, read large files or wait for an agent. It runs to its
/// end also if the client has gone.
pub(crate) async fn run_use_case<T, F>(
    context: &SharedContext,
    work: impl FnOnce(SharedContext) -> F + Send + 'static,
) -> Result<T, Problem>
where
    T: Send + 'static,
    F: Future<Output = AppResult<T>>,
{
    let (shared, runtime) = (SharedContext::clone(context), Handle::current());
    let done = tokio::task::spawn_blocking(move || runtime.block_on(work(shared))).await;
    match done {
        Ok(result) => result.map_err(|error| Problem::from_app_error(context, &error)),
        Err(_) => Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "the request failed inside ralph")),
    }
}
