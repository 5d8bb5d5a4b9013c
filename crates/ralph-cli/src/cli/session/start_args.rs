//! What a loop in a session can be told.
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser};
use ralph_core::claim::Promise;
use ralph_core::criterion::{Criterion, ExternalCheck};
use ralph_core::outcome::exit_code;
use ralph_core::session::{ArgumentError, parse_arguments};

use super::SessionArgs;
use crate::cli::budget_args::BudgetArgs;
use crate::cli::config_args::ConfigArgs;
use crate::cli::values::{iterations, time};
use crate::error::Failure;
use ralph_app::config::Settings;
use ralph_engine::engine::read_bounded;

/// Begins a loop in a session, in place of the one that it may have
///
/// Prints what the session must be told. From then on, whenever the session wants to stop, it is continued until it claims
/// completion and the checks agree, or a limit is reached.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("task").required(true).args(["prompt", "prompt_file", "arguments"]), after_help = "Examples:
  ralph loop start --session \"$ID\" --host claude --prompt 'Make the tests pass' --check 'cargo test'
  ralph loop start --session \"$ID\" --prompt-file task.md --max-iterations=30 --completion-promise=ALL_FIXED
  printf %s '\"Fix the parser\" --check \"make test\"' | ralph loop start --session \"$ID\" --arguments -")]
pub struct StartArgs {
    #[command(flatten)]
    pub session: SessionArgs,
    /// The task
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// A file with the task; - for standard input
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// Reads the words behind /ralph from standard input: a task, and the options below among it
    #[arg(long, value_name = "-", value_parser = ["-"], conflicts_with_all = ["description", "max_iterations",
        "completion_promise", "check", "check_timeout", "guard", "max_cost", "max_tokens", "max_duration"])]
    arguments: Option<String>,
    /// What people shall call the loop
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Stops after so many iterations, done or not [built-in: 100]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = iterations)]
    max_iterations: Option<u32>,
    /// The text inside <promise>…</promise> by which the agent claims completion [built-in: DONE]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    completion_promise: Option<String>,
    /// A shell command that must succeed before a claim is believed; repeat for more
    #[arg(long, value_name = "CMD", allow_hyphen_values = true)]
    check: Vec<String>,
    /// Longest time for one check [built-in: 5m]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = time)]
    check_timeout: Option<Duration>,
    /// Files that must not change before a claim, as in a .gitignore, in place of the configured ones; repeat for more
    #[arg(long, value_name = "GLOB")]
    guard: Vec<String>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Prints one object
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub config: ConfigArgs,
}

/// The options that may stand among the words behind `/ralph`.
const AMONG_WORDS: &[&str] = &[
    "max-iterations",
    "completion-promise",
    "check",
    "check-timeout",
    "guard",
    "max-cost",
    "max-tokens",
    "max-duration",
    "description",
];

/// The same options by themselves.
#[derive(Parser)]
#[command(name = "/ralph", no_binary_name = true, disable_help_flag = true)]
struct Alone {
    #[command(flatten)]
    start: StartArgs,
}

impl StartArgs {
    /// Returns what the words behind `/ralph` mean in a session.
    pub fn of_words(words: &str, session: &SessionArgs) -> Result<Self, Failure> {
        let read = parse_arguments(words, AMONG_WORDS).map_err(|error| refused(&error))?;
        let mut args = vec![format!("--prompt={}", read.task)];
        args.extend(session.session.iter().map(|id| format!("--session={id}")));
        args.extend(session.host.iter().map(|host| format!("--host={host}")));
        args.extend(read.options.iter().map(|(name, value)| format!("--{name}={value}")));
        let alone = Alone::try_parse_from(args).map_err(|error| {
            let text = error.render().to_string();
            let first = text.lines().next().unwrap_or_default();
            Failure::usage(first.trim_start_matches("error: ")).hint(USAGE)
        })?;
        Ok(alone.start)
    }

    /// Returns the same with the words read that come by standard input.
    pub fn whole(&self) -> Result<Option<Self>, Failure> {
        if self.arguments.is_none() {
            return Ok(None);
        }
        let mut read = Self::of_words(&text(std::io::stdin().lock(), "standard input")?, &self.session)?;
        (read.json, read.config) = (self.json, self.config.clone());
        Ok(Some(read))
    }

