//! What `ralph run` can be told.
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use ralph_core::claim::Promise;
use ralph_core::criterion::ExternalCheck;
use ralph_core::outcome::exit_code;
use ralph_core::policy::Context;

use super::agent_args::AgentArgs;
use super::check_args::CheckArgs;
use super::config_args::ConfigArgs;
use super::detach::DetachArgs;
use super::detect::SignalArgs;
use super::limit_args::LimitArgs;
use super::output_args::OutputArgs;
use super::templates;
use super::values::iterations;
use crate::error::Failure;
use ralph_app::config::{Check, Settings, Templates};
use ralph_engine::engine::{PromptSource, read_bounded};
use ralph_engine::project::Project;

/// Runs an agent in a loop until it claims completion and the checks agree
///
/// The prompt goes to the agent by standard input. When the agent ends its last message with
/// <promise>DONE</promise>, every --check runs; if one fails, its output goes back to the agent and the loop
/// goes on. Without any check the claim alone decides, and the result says that nothing was verified. What no
/// flag says comes from the configuration (`ralph config show`).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph run 'Make the tests pass' --check 'cargo test'
  ralph run @task.md --model sonnet --max-iterations 30 --check 'make lint' --check 'make test'
  ralph run @task.md --check 'make test' --detach       then `ralph attach` follows it
  echo 'Tidy up' | ralph run - --agent text --agent-cmd ./my-agent.sh

Logs and state are in .ralph/state of the project; `ralph show` tells what happened and why.")]
pub struct RunArgs {
    /// The task: words, @FILE (read again for every iteration), or - for standard input
    pub prompt: String,
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Goes on in the agent's own session from the second iteration on, where it can [built-in]
    #[arg(long = "continue", help_heading = "Agent", conflicts_with = "fresh")]
    pub continued: bool,
    /// Starts every iteration from the whole prompt, with nothing remembered
    #[arg(long, help_heading = "Agent")]
    pub fresh: bool,
    /// The text inside <promise>…</promise> by which the agent claims completion
    #[arg(long, default_value = "DONE", help_heading = "Claims")]
    pub promise: String,
    /// Asks for a new id in the tag each iteration; nothing else counts
    #[arg(long, help_heading = "Claims")]
    pub nonce: bool,
    #[command(flatten)]
    pub signals: SignalArgs,
    /// A shell command that must succeed before a claim is believed, in place of the configured ones; repeat for more
    #[arg(long, value_name = "CMD", help_heading = "Proof")]
    pub check: Vec<String>,
    /// A ready check with its values, such as 'pytest-coverage min=90', in place of the configured ones; repeat for more
    /// (`ralph templates` lists them)
    #[arg(long, value_name = "TEMPLATE", help_heading = "Proof")]
    pub check_template: Vec<String>,
    #[command(flatten)]
    pub checking: CheckArgs,
    /// Stops after so many iterations, done or not [built-in: 10]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = iterations, help_heading = "Limits")]
    pub max_iterations: Option<u32>,
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Lets other runs work in the same tree at the same time; they must all say so
    #[arg(long, help_heading = "Limits")]
    pub parallel: bool,
    /// Works in a git work tree of its own, on the branch ralph/run-ID, and leaves your files alone
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
    pub fn promise(&self) -> Result<Promise, Failure> {
        if self.promise.contains(['<', '>']) {
            return Err(Failure::usage("the promise holds `<` or `>`, which belong to the tag around it")
                .hint("give only the text inside the tag, such as --promise DONE"));
        }
        Promise::parse(&self.promise).map_err(|error| {
            Failure::new(exit_code::USAGE, &error)
                .hint("give a word that the agent would not print by chance, such as --promise DONE")
        })
    }

    /// Returns the settings of all layers, these flags on top.
    pub fn settings(&self, project: &Project) -> Result<Settings, Failure> {
        let mut settings = self.config.settings(Some(project))?;
        self.agent.apply(&mut settings);
        self.limits.apply(&mut settings);
        self.signals.apply(&mut settings);
        settings.context.flag(self.continued.then_some(Context::Continue), "--continue");
        settings.context.flag(self.fresh.then_some(Context::Fresh), "--fresh");
        settings.signals.nonce.flag(self.nonce.then_some(true), "--nonce");
        settings.default_max_iterations.flag(self.max_iterations, "--max-iterations");
        let checks = self.checks(&settings.templates)?;
        let flag = if self.check.is_empty() { "--check-template" } else { "--check" };
        settings.checks.flag((!checks.is_empty()).then_some(checks), flag);
        self.checking.apply(&mut settings);
        Ok(settings)
    }

    fn checks(&self, templates: &Templates) -> Result<Vec<Check>, Failure> {
        if self.check.iter().any(|command| command.trim().is_empty()) {
            return Err(Failure::usage("--check is empty")
                .hint("give the command that must succeed, or leave it out"));
        }
        let commands = self.check.iter().map(|command| Ok(ExternalCheck::of_command(command).into()));
        let ready = self.check_template.iter().map(|written| templates::chosen(templates, written));
        commands.chain(ready).collect()
    }

    /// Reads the prompt once, so that a mistake shows before anything is started.
    pub fn prompt(&self) -> Result<PromptSource, Failure> {
        let source = match (self.prompt.strip_prefix('@'), self.prompt.as_str()) {
            (Some(""), _) => {
                return Err(Failure::usage("@ stands alone, and no file behind it")
                    .hint("after @ comes the path of a text file: ralph run @task.md"));
            }
            (Some(path), _) => file_prompt(path)?,
            (None, "-") => PromptSource::Text(standard_input()?),
            (None, words) => PromptSource::Text(words.to_owned()),
        };
        let words = source.read(1, 1).map_err(|error| unreadable(&self.prompt, &error))?;
        if words.text.trim().is_empty() {
            return Err(Failure::usage("the prompt is empty").hint("say what the agent shall do"));
        }
        Ok(source)
    }
}

fn absolute(path: &str) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| unreadable(path, &error))
}

/// A pipe or device can be read only once, so its words are kept.
fn file_prompt(path: &str) -> Result<PromptSource, Failure> {
    let absolute = absolute(path)?;
    let is_file = std::fs::metadata(&absolute).map_err(|error| unreadable(path, &error))?.is_file();
    if is_file {
        return Ok(PromptSource::File(absolute));
    }
    let file = std::fs::File::open(&absolute).map_err(|error| unreadable(path, &error))?;
    words(file).map(PromptSource::Text).map_err(|error| unreadable(path, &error))
}

fn standard_input() -> Result<String, Failure> {
    words(std::io::stdin().lock()).map_err(|error| {
        Failure::preflight("the prompt cannot be read from standard input")
            .cause(error)
            .hint("- stands for standard input: send the words there, as in echo 'Tidy up' | ralph run -")
    })
}

fn words(from: impl Read) -> std::io::Result<String> {
    let no_text = |_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read_bounded(from)?).map_err(no_text)
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    let name = what.strip_prefix('@').unwrap_or(what);
    Failure::preflight(format!("the prompt {name} cannot be read"))
        .cause(error)
        .hint("after @ comes the path of a text file; words without @ are the prompt itself")
}
