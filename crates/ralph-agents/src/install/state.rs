//! Whether what is installed is what this ralph would install.
use super::apply::Done;
use super::error::InstallError;
use super::host::Host;
use super::own::Own;
use super::patience::Patience;
use super::place::Place;
use super::{put_in, take_out};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing of ours is there.
    Absent,
    Current,
    /// Some of it is missing, or belongs to another ralph.
    Outdated,
}

/// Looks, and changes nothing.
pub fn state(host: &Host, place: &Place<'_>, own: &Own) -> Result<State, InstallError> {
    if !take_out(host, place, own)?.is_known() {
        return Ok(State::Absent);
    }
    let is_kept =
        put_in(host, place, own, Patience::Kept)?.reports().iter().all(|report| report.done == Done::Kept);
    Ok(if is_kept { State::Current } else { State::Outdated })
}
