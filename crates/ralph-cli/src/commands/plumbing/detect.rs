//! `ralph detect`: searches an agent's output for a completion claim.
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::{Args, ValueEnum};
use ralph_core::claim::{Claim, ClaimReading, ClaimRules, ClaimScope, ContradictionSearch, Promise, PromiseMatching};
use ralph_core::outcome::exit_code;
use serde::{Deserialize, Serialize};

use crate::commands::args::completion_values;
use crate::commands::args::value_parsers::parse_format;
use crate::commands::out;
use crate::error::CommandError;
use ralph_agents::OutputFormat;
use ralph_agents::replay_output::read_output_claim;
use ralph_app::config::Settings;
use ralph_util::bounded_lines::BoundedLines;

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
    /// Returns the claim rules for these flags, without any configuration.
    #[must_use]
    pub fn claim_rules(&self, promise: Promise) -> ClaimRules {
        let mut settings = Settings::default();
        self.apply(&mut settings);
        settings.claim_rules(promise)
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

/// The result for one output.
#[derive(Debug, Serialize)]
struct DetectionResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    claimed: bool,
    contradiction: bool,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

pub fn run(args: &DetectArgs) -> Result<u8, CommandError> {
    if args.batch { detect_batch(args) } else { detect_one(args) }
}

fn detect_one(args: &DetectArgs) -> Result<u8, CommandError> {
    let promise = args.promise.as_deref().unwrap_or_default();
    let promise = Promise::parse(promise).map_err(|error| CommandError::from_error(exit_code::USAGE_ERROR, &error))?;
    let prompt = match &args.prompt_file {
        None => String::new(),
        Some(path) => read_prompt(path).map_err(|error| {
            CommandError::preflight_error(format!("cannot read the prompt file {}", path.display())).with_cause(error)
        })?,
    };
    let mut stdin = io::stdin().lock();
    let reading = read_output_claim(args.format, args.signals.claim_rules(promise), &prompt, &mut stdin)
        .map_err(|error| CommandError::preflight_error("cannot read standard input").with_cause(error))?;
    let answer = detection_result(None, &reading);
    if args.json {
        out::print_line(&serde_json::to_string(&answer).unwrap_or_default());
    } else {
        let verdict = if answer.claimed { "claimed" } else { "not claimed" };
        out::print_line(&format!("{verdict}: {}", answer.why));
    }
    Ok(if answer.claimed { exit_code::COMPLETED } else { exit_code::NOT_COMPLETE })
}

fn read_prompt(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_CASE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_CASE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is longer than 64 MB"));
    }
    Ok(text)
}

/// One case of a batch.
#[derive(Debug, Deserialize)]
struct DetectionCase {
    id: serde_json::Value,
    #[serde(default)]
    format: Option<String>,
    promise: String,
    output: String,
    #[serde(default)]
    prompt: Option<String>,
}

/// Size limit for a case and for a prompt file. Longer outputs can be read without `--batch`.
const MAX_CASE_BYTES: u64 = 64 << 20;

fn detect_batch(args: &DetectArgs) -> Result<u8, CommandError> {
    let mut lines = BoundedLines::new(io::stdin().lock(), MAX_CASE_BYTES);
    loop {
        let line = lines.next_line();
        let number = lines.line_number();
        let line = line.map_err(|error| {
            CommandError::preflight_error(format!("cannot read line {number} of standard input")).with_cause(error)
        })?;
        let Some(line) = line else { return Ok(0) };
        let answer = detect_case(args, &line).map_err(|reason| {
            CommandError::usage_error(format!("line {number} of standard input is not a valid case: {reason}"))
                .with_hint("a case is {\"id\", \"format\", \"promise\", \"output\", \"prompt\"?}")
        })?;
        out::print_line(&serde_json::to_string(&answer).unwrap_or_default());
    }
}

fn detect_case(args: &DetectArgs, line: &[u8]) -> Result<DetectionResult, String> {
    let case: DetectionCase = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let format = match &case.format {
        None => args.format,
        Some(name) => parse_format(name)?,
    };
    let promise = match Promise::parse(&case.promise) {
        Ok(promise) => promise,
        Err(error) => {
            let why = format!("{error}, so no output can claim it");
            return Ok(DetectionResult { id: Some(case.id), claimed: false, contradiction: false, why, line: None });
        }
    };
    let prompt = case.prompt.unwrap_or_default();
    let rules = args.signals.claim_rules(promise);
    let reading = read_output_claim(format, rules, &prompt, &mut case.output.as_bytes());
    Ok(detection_result(Some(case.id), &reading.map_err(|error| error.to_string())?))
}

fn detection_result(id: Option<serde_json::Value>, reading: &ClaimReading) -> DetectionResult {
    match &reading.claim {
        Claim::None { why } => {
            DetectionResult { id, claimed: false, contradiction: false, why: why.to_string(), line: None }
        }
        Claim::Made { line, contradiction: None, .. } => DetectionResult {
            id,
            claimed: true,
            contradiction: false,
            why: format!("asserted on line {line} of the final message"),
            line: Some(*line),
        },
        Claim::Made { line, contradiction: Some(open), .. } => DetectionResult {
            id,
            claimed: true,
            contradiction: true,
            why: format!("asserted on line {line} of the final message, which also says: {}", open.sentence),
            line: Some(*line),
        },
    }
}
