//! The arguments of `ralph run`.
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use ralph_core::claim::Promise;
use ralph_core::criterion::ExternalCheck;
use ralph_core::policy::ContextMode;

use crate::commands::args::agent_args::AgentArgs;
use crate::commands::args::check_args::CheckArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::limit_args::LimitArgs;
use crate::commands::args::output_args::OutputArgs;
use crate::commands::args::promise_text::parse_promise;
use crate::commands::args::value_parsers::parse_iterations;
use crate::commands::plumbing::detect::ClaimArgs;
use crate::commands::run::detach::DetachArgs;
use crate::commands::set_up::templates;
use crate::error::CommandError;
use ralph_app::config::{ConfiguredCheck, Settings, TemplateLibrary};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{PromptSource, read_bounded_prompt};

/// Runs an agent in a loop until it claims completion and the checks pass
///
/// ralph sends the prompt to the agent on standard input. When the agent ends its last message with
/// <promise>DONE</promise>, ralph runs every --check. If a check fails, the agent gets its output and the loop
/// continues. Without checks, the claim alone ends the run, and the result is marked as unverified. Settings
/// without a flag come from the configuration (`ralph config show`).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph run 'Make the tests pass' --check 'cargo test'
  ralph run @task.md --model sonnet --max-iterations 30 --check 'make lint' --check 'make test'
  ralph run @task.md --check 'make test' --detach       in the background; `ralph attach` follows it
  echo 'Tidy up' | ralph run - --agent text --agent-cmd ./my-agent.sh

Logs and state are outside the work tree (`ralph doctor` shows where); `ralph show` shows what happened and why.")]
pub struct RunArgs {
    /// The task: text, @FILE (read again before every iteration), or - for standard input
    pub prompt: String,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Continues the agent's session from the second iteration on, if the agent supports it [built-in]
    #[arg(long = "continue", help_heading = "Agent", conflicts_with = "fresh")]
    pub continued: bool,
    /// Starts every iteration in a new session with the full prompt
    #[arg(long, help_heading = "Agent")]
    pub fresh: bool,
    /// Text inside <promise>…</promise> with which the agent claims completion
    #[arg(long, default_value = "DONE", help_heading = "Claims")]
    pub promise: String,
    /// Requires a new id in the tag in each iteration; other claims are ignored
    #[arg(long, help_heading = "Claims")]
    pub nonce: bool,
    #[command(flatten)]
    pub signals: ClaimArgs,
    /// Shell command that must succeed before a claim is accepted; replaces the configured checks; repeat for more
    #[arg(long, value_name = "CMD", help_heading = "Proof")]
    pub check: Vec<String>,
    /// Check template with its values, such as 'pytest-coverage min=90'; replaces the configured checks; repeat for more
    /// (`ralph templates` lists them)
    #[arg(long, value_name = "TEMPLATE", help_heading = "Proof")]
    pub check_template: Vec<String>,
    #[command(flatten)]
    pub checking: CheckArgs,
    /// Stops after N iterations, complete or not [built-in: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_iterations, help_heading = "Limits")]
    pub max_iterations: Option<u32>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Allows other runs in the same work tree at the same time; all of them need this flag
    #[arg(long, help_heading = "Limits")]
    pub parallel: bool,
    /// Works in a separate git work tree, on the branch ralph/run-ID, and does not change your files
    #[arg(long, conflicts_with = "parallel", help_heading = "Limits")]
    pub worktree: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub background: DetachArgs,
}

impl RunArgs {
    pub fn parse_promise(&self) -> Result<Promise, CommandError> {
        parse_promise(&self.promise, "--promise DONE")
    }

    /// Returns the settings of all configuration layers, overridden by these flags.
    pub fn load_settings(&self, project: &Project) -> Result<Settings, CommandError> {
        let mut settings = self.config.load_settings(Some(project))?;
        self.agent.apply(&mut settings);
        self.limits.apply(&mut settings);
        self.signals.apply(&mut settings);
        settings.context.set_from_flag(self.continued.then_some(ContextMode::Continue), "--continue");
        settings.context.set_from_flag(self.fresh.then_some(ContextMode::Fresh), "--fresh");
        settings.signals.nonce.set_from_flag(self.nonce.then_some(true), "--nonce");
        settings.default_max_iterations.set_from_flag(self.max_iterations, "--max-iterations");
        let checks = self.parse_checks(&settings.templates)?;
        let flag = if self.check.is_empty() { "--check-template" } else { "--check" };
        settings.checks.set_from_flag((!checks.is_empty()).then_some(checks), flag);
        self.checking.apply(&mut settings);
        Ok(settings)
    }

    fn parse_checks(&self, templates: &TemplateLibrary) -> Result<Vec<ConfiguredCheck>, CommandError> {
        if self.check.iter().any(|command| command.trim().is_empty()) {
            return Err(CommandError::usage_error("--check is empty")
                .with_hint("pass the command that must succeed, or omit the flag"));
        }
        let commands = self.check.iter().map(|command| Ok(ExternalCheck::from_shell_text(command).into()));
        let ready = self.check_template.iter().map(|written| templates::parse_check_template(templates, written));
        commands.chain(ready).collect()
    }

    /// Returns the prompt source. Reads it once, so that errors are reported before anything starts.
    pub fn read_prompt_source(&self) -> Result<PromptSource, CommandError> {
        let source = match (self.prompt.strip_prefix('@'), self.prompt.as_str()) {
            (Some(""), _) => {
                return Err(CommandError::usage_error("there is no file name after @")
                    .with_hint("write the path of a text file after @: ralph run @task.md"));
            }
            (Some(path), _) => prompt_from_file(path)?,
            (None, "-") => PromptSource::Text(read_stdin()?),
            (None, text) => PromptSource::Text(text.to_owned()),
        };
        source.read_prompt(1, 1).map_err(|error| prompt_read_error(&self.prompt, &error))?;
        Ok(source)
    }
}

fn absolute_path(path: &str) -> Result<PathBuf, CommandError> {
    std::path::absolute(path).map_err(|error| prompt_read_error(path, &error))
}

/// Returns the prompt in a file. A pipe or device can be read only once, so its text is kept.
fn prompt_from_file(path: &str) -> Result<PromptSource, CommandError> {
    let absolute = absolute_path(path)?;
    let is_file = std::fs::metadata(&absolute).map_err(|error| prompt_read_error(path, &error))?.is_file();
    if is_file {
        return Ok(PromptSource::File(absolute));
    }
    let file = std::fs::File::open(&absolute).map_err(|error| prompt_read_error(path, &error))?;
    read_utf8(file).map(PromptSource::Text).map_err(|error| prompt_read_error(path, &error))
}

fn read_stdin() -> Result<String, CommandError> {
    read_utf8(std::io::stdin().lock()).map_err(|error| {
        CommandError::preflight_error("the prompt cannot be read from standard input")
            .with_cause(error)
            .with_hint("- means standard input: pipe the prompt in, as in echo 'Tidy up' | ralph run -")
    })
}

fn read_utf8(from: impl Read) -> std::io::Result<String> {
    let not_utf8 = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read_bounded_prompt(from)?).map_err(not_utf8)
}

fn prompt_read_error(argument: &str, error: &std::io::Error) -> CommandError {
    let name = argument.strip_prefix('@').unwrap_or(argument);
    CommandError::preflight_error(format!("the prompt {name} cannot be read"))
        .with_cause(error)
        .with_hint("write the path of a text file after @; text without @ is the prompt itself")
}