    /// Returns the task.
    pub fn task(&self) -> Result<String, Failure> {
        let task = match (&self.prompt, &self.prompt_file) {
            (Some(words), _) => words.clone(),
            (None, Some(path)) if path.as_os_str() == "-" => text(std::io::stdin().lock(), "standard input")?,
            (None, Some(path)) => {
                let file = std::fs::File::open(path).map_err(|error| unreadable(path.display(), &error))?;
                text(file, path.display())?
            }
            (None, None) => String::new(),
        };
        if task.trim().is_empty() {
            return Err(Failure::usage("the task is empty").hint(USAGE));
        }
        Ok(task)
    }

    /// Applies the flags as the highest layer.
    pub fn apply(&self, settings: &mut Settings) {
        settings.session.max_iterations.flag(self.max_iterations, "--max-iterations");
        settings.session.promise.flag(self.completion_promise.clone(), "--completion-promise");
        let guard = (!self.guard.is_empty()).then(|| self.guard.clone());
        settings.verification.guard.flag(guard, "--guard");
        self.budget.apply(settings);
    }

    /// Returns the checks.
    pub fn criteria(&self) -> Result<Vec<Criterion>, Failure> {
        if self.check.iter().any(|command| command.trim().is_empty()) {
            return Err(Failure::usage("--check is empty")
                .hint("give the command that must succeed, or leave it out"));
        }
        let mut criteria: Vec<Criterion> =
            self.check.iter().map(|command| ExternalCheck::of_command(command).into()).collect();
        if let Some(time) = self.check_timeout {
            let timeout_ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
            criteria.iter_mut().for_each(|criterion| criterion.limit_time(timeout_ms));
        }
        Ok(criteria)
    }
}

/// Reads a promise, which is no tag.
pub fn promise(text: &str) -> Result<Promise, Failure> {
    if text.contains(['<', '>']) {
        return Err(Failure::usage("the promise holds `<` or `>`, which belong to the tag around it")
            .hint("give only the text inside the tag, such as --completion-promise=DONE"));
    }
    Promise::parse(text).map_err(|error| {
        Failure::new(exit_code::USAGE, &error)
            .hint("give a word that the agent would not print by chance, such as --completion-promise=DONE")
    })
}

const USAGE: &str = "/ralph \"task\" --max-iterations=N --completion-promise=TEXT --check \"CMD\"";

fn refused(error: &ArgumentError) -> Failure {
    let failure = Failure::new(exit_code::USAGE, error);
    match error {
        ArgumentError::Unknown { .. } => {
            failure.hint("put the task into quotation marks if that belongs to it").hint(USAGE)
        }
        ArgumentError::Split { name } => failure
            .hint(format!("put its whole value into quotation marks: --{name} \"…\""))
            .hint("put the task on one side of the options"),
        ArgumentError::Unclosed { name } => failure
            .hint(format!("write --{name} \"…\", or --{name} '…' where the value holds such marks itself")),
        ArgumentError::Typographic { name } => {
            failure.hint(format!("write plain ones: --{name} \"…\" or --{name} '…'"))
        }
        ArgumentError::Swallowed { .. } => {
            failure.hint("close the quotation mark of the task, or put the task into '…'").hint(USAGE)
        }
        ArgumentError::Dash { .. } => {
            failure.hint("put the task into quotation marks if that belongs to it").hint(USAGE)
        }
        ArgumentError::NoValue { .. } | ArgumentError::NoTask => failure.hint(USAGE),
    }
}

fn text(from: impl Read, name: impl std::fmt::Display) -> Result<String, Failure> {
    let bytes = read_bounded(from).map_err(|error| unreadable(&name, &error))?;
    String::from_utf8(bytes).map_err(|_| unreadable(&name, &"it is not UTF-8 text"))
}

fn unreadable(name: impl std::fmt::Display, error: &dyn std::fmt::Display) -> Failure {
    Failure::preflight(format!("the task cannot be read from {name}")).cause(error)
}
