//! Arguments of `ralph loop start` and of the slash command `/ralph`.
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser};
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::outcome::exit_code;
use ralph_core::session_loop::{LoopArgumentError, parse_loop_arguments};

use super::SessionArgs;
use crate::commands::args::budget_args::BudgetArgs;
use crate::commands::args::config_args::ConfigArgs;
use crate::commands::args::value_parsers::{parse_duration, parse_iterations};
use crate::error::CommandError;
use ralph_app::config::Settings;
use ralph_engine::run_driver::read_bounded_prompt;
use ralph_engine::session_driver::HOOK_TIMEOUT_SECONDS;

/// Starts a loop in a session, replacing its current loop
///
/// Prints the first prompt for the session. From then on, whenever the session tries to stop, ralph continues it until
/// it claims completion and the checks agree, or a limit is reached.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("task").required(true).args(["prompt", "prompt_file", "arguments"]), after_help = "Examples:
  ralph loop start --session \"$ID\" --host claude --prompt 'Make the tests pass' --check 'cargo test'
  ralph loop start --session \"$ID\" --prompt-file task.md --max-iterations=30 --completion-promise=ALL_FIXED
  printf %s '\"Fix the parser\" --check \"make test\"' | ralph loop start --session \"$ID\" --arguments -")]
pub struct LoopStartArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// Task text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// File with the task; - for standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Reads the arguments of /ralph from standard input: the task, mixed with the options below
    #[arg(long, value_name = "-", value_parser = ["-"], conflicts_with_all = ["description", "max_iterations",
        "completion_promise", "check", "check_timeout", "guard", "allow_changes", "max_cost", "max_tokens", "max_duration"])]
    arguments: Option<String>,
    /// Display name of the loop
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Maximum number of iterations [built-in: 100]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = parse_iterations)]
    max_iterations: Option<u32>,
    /// Text inside <promise>…</promise> with which the agent claims completion [built-in: DONE]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    completion_promise: Option<String>,
    /// Shell command that must succeed before a claim is accepted; repeat for more
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    check: Vec<String>,
    /// Time limit for each check [built-in: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_duration)]
    check_timeout: Option<Duration>,
    /// Files that must not change before a claim, as a .gitignore pattern; replaces the configured ones; repeat for
    /// more
    #[arg(long, value_name = "GLOB")]
    guard: Vec<String>,
    /// Sealed files and protected tests that the work may change, as a .gitignore pattern; replaces the configured
    /// ones; repeat for more
    #[arg(long, value_name = "GLOB")]
    allow_changes: Vec<String>,
    /// How long the plugin of the session's program waits for this command, in seconds
    #[arg(long, hide = true, value_name = "N", default_value_t = HOOK_TIMEOUT_SECONDS)]
    pub seconds: u64,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Prints one JSON object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// Options that `/ralph` accepts between the words of the task.
const INLINE_OPTIONS: &[&str] = &[
    "max-iterations",
    "completion-promise",
    "check",
    "check-timeout",
    "guard",
    "allow-changes",
    "max-cost",
    "max-tokens",
    "max-duration",
    "description",
];

/// Parses the same options without the `ralph loop start` in front.
#[derive(Parser)]
#[command(name = "/ralph", no_binary_name = true, disable_help_flag = true)]
struct SlashCommandArgs {
    #[command(flatten)]
    start: LoopStartArgs,
}

impl LoopStartArgs {
    /// Parses the arguments of `/ralph` in a session.
    pub fn parse_slash_arguments(text: &str, session: &SessionArgs) -> Result<Self, CommandError> {
        let parsed = parse_loop_arguments(text, INLINE_OPTIONS).map_err(|error| argument_error(&error))?;
        let mut args = vec![format!("--prompt={}", parsed.task)];
        args.extend(session.session.iter().map(|id| format!("--session={id}")));
        args.extend(session.host.iter().map(|host| format!("--host={host}")));
        args.extend(parsed.options.iter().map(|(name, value)| format!("--{name}={value}")));
        let command = SlashCommandArgs::try_parse_from(args).map_err(|error| {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            CommandError::usage_error(first.trim_start_matches("error: ")).with_hint(SLASH_COMMAND_USAGE)
        })?;
        Ok(command.start)
    }

