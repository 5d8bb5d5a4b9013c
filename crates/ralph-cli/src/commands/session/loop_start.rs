//! `ralph loop start`: starts a loop in a session; also used by slash commands.
use std::path::Path;
use std::time::{Duration, Instant};

use ralph_core::outcome::exit_code;
use serde_json::json;

use super::start_args::LoopStartArgs;
use crate::commands::args::promise_text::parse_promise;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::install::MAX_HOOK_TIMEOUT_SECONDS;
use ralph_app::session::{self, LoopCaller, StartLoopRequest, StartedLoop, find_loop_project};
use ralph_engine::session_driver::hook_deadline;

pub fn run(args: &LoopStartArgs) -> Result<u8, CommandError> {
    let started_at = Instant::now();
    let caller = args.session.caller();
    let stdin_args = args.read_stdin_arguments()?;
    let args = stdin_args.as_ref().unwrap_or(args);
    let folder =
        std::env::current_dir().map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
    let seconds = args.seconds.min(MAX_HOOK_TIMEOUT_SECONDS);
    let deadline = hook_deadline(started_at, Duration::from_secs(seconds));
    let origin = LoopOrigin { folder: &folder, transcript: None, deadline, caller };
    let started = start_loop(args, &origin)?;
    if args.json {
        out::print_line(&started_json(&started).to_string());
    } else {
        started.notices.iter().for_each(|notice| out::print_message(&notice.to_line()));
        out::print_message(&format!("\n{}", started.loop_file.loop_state.first_prompt()));
    }
    Ok(exit_code::COMPLETED)
}

fn started_json(started: &StartedLoop) -> serde_json::Value {
    let mut object = started.loop_file.to_json();
    object["notices"] = json!(started.notices);
    object["first_prompt"] = started.loop_file.loop_state.first_prompt().into();
    object
}

/// Where a loop is started.
pub struct LoopOrigin<'a> {
    /// The folder in which the session works.
    pub folder: &'a Path,
    /// The transcript of the session, if it is known.
    pub transcript: Option<&'a Path>,
    /// When the checks that run before the work must be finished.
    pub deadline: Instant,
    pub caller: LoopCaller,
}

/// Starts a loop.
pub fn start_loop(args: &LoopStartArgs, origin: &LoopOrigin<'_>) -> Result<StartedLoop, CommandError> {
    let LoopOrigin { folder, transcript, deadline, caller } = *origin;
    let session = args.session.require_session_key()?;
    let criteria = args.parse_criteria()?;
    let project = find_loop_project(folder, &criteria)?;
    let mut settings = args.config.load_settings(project.as_ref())?;
    args.apply(&mut settings);
    let request = StartLoopRequest {
        session,
        folder,
        project,
        settings: &settings,
        task: args.read_task()?,
        promise: parse_promise(&settings.session.promise.value, "--completion-promise=DONE")?,
        criteria,
        description: args.description.clone(),
        caller,
        transcript,
        deadline,
    };
    Ok(session::start_loop(request, &TerminalInteraction)?)
}
