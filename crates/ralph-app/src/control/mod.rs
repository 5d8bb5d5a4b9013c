//! Controlling loops from another process: finding, cancelling, pausing, guiding, limiting and following them, continuing
//! them after they have ended, and deciding on their claims.
mod active_work;
mod advice;
mod answer;
mod cancel;
mod claimed_files;
mod continue_run;
mod decide;
mod decide_stage;
mod follow;
mod guide;
mod limit;
mod loop_target;
mod orphaned_run;
mod pause;
mod retry;
mod standing_guidance;

pub use active_work::ActiveWorkReader;
pub use advice::ControlAdvice;
pub use answer::{ANSWER_TIMEOUT, not_running_error, poll_with_timeout, unresponsive_error};
pub use cancel::{CancelMode, CancelResult, cancel_loop};
pub use continue_run::{ContinueResult, continue_run};
pub use decide::{
    AcceptResult, DecisionRequest, RejectResult, accept_claim, reject_claim, user_name, waits_for_decision,
};
pub use follow::{FollowResult, FollowUntil, JournalFollower, JournalProgress, ReaderStatus};
pub use guide::{GuideResult, parse_guidance, send_guidance};
pub use limit::{LimitResult, change_limits};
pub use loop_target::{DrivenLoop, LoopPosition, LoopTarget, LoopTargetKind, describe_loop, is_target_name};
pub use orphaned_run::{end_orphaned_run, find_resumable_run};
pub use pause::{PauseResult, pause_loop};
pub use retry::retry_task;
pub use standing_guidance::{StandingGuidance, clear_standing_guidance, keep_guidance, list_standing_guidance};
