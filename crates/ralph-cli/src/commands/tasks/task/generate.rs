//! `ralph task generate`: an agent writes tasks from a spec.
use super::args::field_args::read_text;
use super::args::generate_args::TaskGenerateArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::out;
use crate::commands::run::execute::execute_run;
use crate::error::CommandError;
use ralph_app::run::ensure_task_run_allowed;
use ralph_app::task_files::TaskText;
use ralph_app::tasks::{GenerationDraft, GenerationRequest, TaskSpec, path_text, prepare_generation};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;

pub fn run(args: &TaskGenerateArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    ensure_task_run_allowed(&project)?;
    let settings = args.load_settings(&project)?;
    let TaskText { text, name } = read_text(&args.file)?;
    let spec_id = args.spec_id()?;
    let draft = GenerationDraft::new(TaskSpec { id: spec_id.clone(), text, name: &name }, &project)?;
    if args.dry_run {
        out::print_data(&draft.render_prompt());
        return Ok(0);
    }
    let request = GenerationRequest {
        settings: &settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        max_iterations: args.max_iterations,
        validation_command: validation_command(&spec_id)?,
    };
    let prepared = prepare_generation(draft, request, project, &TerminalInteraction)?;
    let output = args.output.output_mode(prepared.plan());
    execute_run(prepared, output, Some(&args.config.source()))
}

/// Returns the command of this program that validates a file with tasks.
fn validation_command(spec: &str) -> Result<Vec<String>, CommandError> {
    let program =
        std::env::current_exe().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let arguments = ["task", "import", "--dry-run", "--spec", spec].map(str::to_owned);
    Ok([path_text(&program)?].into_iter().chain(arguments).collect())
}
