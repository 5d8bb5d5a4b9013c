//! The loop inside an interactive agent session. The session reports its events, and the state machine of headless runs
//! ([`crate::step`]) decides whether it may stop. This module converts between the two.
mod arguments;
mod decision;
mod handle_event;
mod notice;
mod prompt_command;
mod state;

#[cfg(test)]
mod baseline_tests;
#[cfg(test)]
mod continuation_cap_tests;
#[cfg(test)]
mod tests;

pub use arguments::{LoopArgumentError, LoopArguments, parse_loop_arguments};
pub use decision::{SessionAction, SessionDecision};
pub use handle_event::{
    CapResetRule, ContinuationCap, DecisionMoment, ERROR_RECOVERY_MS, SessionLoopEvent, TurnEnd, handle_session_event,
    is_user_abort,
};
pub use notice::{NoticeVariant, SessionNotice};
pub use prompt_command::{PromptCommand, parse_prompt_command};
pub use state::{SESSION_RUN_KIND, SessionLoop, SessionLoopPlan, StartedSessionLoop, start_session_loop};
