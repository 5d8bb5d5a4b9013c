//! Settings of the pipeline: the stages of a task, worker slots, leases and landing.
use std::time::Duration;

use ralph_core::agent_work_commit::CommitMode;
use ralph_core::pipeline::Pipeline;
use ralph_core::task::Role;

use crate::config::Settings;
use crate::config::settings::origin::Setting;

/// Whether a person or the worker merges finished work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LandingMode {
    /// The user, with `ralph land`.
    Manual,
    /// The worker, as soon as a task is done.
    Auto,
}

#[derive(Debug, Clone)]
pub struct PipelineSettings {
    /// Role names, in order.
    pub stages: Setting<Vec<String>>,
    /// Number of tasks that a worker runs at the same time.
    pub slots: Setting<u32>,
    pub max_rounds: Setting<u32>,
    pub max_attempts: Setting<u32>,
    pub land: Setting<LandingMode>,
    /// Whether ralph or the agent commits the work in the work tree of a task.
    pub commit: Setting<CommitMode>,
    /// Commands that prepare a new work tree.
    pub setup: Setting<Vec<String>>,
    /// How long a worker may be silent before another one takes its task.
    pub lease: Setting<Duration>,
}

impl Default for PipelineSettings {
    fn default() -> Self {
        let stages = Role::BUILT_IN.iter().map(|role| role.as_str().to_owned()).collect();
        Self {
            stages: Setting::built_in(stages),
            slots: Setting::built_in(1),
            max_rounds: Setting::built_in(3),
            max_attempts: Setting::built_in(2),
            land: Setting::built_in(LandingMode::Manual),
            commit: Setting::built_in(CommitMode::Auto),
            setup: Setting::default(),
            lease: Setting::built_in(Duration::from_secs(60)),
        }
    }
}

impl Settings {
    /// Returns the pipeline, or an error message about its stages.
    pub fn pipeline(&self) -> Result<Pipeline, String> {
        let PipelineSettings { stages, max_rounds, max_attempts, .. } = &self.pipeline;
        let roles = stages.value.iter().map(|name| Role::parse(name)).collect::<Result<Vec<_>, _>>();
        let stages_error = |reason: String| format!("pipeline.stages ({}): {reason}", stages.origin);
        let roles = roles.map_err(|error| stages_error(error.to_string()))?;
        Pipeline::new(roles, max_rounds.value, max_attempts.value)
            .ok_or_else(|| stages_error("list at least one stage, and no stage twice".to_owned()))
    }
}
