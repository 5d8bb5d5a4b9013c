//! Ctrl-Z: pauses the running jobs, stops this process, and resumes them when the process is continued. If the process
//! drives several loops, each pauses its own agent.
use std::time::Duration;

use ralph_core::event::StopSignal;
use tokio::sync::{mpsc, oneshot, watch};

use super::control_input::{ControlEvent, ControlInput, SignalRequest, stop_own_process};
use ralph_process::JobCommand;

/// How long a supervisor may take to forward a pause.
const PAUSE_FORWARD_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the process waits for its loops to pause their agents.
const HOLD_AGENTS_TIMEOUT: Duration = Duration::from_secs(2);

/// Asks a loop to pause its agent until the process is continued.
#[derive(Debug, Clone)]
pub struct SuspendRequest {
    /// Dropped when the agent is paused.
    hold_pending: mpsc::UnboundedSender<()>,
    is_continued: watch::Receiver<bool>,
}

/// Stops the process when every loop has paused its agent.
#[derive(Debug)]
pub struct ProcessSuspension {
    pending_holds: mpsc::UnboundedReceiver<()>,
    continue_sender: watch::Sender<bool>,
}

/// Returns the request for the loops, and the suspension that waits for them and stops the process.
#[must_use]
pub fn suspend_channel() -> (SuspendRequest, ProcessSuspension) {
    let (hold_pending, pending_holds) = mpsc::unbounded_channel();
    let (continue_sender, is_continued) = watch::channel(false);
    (SuspendRequest { hold_pending, is_continued }, ProcessSuspension { pending_holds, continue_sender })
}

impl SuspendRequest {
    /// Reports that the agent is paused, and waits until it may be resumed.
    pub async fn wait_for_continue(mut self) {
        drop(self.hold_pending);
        // If the sender is gone, the process does not stop.
        let _ = self.is_continued.wait_for(|is_continued| *is_continued).await;
    }
}

impl ProcessSuspension {
    /// Stops the process until it is continued.
    pub async fn stop_process(mut self) {
        let all_paused = async { while self.pending_holds.recv().await.is_some() {} };
        let _ = tokio::time::timeout(HOLD_AGENTS_TIMEOUT, all_paused).await;
        stop_own_process();
        let _ = self.continue_sender.send(true);
    }
}

/// Pauses a job. Returns when the command was delivered, or at once if no job is running.
pub async fn pause_job(send_command: impl FnOnce(JobCommand) -> bool) {
    let (delivered, delivery) = oneshot::channel();
    if send_command(JobCommand::Pause { delivered }) {
        let _ = tokio::time::timeout(PAUSE_FORWARD_TIMEOUT, delivery).await;
    }
}

/// Waits for a stop signal while setup commands run. If the process is suspended, they are paused.
pub async fn wait_for_stop_signal(
    control: &mut ControlInput,
    commands: &mpsc::UnboundedSender<JobCommand>,
) -> StopSignal {
    loop {
        match control.next_event().await {
            ControlEvent::Signal(SignalRequest::Stop(signal)) => return signal,
            ControlEvent::Signal(SignalRequest::Suspend) => {
                pause_job(|command| commands.send(command).is_ok()).await;
                stop_own_process();
                let _ = commands.send(JobCommand::Resume);
            }
            ControlEvent::Suspend(request) => suspend_commands(request, commands).await,
            ControlEvent::Signal(SignalRequest::CheckOrders) | ControlEvent::LeaseLost => {}
        }
    }
}

/// Pauses the running commands while the process is suspended.
pub async fn suspend_commands(request: SuspendRequest, commands: &mpsc::UnboundedSender<JobCommand>) {
    pause_job(|command| commands.send(command).is_ok()).await;
    request.wait_for_continue().await;
    let _ = commands.send(JobCommand::Resume);
}
