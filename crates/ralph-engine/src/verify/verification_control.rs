//! The control commands of a verification. After a stop, no further check is started.
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use ralph_process::{JobCommand, with_cancel_flag};

pub struct VerificationControl {
    receiver: UnboundedReceiver<JobCommand>,
    /// Commands that arrived while no program was running; the next program gets them.
    pending_commands: VecDeque<JobCommand>,
    is_stopping: bool,
}

impl VerificationControl {
    #[must_use]
    pub fn new(receiver: UnboundedReceiver<JobCommand>) -> Self {
        Self { receiver, pending_commands: VecDeque::new(), is_stopping: false }
    }

    /// Waits for the next command. Never returns once the sender is gone.
    pub(super) async fn next_command(&mut self) -> JobCommand {
        match self.pending_commands.pop_front() {
            Some(command) => command,
            None => self.receive_command().await,
        }
    }

    async fn receive_command(&mut self) -> JobCommand {
        match self.receiver.recv().await {
            Some(command) => {
                self.is_stopping |= command.ends_job();
                command
            }
            None => std::future::pending().await,
        }
    }

    /// Returns whether a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopping
    }

    /// Runs blocking work on another thread. A stop kills the programs that it runs; other commands wait for the next
    /// program.
    pub async fn run_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let cancel_flag = Arc::new(AtomicBool::new(self.is_stopping));
        let flag_of_worker = cancel_flag.clone();
        let mut worker = tokio::task::spawn_blocking(move || with_cancel_flag(flag_of_worker, work));
        loop {
            tokio::select! {
                done = &mut worker => return done.map_err(|error| error.to_string()),
                command = self.receive_command() => {
                    cancel_flag.store(self.is_stopping, Ordering::Relaxed);
                    self.pending_commands.push_back(command);
                }
            }
        }
    }
}
