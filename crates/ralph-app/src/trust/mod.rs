//! Remembers which commands of which project the user has approved. A repository can carry commands that somebody
//! else wrote: they are not started before the user has seen them. It decides nothing about what the user types.
mod ledger;
mod seal;

pub use ledger::{Knowledge, Ledger, TrustError};
pub use seal::Seal;
