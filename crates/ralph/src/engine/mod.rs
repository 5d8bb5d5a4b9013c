//! The process driver: it turns what happens into events, lets the rules decide, stores the decision, and then
//! does what was decided. It decides nothing itself.
mod attempt;
mod clock;
mod drive;
mod listen;
mod news;
mod perform;
mod plan;
mod signals;
mod template;
mod timers;
mod watch;

pub use drive::{EngineError, run};
pub use plan::{AgentChoice, Audience, PROJECT_VARIABLE, PromptSource, RunPlan, read_bounded};
pub use template::{Template, read_text};
pub use watch::{Stamp, Watcher};
