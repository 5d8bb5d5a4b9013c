//! Classic mode: `ralph plan`, `ralph build`, `ralph prompt`. A prompt file, a fresh agent for every iteration, and
//! a session log. The agent does all git work; nothing here changes the repository.
mod args;
mod preflight;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ralph_core::claim::Promise;
use ralph_core::criterion::Criterion;
use ralph_core::outcome::exit_code;
use ralph_core::policy::{Policy, WhenExhausted};

use args::ClassicArgs;
pub use args::{BuildArgs, PlanArgs, PromptArgs};

use super::around::refuse_recursion;
use super::check_args::CheckArgs;
use super::demand;
use super::detach::start;
use super::run;
use super::trust;
use super::usual_plan::{Wanted, usual_plan};
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::engine::{NOTES_VARIABLE, PromptSource, RunPlan, Template, new_run_id, session_room};
use ralph_engine::project::Project;
use ralph_util::session_file::SessionFile;

/// What the prompt files of classic mode ask for.
const PROMISE: &str = "COMPLETE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Plan,
    Build,
    Prompt,
}

impl Mode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
            Self::Prompt => "prompt",
        }
    }
}

/// What the command line asks for.
struct Order<'a> {
    mode: Mode,
    /// The prompt file, where the user names it.
    file: Option<&'a PathBuf>,
    /// How the checks run, where there are any.
    checking: Option<&'a CheckArgs>,
    args: &'a ClassicArgs,
}

pub fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    run(&Order { mode: Mode::Plan, file: None, checking: None, args: &args.options })
}

pub fn build(args: &BuildArgs) -> Result<u8, Failure> {
    run(&Order { mode: Mode::Build, file: None, checking: Some(&args.checking), args: &args.options })
}

pub fn prompt(args: &PromptArgs) -> Result<u8, Failure> {
    run(&Order { mode: Mode::Prompt, file: Some(&args.file), checking: None, args: &args.options })
}

fn run(order: &Order<'_>) -> Result<u8, Failure> {
    let project = Project::here()?;
    let settings = order.settings(&project)?;
    let prompt = order.prompt_file(&project)?;
    let plan = order.run_plan(&settings, project, &prompt)?;
    refuse_recursion(&plan.project)?;
    run::preflight(&plan)?;
    preflight::folders(&plan.project, &settings.specs_dir.value);
    trust::ensure(&plan, &settings)?;
    preflight::implementation_plan(&plan)
        .and_then(|()| preflight::prompt(order.mode, &prompt, &plan.rules.promise))
        .map_err(|failure| preflight::other_home(&plan.project, failure))?;
    start(plan, &order.args.output, &order.args.background)
}

/// Returns the notes of a run as its prompts name them. A path that is no text is named from the root, where agents
/// work.
fn notes(project: &Project, run: &str) -> String {
    let path = project.notes(run);
    let from_root = path.strip_prefix(&project.root).unwrap_or(&path);
    path.to_str().map_or_else(|| from_root.display().to_string(), str::to_owned)
}

impl Order<'_> {
    /// Returns the settings of all layers, the flags on top.
    fn settings(&self, project: &Project) -> Result<Settings, Failure> {
        let mut settings = self.args.config.settings(Some(project))?;
        self.args.agent.apply(&mut settings);
        self.args.limits.apply(&mut settings);
        settings.default_max_iterations.flag(self.args.iterations, "N");
        if let Some(checking) = self.checking {
            checking.apply(&mut settings);
        }
        Ok(settings)
    }

    fn prompt_file(&self, project: &Project) -> Result<PathBuf, Failure> {
        match self.file {
            Some(file) => {
                std::path::absolute(file).map_err(|error| Failure::new(exit_code::PREFLIGHT, &error))
            }
            None => Ok(project.home.join("prompts").join(format!("{}.md", self.mode.as_str()))),
        }
    }

    fn run_plan(&self, settings: &Settings, project: Project, prompt: &Path) -> Result<RunPlan, Failure> {
        let promise = Promise::parse(PROMISE).map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        let id = new_run_id();
        let mut variables = self.variables(settings);
        variables.insert(NOTES_VARIABLE.to_owned(), notes(&project, &id));
        let room = session_room(settings.limits.log_limit.value);
        let session = SessionFile::new(&project.session_logs(), room, &project.session_list(&id));
        let template = Template { path: prompt.to_path_buf(), variables };
        let wanted = Wanted {
            settings,
            agent: &self.args.agent,
            audience: self.args.output.audience(),
            promise,
            prompt: PromptSource::Template(template),
            checks: self.checks(settings),
            max_iterations: settings.default_max_iterations.value,
        };
        if self.mode == Mode::Build {
            demand::ensure(settings, &wanted.checks)?;
        }
        let plan = usual_plan(wanted, project)?;
        Ok(RunPlan {
            id,
            kind: self.mode.as_str(),
            follows: (self.mode == Mode::Build).then(|| plan.project.home.join("implementation_plan.md")),
            session: Some(session),
            policy: Policy {
                when_exhausted: self.when_exhausted(),
                stall_after: settings.classic_stall(),
                ..plan.policy
            },
            ..plan
        })
    }

    /// What was built is checked; a plan and an analysis are not.
    fn checks(&self, settings: &Settings) -> Vec<Criterion> {
        match self.mode {
            Mode::Build => settings.criteria(),
            Mode::Plan | Mode::Prompt => Vec::new(),
        }
    }

    fn when_exhausted(&self) -> WhenExhausted {
        if self.args.strict { WhenExhausted::NotComplete } else { WhenExhausted::Fine }
    }

    /// Returns the variables that stay the same for the whole run; ours win.
    fn variables(&self, settings: &Settings) -> BTreeMap<String, String> {
        let mut variables = settings.variables();
        variables.insert("MODE".to_owned(), self.mode.as_str().to_owned());
        variables.insert("SPECS_DIR".to_owned(), settings.specs_dir.value.clone());
        variables
    }
}
