//! `ralph work` and its work trees: pipeline, leases, landing, rewinding.
mod agent_work;
mod background_worker;
mod demo_work;
mod execution_log;
mod iteration_diff;
mod land;
mod landing_preview;
pub(crate) mod leases;
mod overnight_story;
pub(crate) mod pipeline;
pub(crate) mod rewind;
pub(crate) mod setup_commands;
mod task_selection;
mod work_budgets;
pub(crate) mod work_trees;
