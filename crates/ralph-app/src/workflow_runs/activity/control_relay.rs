//! Hands the control events of one activity to its runs and programs, one after the other.
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::event::StopSignal;
use ralph_engine::run_driver::{ControlEvent, SignalRequest};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

/// Forwards events to the newest channel. A stop is remembered for channels that are opened later.
pub(super) struct ControlRelay {
    target: Arc<Mutex<RelayTarget>>,
    task: AbortHandle,
}

#[derive(Default)]
struct RelayTarget {
    sender: Option<UnboundedSender<ControlEvent>>,
    stop: Option<StopSignal>,
}

impl ControlRelay {
    pub(super) fn new(mut control: UnboundedReceiver<ControlEvent>) -> Self {
        let target: Arc<Mutex<RelayTarget>> = Arc::default();
        let forwarded = Arc::clone(&target);
        let task = tokio::spawn(async move {
            while let Some(event) = control.recv().await {
                let mut target = forwarded.lock().unwrap_or_else(PoisonError::into_inner);
                if let ControlEvent::Signal(SignalRequest::Stop(signal)) = &event {
                    target.stop = Some(*signal);
                }
                // Between two runs nothing listens.
                if let Some(sender) = &target.sender {
                    let _ = sender.send(event);
                }
            }
        });
        Self { target, task: task.abort_handle() }
    }

    /// Opens the channel for the next run or program.
    pub(super) fn next_channel(&mut self) -> UnboundedReceiver<ControlEvent> {
        let (sender, receiver) = unbounded_channel();
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(signal) = target.stop {
            let _ = sender.send(ControlEvent::Signal(SignalRequest::Stop(signal)));
        }
        target.sender = Some(sender);
        receiver
    }

    /// Returns whether the activity was asked to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.target.lock().unwrap_or_else(PoisonError::into_inner).stop.is_some()
    }
}

impl Drop for ControlRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}
