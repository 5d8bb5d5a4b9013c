//! The process driver: turns what happens into events, lets the rules decide, stores the decision, and then performs its
//! effects. It decides nothing itself.
mod activity_clock;
mod agent_listener;
mod attempt_conversions;
mod attempt_io;
mod attempt_output;
mod attempt_runner;
mod change_detector;
mod clock;
mod control_input;
mod cost_ledger;
mod driver_message;
mod effect_runner;
mod failure_collector;
mod filter_process;
mod judge_choice;
mod process_driver;
mod prompt_template;
mod remaining_budget;
mod run_notes;
mod run_observer;
mod run_plan;
mod run_record;
mod run_resources;
mod run_spec;
mod snapshots;
mod stage_execution_log;
mod step_runner;
mod stored_agent;
mod stored_path;
mod suspend;
mod timer_queue;
mod usage_file;

pub use clock::{Clock, new_run_id};
pub use control_input::{ControlEvent, ControlInput, SignalRequest, SignalStream, stop_own_process};
pub use cost_ledger::{CostAccount, CostLedger};
pub use effect_runner::attempt_log_name;
pub use judge_choice::{JudgeChoice, JudgeProvider};
pub use process_driver::{EngineError, ResumedRun, StartMode, run_loop};
pub use prompt_template::{PromptTemplate, read_text_file};
pub use run_notes::NOTES_ENV_VAR;
pub use run_observer::{JournalPosition, RunObserver};
pub use run_plan::{
    AgentChoice, AgentJob, GENERATE_RUN_KIND, OutputVisibility, PROJECT_ENV_VAR, PromptSource, RunPlan, STAGE_RUN_KIND,
    TaskStage, read_bounded_prompt, session_log_bytes,
};
pub use run_resources::{RunLease, RunResources, WorktreeLock};
pub use run_spec::{ResumeTarget, RunSpec, RunSpecError};
pub use stored_agent::StoredAgent;
pub use suspend::{SuspendRequest, suspend_channel, suspend_commands, wait_for_stop_signal};
