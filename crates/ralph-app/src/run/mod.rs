//! Runs: preparing, starting, resuming, following and finding them.
mod background_run;
mod calling_agent;
mod classic;
mod follow;
mod leftovers;
mod lookup;
mod nested_run;
mod parked_run;
mod prepared_run;
mod rebuild_plan;
mod resume_run;
mod run_page;
mod run_summary;
mod run_view;
mod started_run;
mod task_stage;
mod worktree;

pub(crate) use background_run::{
    BACKGROUND_LOG_FILE, BackgroundLog, ForkedProcess, describe_background_start, fork_into_background,
};
pub use background_run::{BackgroundOutput, BackgroundRun, BackgroundRunStart, start_in_background};
pub use calling_agent::{
    CallingAgent, find_calling_agent, is_started_by_session, refuse_command_by_agent, refuse_order_by_connected_agent,
};
pub use classic::{ClassicMode, ClassicRunRequest, prepare_classic_run};
pub(crate) use follow::stored_agents;
pub use follow::{FollowedRun, ReplayScope};
pub use leftovers::kill_leftover_processes;
pub(crate) use lookup::with_actual_status;
pub use lookup::{
    FoundRun, FoundRuns, ambiguous_run_error, describe_candidate, find_active_run, find_only_run, find_resumable_run,
    find_run, find_runs, is_orphaned, list_runs, open_existing_store, refuse_session_run, several_candidates_error,
};
pub use nested_run::{EnclosingRun, find_enclosing_run, refuse_recursion};
pub use parked_run::{parked_until, sleep_until_wall_clock};
pub use prepared_run::{PreparedRun, RunWorkspace, StartRunRequest, prepare_run};
pub use rebuild_plan::{RebuiltRun, ResumeRequest};
pub use resume_run::{
    EndedRun, PreparedResume, ResumableRun, ResumeNotNeeded, ResumeStart, ensure_resume_allowed, prepare_resume,
    resume_run,
};
pub use run_page::{ListedRun, RunPage, RunPageRequest, load_run_page};
pub use run_summary::{CompletionRecord, RunSummary};
pub use run_view::{SentPrompt, load_run_view, load_sent_prompt};
pub(crate) use started_run::abandon_store;
pub use started_run::{ControlSource, DrivenRun, FinishedRun, RunDelivery, RunHost, StartedRun, start_run};
pub use task_stage::{PreparedStage, StageOutOfTurn, TaskRunRequest, ensure_task_run_allowed, prepare_task_run};
pub use worktree::{WorktreeOutcome, create_worktree, finish_worktree, reopen_worktree, set_up_worktree};
