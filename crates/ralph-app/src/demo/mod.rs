//! The demo: a small repository with a task, and a scripted agent that first lies about it and then does it.
mod agent;
mod method;
mod speech;
mod stage;

pub use agent::{Pace, play};
pub use stage::{CHECK, Stage, StageError, TASK};
