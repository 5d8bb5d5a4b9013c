//! Control from another process: attach, cancel, pause, guide and status.
mod agent_orders;
mod attach;
pub(crate) mod cancel;
mod decisions;
mod pause;
mod status;
mod task_control;
