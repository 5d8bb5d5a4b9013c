//! Puts ralph into the programs that people sit in front of: hooks into their settings, slash commands beside them. It
//! changes nothing that is not ours, undoes exactly what it did, and starts no program.
mod apply;
mod call;
mod change;
mod commands;
mod error;
mod file;
mod host;
pub mod merge;
mod own;
mod part;
mod patience;
mod place;
mod record;
mod state;
mod take_out;
mod warnings;

pub use apply::{Apply, Done, Report, apply};
pub use error::InstallError;
pub use host::{HOSTS, Host, find};
pub use own::Own;
pub use patience::{LONGEST, Patience, SHORTEST};
pub use place::{Place, Scope};
pub use state::{State, state};
pub use warnings::warnings;

/// Returns what `install` would do, without doing it.
pub fn put_in(host: &Host, place: &Place, own: &Own, patience: Patience) -> Result<Apply, InstallError> {
    change::put_in(host, place, own, patience)
}

/// Returns what `uninstall` would do, without doing it.
pub fn take_out(host: &Host, place: &Place, own: &Own) -> Result<Apply, InstallError> {
    take_out::take_out(host, place, own)
}
