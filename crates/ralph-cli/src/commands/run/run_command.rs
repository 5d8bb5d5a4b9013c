//! `ralph run`.
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::execute::start_here_or_detached;
use crate::commands::run::run_args::RunArgs;
use crate::error::CommandError;
use ralph_app::run::{RunWorkspace, StartRunRequest, prepare_run};
use ralph_engine::lock::LockSharing;
use ralph_engine::project::Project;

pub fn run(args: &RunArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let settings = args.load_settings(&project)?;
    let request = StartRunRequest {
        settings: &settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        promise: args.parse_promise()?,
        prompt: args.read_prompt_source()?,
        sharing: if args.parallel { LockSharing::Shared } else { LockSharing::Exclusive },
        workspace: if args.worktree { RunWorkspace::OwnWorktree } else { RunWorkspace::Project },
    };
    let prepared = prepare_run(request, project, &TerminalInteraction)?;
    start_here_or_detached(prepared, &args.output, &args.background, args.config.source())
}
