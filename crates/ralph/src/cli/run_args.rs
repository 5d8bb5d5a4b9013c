//! What `ralph run` can be told.
use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use ralph_core::claim::Promise;
use ralph_core::evidence::ExternalCheck;
use ralph_core::outcome::exit_code;
use ralph_core::policy::{NonceUse, Policy, Proof, Timeouts};

use super::detect::SignalArgs;
use super::values::{format, iterations, memory, time};
use crate::agent::{self, Format, Overrides};
use crate::engine::{AgentChoice, PromptSource, read_bounded};
use crate::error::Failure;
use crate::memory_size::MemorySize;

/// Runs an agent in a loop until it claims completion and the checks agree
///
/// The prompt goes to the agent by standard input. When the agent ends its last message with
/// <promise>DONE</promise>, every --check runs; if one fails, its output goes back to the agent and the loop
/// goes on. Without --check the claim alone decides, and the result says that nothing was verified.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph run 'Make the tests pass' --check 'cargo test'
  ralph run @task.md --model sonnet --max-iterations 30 --check 'make lint' --check 'make test'
  echo 'Tidy up' | ralph run - --agent text --agent-cmd ./my-agent.sh

Logs and state are in .ralph/state of the project; `ralph show` tells what happened and why.")]
pub struct RunArgs {
    /// The task: words, @FILE (read again for every iteration), or - for standard input
    pub prompt: String,
    /// The agent: claude, text (any program) or demo
    #[arg(long, default_value = "claude", help_heading = "Agent")]
    pub agent: String,
    /// The program to start instead of the agent's own; required for --agent text
    #[arg(long, value_name = "PATH", help_heading = "Agent")]
    pub agent_cmd: Option<String>,
    /// An argument for the agent; repeat for more
    #[arg(long, value_name = "ARG", allow_hyphen_values = true, help_heading = "Agent")]
    pub agent_arg: Vec<String>,
    /// The model, in the agent's own words
    #[arg(long, help_heading = "Agent")]
    pub model: Option<String>,
    /// Starts every iteration from the whole prompt, with nothing remembered; so far the only way
    #[arg(long, help_heading = "Agent")]
    pub fresh: bool,
    /// How to read the agent's output, instead of its own format
    #[arg(long, value_name = "FORMAT", value_parser = format, help_heading = "Agent")]
    pub output_format: Option<Format>,
    /// A jq expression whose values are the agent's own text; the last value is its final message
    #[arg(long, value_name = "JQ", help_heading = "Agent")]
    pub response_filter: Option<String>,
    /// The text inside <promise>…</promise> by which the agent claims completion
    #[arg(long, default_value = "DONE", help_heading = "Claims")]
    pub promise: String,
    /// Asks for a new id in the tag each iteration; nothing else counts
    #[arg(long, help_heading = "Claims")]
    pub nonce: bool,
    #[command(flatten)]
    pub signals: SignalArgs,
    /// A shell command that must succeed before a claim is believed; repeat for more
    #[arg(long, value_name = "CMD", help_heading = "Proof")]
    pub check: Vec<String>,
    /// Stops after so many iterations, done or not
    #[arg(long, value_name = "N", default_value = "10", allow_hyphen_values = true, value_parser = iterations, help_heading = "Limits")]
    pub max_iterations: u32,
    /// How often a failed start of the agent is tried again within its iteration
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = "Limits")]
    pub max_retries: u32,
    /// Longest time for one iteration
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = time, help_heading = "Limits")]
    pub timeout: Duration,
    /// Longest silence of the agent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = time, help_heading = "Limits")]
    pub idle_timeout: Duration,
    /// How long the agent may stay alive after its final record
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = time, help_heading = "Limits")]
    pub after_result: Duration,
    /// Time to clean up between being asked to stop and being killed
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = time, help_heading = "Limits")]
    pub grace: Duration,
    /// Kills an agent that uses more memory than this with all its descendants: 512M, 4G; a bare number is MB
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Limits")]
    pub max_memory: Option<MemorySize>,
    /// A jq expression for what is shown of the agent's output
    #[arg(long, value_name = "JQ", help_heading = "Output")]
    pub display_filter: Option<String>,
    /// Shows only iterations, claims and verdicts
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// Prints every event as a line of JSON; the last one is run.finished
    #[arg(long, help_heading = "Output")]
    pub json: bool,
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

    pub fn policy(&self) -> Policy {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Policy {
            max_retries: self.max_retries,
            timeouts: Timeouts {
                iteration_ms: ms(self.timeout),
                silence_ms: ms(self.idle_timeout),
                after_result_ms: ms(self.after_result),
            },
            proof: if self.check.is_empty() { Proof::ClaimAlone } else { Proof::Checks },
            nonce: if self.nonce { NonceUse::EachIteration } else { NonceUse::Off },
            ..Policy::new(self.max_iterations)
        }
    }

    pub fn checks(&self) -> Result<Vec<ExternalCheck>, Failure> {
        if self.check.iter().any(|command| command.trim().is_empty()) {
            return Err(Failure::usage("--check is empty")
                .hint("give the command that must succeed, or leave it out"));
        }
        Ok(self.check.iter().map(|command| ExternalCheck::of_command(command)).collect())
    }

    pub fn agent_choice(&self) -> Result<AgentChoice, Failure> {
        let adapter = agent::find(&self.agent).map_err(|error| {
            let hint = error.hint();
            Failure::new(exit_code::USAGE, &error).hint(hint)
        })?;
        let overrides = Overrides {
            cli: self.agent_cmd.clone(),
            args: None,
            output_format: self.output_format,
            response_filter: self.response_filter.clone(),
            display_filter: self.display_filter.clone(),
        };
        let choice =
            AgentChoice { adapter, overrides, model: self.model.clone(), extra_args: self.agent_arg.clone() };
        choice.parser().map(drop).and_then(|()| choice.display().map(drop)).map_err(|error| {
            let hint = error.hint();
            Failure::new(exit_code::USAGE, &error).hint(hint)
        })?;
        Ok(choice)
    }

    /// Reads the prompt once, so that a mistake shows before anything is started.
    pub fn prompt(&self) -> Result<PromptSource, Failure> {
        let source = match (self.prompt.strip_prefix('@'), self.prompt.as_str()) {
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
    words(path, file).map(PromptSource::Text)
}

fn standard_input() -> Result<String, Failure> {
    words("standard input", std::io::stdin().lock())
}

fn words(name: &str, from: impl Read) -> Result<String, Failure> {
    let bytes = read_bounded(from).map_err(|error| unreadable(name, &error))?;
    String::from_utf8(bytes).map_err(|_| {
        unreadable(name, &std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8 text"))
    })
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    let name = what.strip_prefix('@').unwrap_or(what);
    Failure::preflight(format!("the prompt {name} cannot be read"))
        .cause(error)
        .hint("after @ comes the path of a text file; words without @ are the prompt itself")
}
