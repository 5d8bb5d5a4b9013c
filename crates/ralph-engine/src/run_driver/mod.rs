//! The process driver: turns what happens into events, lets the rules decide, stores the decision, and then performs its
//! effects. It decides nothing itself.
mod apply_event;
mod attempt;
mod claim_verifier;
mod clock;
mod control_input;
mod cost_ledger;
mod effect_runner;
mod journal;
mod plan;
mod process_driver;
mod run_resources;
mod suspend;
mod timer_queue;

pub use attempt::attempt_runner::{AttemptChannels, AttemptRequest, AttemptRunner, attempt_log_name, prompt_log_name};
pub use attempt::driver_message::{DisplayUpdate, DriverMessage};
pub use attempt::remaining_budget::RemainingBudget;
pub use claim_verifier::{ClaimRequest, ClaimVerifier, VerifiedClaim};
pub use clock::{Clock, new_run_id};
pub use control_input::{ControlEvent, ControlInput, SignalRequest, SignalStream, stop_own_process};
pub use cost_ledger::{CostAccount, CostLedger};
pub use journal::loop_runner::{DecidedStep, LoopInput, LoopRunner};
pub use journal::run_observer::{JournalPosition, RunObserver};
pub use journal::run_record::{RunRecord, format_timestamp};
pub use journal::step_journal::{JournalStep, StepJournal, StoreJournal};
pub use journal::verified_snapshot::take_snapshot;
pub use plan::agent_choice::{AgentChoice, AgentJob};
pub use plan::judge_choice::{JudgeChoice, JudgeProvider, StoredJudge};
pub use plan::prompt_source::{PromptSource, read_bounded_prompt};
pub use plan::prompt_template::{PromptTemplate, read_text_file};
pub use plan::run_context::{
    GENERATE_RUN_KIND, NODE_RUN_KIND, OutputVisibility, PROJECT_ENV_VAR, ResumeTarget, RunContext, STAGE_RUN_KIND,
};
pub use plan::run_notes::NOTES_ENV_VAR;
pub use plan::run_plan::RunPlan;
pub use plan::run_spec::{RunSpec, RunSpecError, TaskStage, WorkflowNode, session_log_bytes};
pub use plan::stored_agent::StoredAgent;
pub use process_driver::{EngineError, ResumedRun, StartMode, run_loop};
pub use run_resources::{RunLease, RunResources, WorktreeLock};
pub use suspend::{SuspendRequest, suspend_channel, suspend_commands, wait_for_stop_signal};
