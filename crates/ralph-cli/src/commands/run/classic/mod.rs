//! Classic mode: `ralph plan`, `ralph build`, `ralph prompt`.
mod args;

use std::path::PathBuf;

use ralph_core::policy::ExhaustionPolicy;

use args::ClassicArgs;
pub use args::{BuildArgs, PlanArgs, PromptArgs};

use crate::commands::args::check_args::CheckArgs;
use crate::commands::interaction::TerminalInteraction;
use crate::commands::run::execute::start_here_or_detached;
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_app::run::{ClassicMode, ClassicRunRequest, prepare_classic_run};
use ralph_engine::project::Project;

/// The command line of one classic command.
struct ClassicCommand<'a> {
    mode: ClassicMode,
    /// The prompt file, if the user names one.
    prompt_path: Option<&'a PathBuf>,
    /// The flags for checks, if the mode has checks.
    check_args: Option<&'a CheckArgs>,
    args: &'a ClassicArgs,
}

pub fn run_plan_mode(args: &PlanArgs) -> Result<u8, CommandError> {
    let options = &args.options;
    ClassicCommand { mode: ClassicMode::Plan, prompt_path: None, check_args: None, args: options }.run()
}

pub fn run_build_mode(args: &BuildArgs) -> Result<u8, CommandError> {
    let (check_args, options) = (Some(&args.checking), &args.options);
    ClassicCommand { mode: ClassicMode::Build, prompt_path: None, check_args, args: options }.run()
}

pub fn run_prompt_mode(args: &PromptArgs) -> Result<u8, CommandError> {
    let (prompt_path, options) = (Some(&args.file), &args.options);
    ClassicCommand { mode: ClassicMode::Prompt, prompt_path, check_args: None, args: options }.run()
}

impl ClassicCommand<'_> {
    fn run(&self) -> Result<u8, CommandError> {
        let project = Project::find_here()?;
        let settings = self.load_settings(&project)?;
        let request = ClassicRunRequest {
            mode: self.mode,
            prompt_file: self.prompt_path.cloned(),
            settings: &settings,
            extra_agent_args: self.args.agent.extra_args(),
            visibility: self.args.output.audience(),
            when_exhausted: if self.args.strict { ExhaustionPolicy::NotComplete } else { ExhaustionPolicy::Fine },
        };
        let prepared = prepare_classic_run(request, project, &TerminalInteraction)?;
        start_here_or_detached(prepared, &self.args.output, &self.args.background, self.args.config.source())
    }

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
}
