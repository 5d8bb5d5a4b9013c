//! Ctrl-Z: whatever this process has started is held, then the process stands still, then all go on. Where it drives several
//! loops, each holds its own.
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::sync::{mpsc, oneshot, watch};

use super::control_input::{ControlEvent, ControlInput, SignalRequest, stop_own_process};
use ralph_process::JobCommand;

/// How long a supervisor may take to pass on a pause.
const PAUSE_FORWARD_TIMEOUT: Duration = Duration::from_secs(1);

/// A loop that cannot hold its agent in this time does not keep the others from stopping.
const HOLD_AGENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks a loop to hold its agent until all go on.
#[derive(Debug, Clone)]
pub struct SuspendRequest {
    /// Dropped when the agent is held.
    hold_pending: mpsc::UnboundedSender<()>,
    is_continued: watch::Receiver<bool>,
}

/// Stops the process when every loop that was asked holds its agent.
#[derive(Debug)]
pub struct ProcessSuspension {
    pending_holds: mpsc::UnboundedReceiver<()>,
    continue_sender: watch::Sender<bool>,
}

/// Returns what the loops are asked with, and what stops the process then.
#[must_use]
pub fn suspend_channel() -> (SuspendRequest, ProcessSuspension) {
    let (holds, awaited) = mpsc::unbounded_channel();
    let (go, go_on) = watch::channel(false);
    (
        SuspendRequest { hold_pending: holds, is_continued: go_on },
        ProcessSuspension { pending_holds: awaited, continue_sender: go },
    )
}

impl SuspendRequest {
    /// The agent is held: returns when it may go on.
    pub async fn wait_for_continue(mut self) {
        drop(self.hold_pending);
        // Who is gone halts nobody.
        let _ = self.is_continued.wait_for(|go| *go).await;
    }
}

impl ProcessSuspension {
    /// Stands still until somebody continues the process.
    pub async fn stop_process(mut self) {
        let all = async { while self.pending_holds.recv().await.is_some() {} };
        let _ = tokio::time::timeout(HOLD_AGENTS_TIMEOUT, all).await;
        stop_own_process();
        let _ = self.continue_sender.send(true);
    }
}

/// Holds a job that gets its orders so. Returns when the order has left, or when there is nobody to hold.
pub async fn pause_job(send_command: impl FnOnce(JobCommand) -> bool) {
    let (passed_on, passed) = oneshot::channel();
    if send_command(JobCommand::Pause { delivered: passed_on }) {
        let _ = tokio::time::timeout(PAUSE_FORWARD_TIMEOUT, passed).await;
    }
}

/// Waits for a stop while commands run that get their orders on this way. While the process stands still, they do.
pub async fn wait_for_stop_signal(
    control: &mut ControlInput,
    commands: &mpsc::UnboundedSender<JobCommand>,
) -> StopSignal {
    loop {
        match control.next_event().await {
            ControlEvent::Signal(SignalRequest::Stop(signal)) => return signal,
            ControlEvent::Signal(SignalRequest::Suspend) => {
                pause_job(|order| commands.send(order).is_ok()).await;
                stop_own_process();
                let _ = commands.send(JobCommand::Resume);
            }
            ControlEvent::Suspend(halt) => suspend_commands(halt, commands).await,
            ControlEvent::Signal(SignalRequest::CheckOrders) | ControlEvent::LeaseLost => {}
        }
    }
}

/// Holds commands while the process stands still with everything else that it drives.
pub async fn suspend_commands(request: SuspendRequest, commands: &mpsc::UnboundedSender<JobCommand>) {
    pause_job(|order| commands.send(order).is_ok()).await;
    request.wait_for_continue().await;
    let _ = commands.send(JobCommand::Resume);
}
