//! Classic mode: `ralph plan`, `ralph build`, `ralph prompt`. A prompt file, a fresh agent for every iteration, and a
//! session log. All git work is left to the agent; ralph does not change the repository in this mode.
mod args;
mod preflight;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::claim::{ContradictionSearch, Promise};
use ralph_core::criterion::Criterion;
use ralph_core::outcome::exit_code;
use ralph_core::policy::{ExhaustionPolicy, Policy};

use args::ClassicArgs;
pub use args::{BuildArgs, PlanArgs, PromptArgs};

use super::check_args::CheckArgs;
use super::detach::start_run;
use super::trust;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::plan;
use ralph_app::plan::{PlanRequest, build_default_plan};
use ralph_app::run::refuse_recursion;
use ralph_engine::project::Project;
use ralph_engine::run_driver::{NOTES_ENV_VAR, PromptSource, PromptTemplate, RunPlan, new_run_id, session_log_bytes};
use ralph_util::session_log_file::SessionLogFile;

/// The promise that the prompt files of classic mode ask for.
const COMPLETION_PROMISE: &str = "COMPLETE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassicMode {
    Plan,
    Build,
    Prompt,
}

impl ClassicMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
            Self::Prompt => "prompt",
        }
    }
}

/// The command line of one classic command.
struct ClassicRequest<'a> {
    mode: ClassicMode,
    /// The prompt file, if the user names one.
    prompt_path: Option<&'a PathBuf>,
    /// The flags for checks, if the mode has checks.
    check_args: Option<&'a CheckArgs>,
    args: &'a ClassicArgs,
}

pub fn run_plan_mode(args: &PlanArgs) -> Result<u8, CommandError> {
    run_classic_mode(&ClassicRequest {
        mode: ClassicMode::Plan,
        prompt_path: None,
        check_args: None,
        args: &args.options,
    })
}

pub fn run_build_mode(args: &BuildArgs) -> Result<u8, CommandError> {
    run_classic_mode(&ClassicRequest {
        mode: ClassicMode::Build,
        prompt_path: None,
        check_args: Some(&args.checking),
        args: &args.options,
    })
}

pub fn run_prompt_mode(args: &PromptArgs) -> Result<u8, CommandError> {
    run_classic_mode(&ClassicRequest {
        mode: ClassicMode::Prompt,
        prompt_path: Some(&args.file),
        check_args: None,
        args: &args.options,
    })
}

fn run_classic_mode(request: &ClassicRequest<'_>) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    let settings = request.load_settings(&project)?;
    let prompt = request.resolve_prompt_path(&project)?;
    let plan = request.plan_run(&settings, project, &prompt)?;
    refuse_recursion(&plan.project)?;
    plan::preflight_run(&plan)?;
    preflight::prepare_folders(&plan.project, &settings.specs_dir.value);
    trust::ensure_approved(&plan, &settings)?;
    preflight::require_implementation_plan(&plan)
        .and_then(|()| preflight::check_prompt(request.mode, &prompt, &plan.claim_rules.promise))
        .map_err(|failure| preflight::add_home_hint(&plan.project, failure))?;
    start_run(plan, &request.args.output, &request.args.background)
}

/// Returns the path of the notes of a run for its prompts. A path that is not UTF-8 is given relative to the root,
/// where agents work.
fn notes_path_text(project: &Project, run: &str) -> String {
    let path = project.notes_file(run);
    let from_root = path.strip_prefix(&project.root).unwrap_or(&path);
    path.to_str().map_or_else(|| from_root.display().to_string(), str::to_owned)
}

impl ClassicRequest<'_> {
    /// Loads the settings of all layers, with the flags as the highest.
    fn load_settings(&self, project: &Project) -> Result<Settings, CommandError> {
        let mut settings = self.args.config.load_settings(Some(project))?;
        self.args.agent.apply(&mut settings);
        self.args.limits.apply(&mut settings);
        settings.default_max_iterations.set_from_flag(self.args.iterations, "N");
        if let Some(checking) = self.check_args {
            checking.apply(&mut settings);
        }
        Ok(settings)
    }

    fn resolve_prompt_path(&self, project: &Project) -> Result<PathBuf, CommandError> {
        match self.prompt_path {
            Some(file) => {
                std::path::absolute(file).map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))
            }
            None => Ok(project.home.join("prompts").join(format!("{}.md", self.mode.as_str()))),
        }
    }

    fn plan_run(&self, settings: &Settings, project: Project, prompt: &Path) -> Result<RunPlan, CommandError> {
        let promise = Promise::parse(COMPLETION_PROMISE)
            .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        let id = new_run_id();
        let mut variables = self.prompt_variables(settings);
        variables.insert(NOTES_ENV_VAR.to_owned(), notes_path_text(&project, &id));
        let max_bytes = session_log_bytes(settings.limits.log_limit.value);
        let session = SessionLogFile::new(&project.session_logs_folder(), max_bytes, &project.session_list_file(&id));
        let template = PromptTemplate { path: prompt.to_path_buf(), variables };
        let request = PlanRequest {
            settings,
            extra_agent_args: self.args.agent.extra_args(),
            visibility: self.args.output.audience(),
            promise,
            prompt: PromptSource::Template(template),
            checks: self.select_checks(settings),
            max_iterations: settings.default_max_iterations.value,
        };
        if self.mode == ClassicMode::Build {
            plan::ensure_run_criteria(settings, &request.checks)?;
        }
        let plan = build_default_plan(request, project)?;
        let mut claim_rules = plan.claim_rules.clone();
        if self.mode == ClassicMode::Plan {
            // A plan lists open work.
            claim_rules.contradictions = ContradictionSearch::Off;
        }
        Ok(RunPlan {
            id,
            claim_rules,
            kind: self.mode.as_str(),
            plan_file: (self.mode == ClassicMode::Build).then(|| plan.project.home.join("implementation_plan.md")),
            session_log: Some(session),
            policy: Policy {
                when_exhausted: self.when_exhausted(),
                stall_after: settings.classic_stall_limit(),
                ..plan.policy
            },
            ..plan
        })
    }

    /// Returns the checks of the run. Only `build` has checks.
    fn select_checks(&self, settings: &Settings) -> Vec<Criterion> {
        match self.mode {
            ClassicMode::Build => settings.criteria(),
            ClassicMode::Plan | ClassicMode::Prompt => Vec::new(),
        }
    }

    fn when_exhausted(&self) -> ExhaustionPolicy {
        if self.args.strict { ExhaustionPolicy::NotComplete } else { ExhaustionPolicy::Fine }
    }

    /// Returns the variables that are constant for the whole run. Built-in variables override configured ones.
    fn prompt_variables(&self, settings: &Settings) -> BTreeMap<String, String> {
        let mut variables = settings.prompt_variables();
        variables.insert("MODE".to_owned(), self.mode.as_str().to_owned());
        variables.insert("SPECS_DIR".to_owned(), settings.specs_dir.value.clone());
        variables
    }
}