    /// Returns the arguments from standard input, if `--arguments -` was given.
    pub fn read_stdin_arguments(&self) -> Result<Option<Self>, CommandError> {
        if self.arguments.is_none() {
            return Ok(None);
        }
        let mut read =
            Self::parse_slash_arguments(&read_utf8(std::io::stdin().lock(), "standard input")?, &self.session)?;
        (read.json, read.seconds, read.config) = (self.json, self.seconds, self.config.clone());
        Ok(Some(read))
    }

    /// Returns the task text.
    pub fn read_task(&self) -> Result<String, CommandError> {
        let task = match (&self.prompt, &self.prompt_file) {
            (Some(text), _) => text.clone(),
            (None, Some(path)) if path.as_os_str() == "-" => read_utf8(std::io::stdin().lock(), "standard input")?,
            (None, Some(path)) => {
                let file = std::fs::File::open(path).map_err(|error| task_read_error(path.display(), &error))?;
                read_utf8(file, path.display())?
            }
            (None, None) => String::new(),
        };
        if task.trim().is_empty() {
            return Err(CommandError::usage_error("the task is empty").with_hint(SLASH_COMMAND_USAGE));
        }
        Ok(task)
    }

    /// Applies the flags as the highest configuration layer.
    pub fn apply(&self, settings: &mut Settings) {
        settings.session.max_iterations.set_from_flag(self.max_iterations, "--max-iterations");
        settings.session.promise.set_from_flag(self.completion_promise.clone(), "--completion-promise");
        let guard = (!self.guard.is_empty()).then(|| self.guard.clone());
        settings.verification.guard.set_from_flag(guard, "--guard");
        let allowed = (!self.allow_changes.is_empty()).then(|| self.allow_changes.clone());
        settings.verification.allow_changes.set_from_flag(allowed, "--allow-changes");
        self.budget.apply(settings);
    }

    /// Returns the checks of `--check`.
    pub fn parse_criteria(&self) -> Result<Vec<Criterion>, CommandError> {
        if self.check.iter().any(|command| command.trim().is_empty()) {
            return Err(CommandError::usage_error("--check is empty")
                .with_hint("give the command that must succeed, or omit --check"));
        }
        let mut criteria: Vec<Criterion> =
            self.check.iter().map(|command| ExternalCheck::from_shell_text(command).into()).collect();
        if let Some(time) = self.check_timeout {
            let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            criteria.iter_mut().for_each(|criterion| criterion.set_timeout(timeout_ms));
        }
        Ok(criteria)
    }
}

const SLASH_COMMAND_USAGE: &str = "/ralph \"task\" --max-iterations=N --completion-promise=TEXT --check \"CMD\"";

fn argument_error(error: &LoopArgumentError) -> CommandError {
    let failure = CommandError::from_error(exit_code::USAGE_ERROR, error);
    match error {
        LoopArgumentError::UnknownOption { .. } => failure
            .with_hint("if that is part of the task, put the task in quotation marks")
            .with_hint(SLASH_COMMAND_USAGE),
        LoopArgumentError::SplitTask { name } => failure
            .with_hint(format!("put its whole value in quotation marks: --{name} \"…\""))
            .with_hint("put the whole task before or after the options"),
        LoopArgumentError::UnclosedQuote { name } => failure
            .with_hint(format!("write --{name} \"…\", or --{name} '…' if the value contains double quotation marks")),
        LoopArgumentError::TypographicQuote { name } => {
            failure.with_hint(format!("use plain quotation marks: --{name} \"…\" or --{name} '…'"))
        }
        LoopArgumentError::AmbiguousQuote { .. } => failure
            .with_hint("close the quotation mark of the task, or put the task in '…'")
            .with_hint(SLASH_COMMAND_USAGE),
        LoopArgumentError::WrongDash { .. } => failure
            .with_hint("if that is part of the task, put the task in quotation marks")
            .with_hint(SLASH_COMMAND_USAGE),
        LoopArgumentError::MissingValue { .. } | LoopArgumentError::MissingTask => {
            failure.with_hint(SLASH_COMMAND_USAGE)
        }
    }
}

fn read_utf8(from: impl Read, name: impl std::fmt::Display) -> Result<String, CommandError> {
    let bytes = read_bounded_prompt(from).map_err(|error| task_read_error(&name, &error))?;
    String::from_utf8(bytes).map_err(|_| task_read_error(&name, &"the text is not UTF-8"))
}

fn task_read_error(name: impl std::fmt::Display, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::preflight_error(format!("cannot read the task from {name}")).with_cause(error)
}
