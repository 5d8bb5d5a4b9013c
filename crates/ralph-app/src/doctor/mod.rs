//! Looks whether agents and machine are fit for work. It changes nothing, and decides nothing about runs.
mod agents;
mod ask;
mod finding;
mod hooks;
mod login;
mod machine;

pub use agents::{AgentHealth, Visit, Wanted, examine};
pub use finding::{Finding, Status, worst};
pub use machine::{Place, of_machine};
