//! `ralph task generate`: a run whose agent writes tasks to a file, and whose check is a dry-run import of that file.
use std::path::Path;

use ralph_core::claim::Promise;
use ralph_core::criterion::{CheckCommand, Criterion, ExternalCheck};
use ralph_core::outcome::exit_code;
use ralph_core::policy::{BaselineMode, Policy};
use ralph_core::task::TaskGenerationPrompt;

use super::field_args::{TaskText, read_task_text};
use super::generate_args::TaskGenerateArgs;
use super::import_generated::finish_generation;
use crate::commands::run::{execute_with_keeper, with_keeper};
use crate::commands::{out, trust};
use crate::error::CommandError;
use ralph_app::config::{Settings, SettingsPart};
use ralph_app::plan::{PlanRequest, build_default_plan, preflight_run};
use ralph_app::run::refuse_recursion;
use ralph_app::run::refuse_tracked_state;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{GENERATE_RUN_KIND, PromptSource, RunContext, RunPlan, RunSpec, new_run_id};
use ralph_engine::verify::AcceptancePolicy;

/// The largest accepted spec; agents do not read longer ones.
const MAX_SPEC_BYTES: usize = 1 << 20;

pub fn run(args: &TaskGenerateArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    let settings = args.load_settings(&project)?;
    let id = new_run_id();
    let prompt = build_prompt(args, &project, &id)?;
    if args.dry_run {
        out::print_data(&prompt.render());
        return Ok(0);
    }
    let plan = plan_generation(args, &settings, project.clone(), id.clone(), prompt)?;
    preflight_run(&plan)?;
    trust::ensure_approved_with(&plan, &settings, SettingsPart::Unused, &[])?;
    with_keeper(async |keeper| {
        let output = args.output.output_mode(&plan);
        let code = execute_with_keeper(plan, keeper, output).await?;
        finish_generation(&project, &id, code, args.output.audience()).await
    })
}

fn build_prompt(args: &TaskGenerateArgs, project: &Project, id: &str) -> Result<TaskGenerationPrompt, CommandError> {
    let TaskText { text: spec_text, name } = read_task_text(&args.file)?;
    let refused = |problem: &str| CommandError::preflight_error(format!("the spec {name} {problem}"));
    if spec_text.trim().is_empty() {
        return Err(refused("is empty").with_hint("describe what to build"));
    }
    if spec_text.len() > MAX_SPEC_BYTES {
        return Err(refused("is larger than 1 MB").with_hint("split it into several specs"));
    }
    let answer = project.generated_tasks_file(id);
    let answer = answer.strip_prefix(&project.root).unwrap_or(&answer).display().to_string();
    Ok(TaskGenerationPrompt { spec_id: args.spec_id()?, spec_text, answer })
}

fn plan_generation(
    args: &TaskGenerateArgs,
    settings: &Settings,
    project: Project,
    id: String,
    prompt: TaskGenerationPrompt,
) -> Result<RunPlan, CommandError> {
    let promise = Promise::parse(TaskGenerationPrompt::PROMISE)
        .map_err(|error| CommandError::from_message(exit_code::INTERNAL_ERROR, error))?;
    let checks = vec![import_check(&project, &id, &prompt.spec_id)?];
    let request = PlanRequest {
        settings,
        extra_agent_args: args.agent.extra_args(),
        visibility: args.output.audience(),
        promise,
        prompt: PromptSource::Generate(Box::new(prompt)),
        checks,
        max_iterations: args.max_iterations,
    };
    let plan = build_default_plan(request, project)?;
    let spec = RunSpec {
        // The agent writes to a folder that git ignores, so a changed answer does not show in the work tree.
        acceptance: AcceptancePolicy { is_always_fresh: true, ..AcceptancePolicy::default() },
        // Before the first iteration there is no file to check.
        policy: Policy { context: settings.context.value, baseline: BaselineMode::Skip, ..plan.spec.policy },
        ..plan.spec
    };
    Ok(RunPlan { spec, context: RunContext { id, kind: GENERATE_RUN_KIND, ..plan.context } })
}

/// Returns the check: this program runs `task import --dry-run` on the agent's file.
fn import_check(project: &Project, id: &str, spec: &str) -> Result<Criterion, CommandError> {
    let not_utf8 = |path: &Path| {
        CommandError::preflight_error(format!("the path {} is not valid UTF-8", path.display()))
            .with_hint("move the project to a path that is valid UTF-8")
    };
    let text = |path: &Path| path.to_str().map(str::to_owned).ok_or_else(|| not_utf8(path));
    let program =
        std::env::current_exe().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let (base, answer) = (project.base_folder(), project.generated_tasks_file(id));
    let answer = text(answer.strip_prefix(base).unwrap_or(&answer))?;
    let arguments = ["task", "import", "--dry-run", "--spec", spec, &answer].map(str::to_owned);
    let command = CheckCommand::Argv([text(&program)?].into_iter().chain(arguments).collect());
    // Started in the root, the check might find another project.
    let folder = base.strip_prefix(&project.root).ok().filter(|folder| !folder.as_os_str().is_empty());
    let check = ExternalCheck { working_dir: folder.map(text).transpose()?, ..ExternalCheck::new(command) };
    Ok(Criterion { name: Some("tasks".to_owned()), ..check.into() })
}
