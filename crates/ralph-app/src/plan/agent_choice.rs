//! The agents of a run, as the settings choose them.
use ralph_agents::FilterError;
use ralph_engine::project::Project;
use ralph_engine::run_driver::AgentChoice;

use crate::config::{ChosenAgent, ConfigError, Setting, SettingOrigin, Settings};
use crate::error::{AppError, AppResult, ErrorKind};

/// Returns the agent that the settings choose, with additional arguments of this request.
pub fn choose_agent(settings: &Settings, project: &Project, extra_args: Vec<String>) -> AppResult<AgentChoice> {
    let flags = [&settings.agent.origin, &settings.model.origin, &settings.permission.origin];
    let chosen = settings.chosen_agent(&project.root).map_err(|error| request_or_config_error(&flags, error))?;
    build_agent_choice(settings, chosen, extra_args)
}

/// Returns the agents that take over while the chosen one is rate limited. Additional arguments are not theirs.
pub fn choose_fallbacks(settings: &Settings, project: &Project) -> AppResult<Vec<AgentChoice>> {
    let flags = [&settings.fallback.origin, &settings.permission.origin];
    let chosen = settings.fallback_agents(&project.root).map_err(|error| request_or_config_error(&flags, error))?;
    chosen.into_iter().map(|chosen| build_agent_choice(settings, chosen, Vec::new())).collect()
}

/// Compiles the filters too, so that a mistake in them is reported before anything starts.
pub fn build_agent_choice(settings: &Settings, chosen: ChosenAgent, extra_args: Vec<String>) -> AppResult<AgentChoice> {
    let configured = settings.agents.get(&chosen.name).cloned().unwrap_or_default();
    let choice = AgentChoice {
        name: chosen.name,
        adapter: chosen.adapter,
        overrides: chosen.overrides,
        model: chosen.model,
        permission: chosen.permission,
        work_scope: None,
        extra_args,
        env: chosen.env,
    };
    choice.response_filter().map(drop).map_err(|error| filter_error(&error, &configured.response_filter))?;
    choice.display_filter().map(drop).map_err(|error| filter_error(&error, &configured.display_filter))?;
    Ok(choice)
}

/// A mistake in the request itself needs no place; one in the configuration is reported with its place.
pub(super) fn request_or_config_error(flags: &[&SettingOrigin], error: ConfigError) -> AppError {
    let is_wrong = |origin: &SettingOrigin| match origin {
        SettingOrigin::Flag { name } => error.place == *name,
        SettingOrigin::File { .. } | SettingOrigin::Environment { .. } | SettingOrigin::BuiltIn => false,
    };
    if flags.iter().any(|origin| is_wrong(origin)) {
        return error.hint.into_iter().fold(AppError::invalid_request(error.message), AppError::with_advice);
    }
    error.into()
}

fn filter_error(error: &FilterError, filter: &Setting<Option<String>>) -> AppError {
    let failure = match &filter.origin {
        SettingOrigin::Flag { .. } | SettingOrigin::BuiltIn => AppError::from_error(ErrorKind::InvalidRequest, error),
        origin @ (SettingOrigin::File { .. } | SettingOrigin::Environment { .. }) => {
            AppError::preflight(format!("{origin}: {error}"))
        }
    };
    failure.with_advice(error.hint())
}
