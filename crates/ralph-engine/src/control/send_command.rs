//! Queues a command for the driver of a loop and notifies the driver.
use ralph_core::control_command::ControlCommand;
use ralph_core::event::UnixMillis;

use crate::lock::RunOwner;
use ralph_store::{CommandTarget, NewCommand, Store, StoreError};

/// Whether a command was queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandDelivery {
    /// The command is queued under this id.
    Queued {
        id: String,
    },
    RunEnded,
}

/// Queues a command and notifies the driver of the loop, if it is known. The driver also polls the queue.
pub async fn send_command(
    store: &Store,
    target: CommandTarget<'_>,
    command: &ControlCommand,
    at: UnixMillis,
    owner: Option<&RunOwner>,
) -> Result<CommandDelivery, StoreError> {
    let id = uuid::Uuid::now_v7().to_string();
    if !store.enqueue_command(NewCommand { id: &id, target, command, at }).await? {
        return Ok(CommandDelivery::RunEnded);
    }
    if let Some(owner) = owner {
        owner.process.notify_of_command();
    }
    Ok(CommandDelivery::Queued { id })
}
