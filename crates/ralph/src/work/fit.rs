//! The work tree of a task is made fit for work. Whoever stops the worker, cancels the task or takes it over is heard meanwhile.
use std::pin::pin;
use std::sync::Arc;

use ralph_core::order::Order as Asked;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::shop::Workshop;
use super::task::Work;
use crate::engine::{self, Ask};
use crate::process::{Keeper, Order};
use crate::project::Project;
use crate::store::{Claim, Store, StoreError};

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
        let mut end = None;
        let made = loop {
            tokio::select! {
                made = &mut fitting => break made,
                Some(ask) = line.recv(), if end.is_none() => {
                    let must_end;
                    (must_end, end) = self.heard(ask).await?;
                    if must_end {
                        let _ = tell.send(Order::Kill);
                    }
                }
            }
        };
        match end {
            Some(end) => Ok(end),
            None => made.map(Fit::Ready),
        }
    }

    /// Returns whether the commands must end, and what that makes of the task where it is still ours.
    async fn heard(&self, ask: Ask) -> Result<(bool, Option<Fit>), StoreError> {
        Ok(match ask {
            Ask::Lost => (true, None),
            Ask::Signal(engine::Asked::Stop(_)) => (true, Some(Fit::Stopped)),
            // Only ralph itself stands still: a command of the user's goes on to its end.
            Ask::Signal(engine::Asked::Suspend) | Ask::Halt(_) => (false, None),
            Ask::Signal(engine::Asked::Look) => match self.is_cancelled().await? {
                true => (true, Some(Fit::Cancelled)),
                false => (false, None),
            },
        })
    }

    async fn is_cancelled(&self) -> Result<bool, StoreError> {
        // There is no run yet that orders could be for.
        let waiting = self.store.waiting_orders("", Some(&self.claim.task)).await?;
        Ok(waiting.iter().any(|waiting| waiting.order == Asked::Cancel))
    }
}
