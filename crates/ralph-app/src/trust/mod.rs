//! Remembers which commands of which project the user has approved. A repository can carry commands that somebody
//! else wrote: they are not started before the user has seen them. It decides nothing about what the user types.
mod command_fingerprint;
mod trust_list;

pub use command_fingerprint::CommandFingerprint;
pub use trust_list::{TrustError, TrustList, TrustStatus};
