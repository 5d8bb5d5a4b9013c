//! Controls a loop from another process: commands are queued in the store, and the driver of the loop is notified. A
//! run without a driver is cancelled directly, and a person decides on its last claim. Nothing is started here.
mod cancel_orphaned;
mod continue_run;
mod decide_claim;
mod driver_status;
mod send_command;
mod stepped_run;

pub use cancel_orphaned::{CancelOrphanedError, OrphanCancellation, cancel_orphaned_run};
pub use continue_run::{ContinueRunError, RunContinuation, continue_ended_run};
pub use decide_claim::{ClaimDecision, DecideClaimError, decide_claim};
pub use driver_status::{DriverStatus, find_driver};
pub use send_command::{CommandDelivery, send_command};
pub use stepped_run::SteppedRun;
