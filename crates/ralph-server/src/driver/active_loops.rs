//! The loops that this process drives, each with the channel that stops it.
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use ralph_app::error::AppError;
use ralph_engine::run_driver::{ControlEvent, SignalRequest, SuspendRequest};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The requests to one loop.
pub(super) type ControlReceiver = UnboundedReceiver<ControlEvent>;

/// The loops by the id of their run.
#[derive(Default)]
pub(super) struct ActiveLoops {
    channels: Mutex<BTreeMap<String, UnboundedSender<ControlEvent>>>,
    ended: Notify,
}

impl ActiveLoops {
    /// Opens the channel of a loop that is about to start. Returns `None` if too many loops, or this one, are active.
    pub(super) fn open_channel(&self, run: &str, max_loops: usize) -> Option<ControlReceiver> {
        if self.lock().len() >= max_loops { None } else { self.open_new_channel(run) }
    }

    /// The same, unless there is one of this name.
    pub(super) fn open_new_channel(&self, name: &str) -> Option<UnboundedReceiver<ControlEvent>> {
        let mut channels = self.lock();
        if channels.contains_key(name) {
            return None;
        }
        let (sender, receiver) = unbounded_channel();
        channels.insert(name.to_owned(), sender);
        Some(receiver)
    }

    /// Forgets a loop.
    pub(super) fn close_channel(&self, run: &str) {
        self.lock().remove(run);
        self.ended.notify_waiters();
    }

    /// Drives a loop in its own task.
    pub(super) fn spawn(self: &Arc<Self>, run: String, work: impl Future<Output = ()> + Send + 'static) {
        let guard = LoopGuard { active: Arc::clone(self), run };
        tokio::spawn(async move {
            let _guard = guard;
            work.await;
        });
    }

    pub(super) fn forward_signal(&self, request: SignalRequest) {
        // A loop that has just ended no longer reads its channel.
        self.lock().values().for_each(|channel| drop(channel.send(ControlEvent::Signal(request))));
    }

    /// Asks all loops to pause their agents while the process is suspended.
    pub(super) fn suspend(&self, request: &SuspendRequest) {
        self.lock().values().for_each(|channel| drop(channel.send(ControlEvent::Suspend(request.clone()))));
    }

    pub(super) async fn wait_until_idle(&self) -> Result<(), AppError> {
        loop {
            let ended = self.ended.notified();
            if self.lock().is_empty() {
                return Ok(());
            }
            ended.await;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, UnboundedSender<ControlEvent>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets its loop when it is dropped, also after a panic.
struct LoopGuard {
    active: Arc<ActiveLoops>,
    run: String,
}

impl Drop for LoopGuard {
    fn drop(&mut self) {
        self.active.close_channel(&self.run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U5
    #[tokio::test]
    async fn more_loops_than_the_limit_are_refused_until_one_has_ended() {
        let active = Arc::new(ActiveLoops::default());
        let most = crate::driver::MAX_ACTIVE_LOOPS;
        let mut channels: Vec<_> =
            (0..most).map(|number| active.open_channel(&number.to_string(), most).unwrap()).collect();
        assert!(active.open_channel("one more", most).is_none());
        assert!(active.open_channel("0", most).is_none(), "it is active already");
        // The worker has its own channel.
        assert!(active.open_new_channel("worker").is_some());
        active.close_channel("worker");
        let mut first = channels.remove(0);
        active.spawn("0".to_owned(), async move { drop(first.recv().await) });
        active.forward_signal(SignalRequest::CheckOrders);
        while active.lock().len() == most {
            tokio::task::yield_now().await;
        }
        assert!(active.open_channel("one more", most).is_some());
    }

    // spec: U5
    #[tokio::test]
    async fn a_loop_that_panics_makes_room_too() {
        let active = Arc::new(ActiveLoops::default());
        let _channel = active.open_channel("a", 1).unwrap();
        active.spawn("a".to_owned(), async { panic!("on purpose") });
        active.wait_until_idle().await.unwrap();
        assert!(active.open_channel("b", 1).is_some());
    }
}
