//! The orders to a verification. Whatever looks at something when a stop comes is the last to look.
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc::UnboundedReceiver;

use ralph_process::{JobCommand, with_cancel_flag};

pub struct VerificationControl {
    receiver: UnboundedReceiver<JobCommand>,
    /// Orders for the next program that runs.
    pending_commands: VecDeque<JobCommand>,
    is_stopping: bool,
}

impl VerificationControl {
    #[must_use]
    pub fn new(receiver: UnboundedReceiver<JobCommand>) -> Self {
        Self { receiver, pending_commands: VecDeque::new(), is_stopping: false }
    }

    /// Waits for the next order. Who gives orders may be gone: then none comes.
    pub(super) async fn next_command(&mut self) -> JobCommand {
        match self.pending_commands.pop_front() {
            Some(order) => order,
            None => self.receive_command().await,
        }
    }

    async fn receive_command(&mut self) -> JobCommand {
        match self.receiver.recv().await {
            Some(order) => {
                self.is_stopping |= order.ends_job();
                order
            }
            None => std::future::pending().await,
        }
    }

    /// Tells whether the verification was told to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopping
    }

    /// Does something that holds up its thread. A stop kills the programs that it runs; other orders wait for the next job.
    pub async fn run_blocking<T: Send + 'static>(
        &mut self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, String> {
        let halt = Arc::new(AtomicBool::new(self.is_stopping));
        let heeded = halt.clone();
        let mut working = tokio::task::spawn_blocking(move || with_cancel_flag(heeded, work));
        loop {
            tokio::select! {
                done = &mut working => return done.map_err(|error| error.to_string()),
                order = self.receive_command() => {
                    halt.store(self.is_stopping, Ordering::Relaxed);
                    self.pending_commands.push_back(order);
                }
            }
        }
    }
}
