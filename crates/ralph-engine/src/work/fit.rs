//! The work tree of a task is made fit for work. Whoever stops the worker, cancels the task or takes it over is heard meanwhile.
use std::pin::pin;
use std::sync::Arc;

use ralph_core::order::Order as Asked;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::shop::Workshop;
use super::task::Work;
use crate::engine::{self, Ask, halt_commands};
use crate::project::Project;
use ralph_process::{Keeper, Order};
use ralph_store::{Claim, Store, StoreError};

/// What the user's commands are started with.
pub struct Fitting {
    pub keeper: Keeper,
    pub orders: UnboundedReceiver<Order>,
    store: Arc<Store>,
    claim: Claim,
}

impl Fitting {
    /// Tells whether the task is still this worker's. Who cannot tell starts nothing.
    pub fn is_ours(&self) -> impl AsyncFn() -> bool + use<> {
        let (store, claim) = (Arc::clone(&self.store), self.claim.clone());
        async move || {
            let held = store.task_claim(&claim.task).await;
            held.is_ok_and(|held| held.is_some_and(|(owner, fence)| owner.is_some() && fence == claim.fence))
        }
    }
}

/// What became of it.
pub(super) enum Fit {
    Ready(Project),
    /// The worker was told to stop.
    Stopped,
    /// The task was cancelled.
    Cancelled,
}

impl<W: Workshop> Work<W> {
    pub(super) async fn fit(&self) -> Result<Fit, W::Trouble> {
        let task = &self.claim.task;
        if self.is_cancelled().await? {
            return Ok(Fit::Cancelled);
        }
        let mut line = self.desk.line(task, "");
        let (tell, orders) = unbounded_channel();
        let with = Fitting {
            keeper: self.keeper.clone(),
            orders,
            store: Arc::clone(&self.store),
            claim: self.claim.clone(),
        };
        let mut fitting = pin!(self.shop.tree(&self.row, with));
        tokio::select! {
            made = &mut fitting => made.map(Fit::Ready),
            end = self.must_end(&mut line, &tell) => {
                let end = end?;
                let _ = tell.send(Order::Kill);
                let made = fitting.await;
                end.map_or_else(|| made.map(Fit::Ready), Ok)
            }
        }
    }

    /// Waits until the commands must end. Returns what that makes of the task, where it is still ours.
    async fn must_end(
        &self,
        line: &mut UnboundedReceiver<Ask>,
        tell: &UnboundedSender<Order>,
    ) -> Result<Option<Fit>, StoreError> {
        loop {
            match line.recv().await {
                Some(Ask::Lost) => return Ok(None),
                Some(Ask::Signal(engine::Asked::Stop(_))) => return Ok(Some(Fit::Stopped)),
                Some(Ask::Halt(halt)) => halt_commands(halt, tell).await,
                Some(Ask::Signal(engine::Asked::Look)) if self.is_cancelled().await? => {
                    return Ok(Some(Fit::Cancelled));
                }
                Some(Ask::Signal(engine::Asked::Look | engine::Asked::Suspend)) => {}
                None => std::future::pending().await,
            }
        }
    }

    async fn is_cancelled(&self) -> Result<bool, StoreError> {
        // There is no run yet that orders could be for.
        let waiting = self.store.waiting_orders("", Some(&self.claim.task)).await?;
        Ok(waiting.iter().any(|waiting| waiting.order == Asked::Cancel))
    }
}
