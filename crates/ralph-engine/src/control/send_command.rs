//! Leaves an order where whoever drives the loop finds it, and tells him.
use ralph_core::control_command::ControlCommand;
use ralph_core::event::UnixMillis;

use crate::lock::RunOwner;
use ralph_store::{CommandTarget, NewCommand, Store, StoreError};

/// What became of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandDelivery {
    /// It waits under this id.
    Queued { id: String },
    /// The run has ended.
    RunEnded,
}

/// Leaves an order, and nudges whoever drives the loop, where that is known. He looks by himself before long.
pub async fn send_command(
    store: &Store,
    (to, order): (CommandTarget<'_>, &ControlCommand),
    at: UnixMillis,
    owner: Option<&RunOwner>,
) -> Result<CommandDelivery, StoreError> {
    let id = uuid::Uuid::now_v7().to_string();
    if !store.enqueue_command(NewCommand { id: &id, target: to, command: order, at }).await? {
        return Ok(CommandDelivery::RunEnded);
    }
    if let Some(owner) = owner {
        owner.process.notify_of_command();
    }
    Ok(CommandDelivery::Queued { id })
}
