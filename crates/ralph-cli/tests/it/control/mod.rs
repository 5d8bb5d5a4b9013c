//! Control from another process: attach, cancel, pause, guide and status.
mod agent_orders;
mod attach;
pub(crate) mod cancel;
mod continuation;
pub(crate) mod decisions;
mod inbox;
mod only_candidate;
mod pause;
mod stage_boundaries;
mod standing_guidance;
mod status;
mod task_control;
