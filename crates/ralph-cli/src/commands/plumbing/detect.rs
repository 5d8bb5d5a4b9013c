//! `ralph detect`: searches an agent's output for a completion claim.
use std::io;

use clap::{Args, ValueEnum};
use ralph_core::claim::{ClaimScope, ContradictionSearch, Promise, PromiseMatching};
use ralph_core::outcome::exit_code;

use crate::commands::args::completion_values;
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::OutputFormat;
use ralph_app::claim_detection::{BatchError, ClaimDetector, DetectionResult, read_prompt_file};
use ralph_app::config::Settings;

/// Checks whether an agent's output claims completion, and explains the result
///
/// Reads the output from standard input. Exit code 0: claimed; 3: not claimed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  claude -p … --output-format stream-json | ralph detect --promise DONE --format claude
  ralph detect --promise COMPLETE --json < output.txt
  ralph detect --batch < cases.jsonl")]
pub struct DetectArgs {
    /// Text inside <promise>…</promise>
    #[arg(long, required_unless_present = "batch")]
    promise: Option<String>,
    #[arg(long, help = format_help(), default_value = "text", value_parser = completion_values::format_parser(), hide_possible_values = true)]
    format: OutputFormat,
    /// File with the agent's prompt; an echo of the prompt is not a claim
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    signals: ClaimArgs,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// Reads JSON lines {id, format, promise, output, prompt?} and prints {id, claimed, contradiction, why}
    #[arg(long, conflicts_with_all = ["promise", "prompt_file"])]
    batch: bool,
}

/// Returns the help of `--format`, with all formats.
fn format_help() -> String {
    let names: Vec<&str> = OutputFormat::ALL.iter().map(|format| format.name()).collect();
    match names.split_last() {
        Some((last, first)) => format!("Format of the output: {} or {last}", first.join(", ")),
        None => "Format of the output".to_owned(),
    }
}

/// How claims are detected; shared with `ralph run`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Claims")]
pub struct ClaimArgs {
    /// exact: case-sensitive, and the tag must be alone on its line [built-in: loose]
    #[arg(long = "match", value_enum)]
    matching: Option<MatchArg>,
    /// final: only the agent's last message counts; iteration: every message counts [built-in: final]
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Accepts a claim even if its message says that work is still open
    #[arg(long)]
    no_contradictions: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MatchArg {
    Loose,
    Exact,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScopeArg {
    Final,
    Iteration,
}

impl ClaimArgs {
    /// Returns the settings of these flags, without any configuration.
    fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        self.apply(&mut settings);
        settings
    }

    /// Applies the flags as the highest configuration layer.
    pub fn apply(&self, settings: &mut Settings) {
        let matching = self.matching.map(|matching| match matching {
            MatchArg::Loose => PromiseMatching::Loose,
            MatchArg::Exact => PromiseMatching::Exact,
        });
        let scope = self.scope.map(|scope| match scope {
            ScopeArg::Final => ClaimScope::Final,
            ScopeArg::Iteration => ClaimScope::Iteration,
        });
        let signals = &mut settings.signals;
        signals.matching.set_from_flag(matching, "--match");
        signals.scope.set_from_flag(scope, "--scope");
        signals
            .contradictions
            .set_from_flag(self.no_contradictions.then_some(ContradictionSearch::Off), "--no-contradictions");
    }
}

pub fn run(args: &DetectArgs) -> Result<u8, CommandError> {
    let settings = args.signals.settings();
    let detector = ClaimDetector { format: args.format, settings: &settings };
    if args.batch { detect_batch(&detector) } else { detect_one(args, &detector) }
}

fn detect_one(args: &DetectArgs, detector: &ClaimDetector<'_>) -> Result<u8, CommandError> {
    let promise = args.promise.as_deref().unwrap_or_default();
    let promise = Promise::parse(promise).map_err(|error| CommandError::from_error(exit_code::USAGE_ERROR, &error))?;
    let prompt = match &args.prompt_file {
        None => String::new(),
        Some(path) => read_prompt_file(path).map_err(|error| {
            CommandError::preflight_error(format!("cannot read the prompt file {}", path.display())).with_cause(error)
        })?,
    };
    let result = detector
        .detect_claim(promise, &prompt, &mut io::stdin().lock())
        .map_err(|error| CommandError::preflight_error("cannot read standard input").with_cause(error))?;
    if args.json {
        print_json(&result);
    } else {
        let verdict = if result.claimed { "claimed" } else { "not claimed" };
        out::print_line(&format!("{verdict}: {}", result.why));
    }
    Ok(if result.claimed { exit_code::COMPLETED } else { exit_code::NOT_COMPLETE })
}

fn detect_batch(detector: &ClaimDetector<'_>) -> Result<u8, CommandError> {
    detector.detect_batch(io::stdin().lock(), |result| print_json(&result)).map_err(|error| match error {
        BatchError::Unreadable { line, error } => {
            CommandError::preflight_error(format!("cannot read line {line} of standard input")).with_cause(error)
        }
        BatchError::InvalidCase { line, reason } => {
            CommandError::usage_error(format!("line {line} of standard input is not a valid case: {reason}"))
                .with_hint("a case is {\"id\", \"format\", \"promise\", \"output\", \"prompt\"?}")
        }
    })?;
    Ok(0)
}

fn print_json(result: &DetectionResult) {
    out::print_line(&serde_json::to_string(result).unwrap_or_default());
}
