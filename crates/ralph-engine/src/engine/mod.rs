//! The process driver: it turns what happens into events, lets the rules decide, stores the decision, and then
//! does what was decided. It decides nothing itself.
mod allowance;
mod attempt;
mod books;
mod clock;
mod decide;
mod drive;
mod ears;
mod executions;
mod halt;
mod judge;
mod keep;
mod last_heard;
mod ledger;
mod listen;
mod means;
mod movement;
mod news;
mod notes;
mod perform;
mod plan;
mod reader;
mod settings;
mod sieve;
mod signals;
mod stored_agent;
mod stored_path;
mod template;
mod timers;
mod trouble;
mod usage_file;
mod watch;

pub use clock::{Clock, new_run_id};
pub use drive::{Beginning, EngineError, TakenUp, run};
pub use halt::{Halt, halt, halt_commands, stop_for_commands};
pub use judge::{JudgeChoice, Who};
pub use ledger::{Account, Ledger};
pub use means::{Hold, Means, TreeHold};
pub use notes::NOTES_VARIABLE;
pub use perform::log_name;
pub use plan::{
    AgentChoice, Audience, KIND_GENERATE, KIND_STAGE, PROJECT_VARIABLE, PromptSource, RunPlan, StageOf,
    read_bounded, session_room,
};
pub use settings::{Place, RunSettings, SettingsError};
pub use signals::{Ask, Asked, Asks, Signals, stop_self};
pub use stored_agent::StoredAgent;
pub use template::{Template, read_text};
pub use watch::{Stamp, Watcher};
