//! `ralph serve`: an HTTP server with an API, conversations and a dashboard. It calls the use cases of `ralph-app` and formats
//! their results; it decides nothing itself.
mod api;
mod connections;
mod context;
mod conversations;
mod driver;
mod pages;
mod problem;
mod requests;
mod router;
mod security;
mod server;

pub use context::{CommandWords, ServerOptions, ServerWorker};
pub use driver::{WorkResultReporter, WorkerScreen};
pub use security::{AccessTokenError, create_login_url, read_access_token};
pub use server::{BoundServer, ServerError};
