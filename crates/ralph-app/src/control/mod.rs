//! Controlling loops from another process: finding, cancelling, pausing, guiding and following them, and deciding on
//! their claims.
mod active_work;
mod advice;
mod answer;
mod cancel;
mod claimed_files;
mod decide;
mod decide_stage;
mod follow;
mod guide;
mod loop_target;
mod orphaned_run;
mod pause;
mod retry;

pub use active_work::ActiveWorkReader;
pub use advice::ControlAdvice;
pub use answer::{ANSWER_TIMEOUT, not_running_error, poll_with_timeout, unresponsive_error};
pub use cancel::{CancelMode, CancelResult, cancel_loop};
pub use decide::{AcceptResult, DecisionRequest, RejectResult, accept_claim, reject_claim, waits_for_decision};
pub use follow::{FollowResult, FollowUntil, JournalFollower, JournalProgress, ReaderStatus};
pub use guide::{GuideResult, parse_guidance, send_guidance};
pub use loop_target::{DrivenLoop, LoopPosition, LoopTarget, LoopTargetKind, describe_loop};
pub use orphaned_run::{end_orphaned_run, find_resumable_run};
pub use pause::{PauseResult, pause_loop};
pub use retry::retry_task;
