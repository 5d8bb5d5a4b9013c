//! What people ask of a loop from another process: orders are left in the store, and whoever drives the loop is nudged. Where
//! nobody does, it is ended here. Nothing is ever started.
mod cancel_orphaned;
mod driver_status;
mod send_command;

pub use cancel_orphaned::{CancelOrphanedError, OrphanCancellation, cancel_orphaned_run};
pub use driver_status::{DriverStatus, find_driver};
pub use send_command::{CommandDelivery, send_command};
