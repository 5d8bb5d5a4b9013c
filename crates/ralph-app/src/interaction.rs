//! How a use case reaches a person while it works.
use crate::config::ProjectCommand;

/// The person in front of a screen, as far as a use case needs one. `Sync`, so that a server can spawn use cases.
pub trait Interaction: Sync {
    /// Shows a remark that needs no answer.
    fn show_note(&self, text: &str);

    /// Asks whether these commands of the project may be started. Without a person the answer is no.
    fn approve_commands(&self, commands: &[ProjectCommand]) -> bool;
}

/// No person is there: remarks are dropped and nothing is approved. For servers and schedulers.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInteraction;

impl Interaction for NoInteraction {
    fn show_note(&self, _text: &str) {}

    fn approve_commands(&self, _commands: &[ProjectCommand]) -> bool {
        false
    }
}
