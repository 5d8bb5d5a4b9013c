//! The context of every handler of a request.
use std::net::SocketAddr;
use std::sync::Arc;

use ralph_app::config::ConfigSource;
use ralph_app::conversations::ConversationHub;
use ralph_app::error::AppError;
use ralph_app::inbox::InboxAnswer;
use ralph_app::view::LoopRemedy;
use ralph_app::work::PreparedWork;
use ralph_engine::project::Project;

use tokio::sync::watch;

use crate::api::{ChangeWatcher, OrderLocks};
use crate::driver::{LoopDriver, WorkResultReporter, WorkerScreen};
use crate::requests::IdempotentAnswers;
use crate::security::SecuritySettings;

/// The words that only the command line knows: its commands and flags.
#[derive(Debug, Clone, Copy)]
pub struct CommandWords {
    /// Says how to fix an error.
    pub hints: fn(&AppError) -> Vec<String>,
    /// Returns the commands that answer an item of the inbox.
    pub inbox_commands: fn(&InboxAnswer) -> Vec<String>,
    /// Returns the command that lets a loop continue.
    pub remedy: fn(&LoopRemedy) -> String,
}

/// With what a server is started.
pub struct ServerOptions {
    pub address: SocketAddr,
    pub project: Project,
    pub config: ConfigSource,
    pub words: CommandWords,
    /// The worker that runs tasks in this process, if it shall have one.
    pub worker: Option<ServerWorker>,
    /// Returns the screen of a worker that an order starts.
    pub worker_screen: fn() -> WorkerScreen,
    /// Names under which the server is addressed, besides those of this machine.
    pub allowed_hosts: Vec<String>,
}

/// A worker of the server.
pub struct ServerWorker {
    pub prepared: PreparedWork,
    /// Gets its result when it has stopped, or the reason why it could not start.
    pub when_ended: WorkResultReporter,
}

/// Shared by all requests.
pub(crate) struct ServerContext {
    pub project: Project,
    pub config: ConfigSource,
    pub words: CommandWords,
    pub worker_screen: fn() -> WorkerScreen,
    pub driver: Arc<LoopDriver>,
    pub security: SecuritySettings,
    /// The answers of orders with an `Idempotency-Key`.
    pub answers: Arc<IdempotentAnswers>,
    pub orders: Arc<OrderLocks>,
    pub changes: Arc<ChangeWatcher>,
    /// Becomes true when the server stops.
    pub is_stopping: watch::Receiver<bool>,
    pub conversations: Arc<ConversationHub>,
}

pub(crate) type SharedContext = Arc<ServerContext>;
