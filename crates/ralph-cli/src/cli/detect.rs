//! `ralph detect`: the claim finder by itself.
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::{Args, ValueEnum};
use ralph_core::claim::{Claim, ClaimRules, Contradictions, Matching, Promise, Reading, Scope};
use ralph_core::outcome::exit_code;
use serde::{Deserialize, Serialize};

use super::values::format;
use super::{offer, out};
use crate::error::Failure;
use ralph_agents::Format;
use ralph_agents::hearing::read_output;
use ralph_app::config::Settings;
use ralph_util::bounded_lines::BoundedLines;

/// Says whether an agent's output claims completion, where, and why or why not
///
/// Reads the output from standard input. Exit code 0: claimed; 3: not claimed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  claude -p … --output-format stream-json | ralph detect --promise DONE --format claude
  ralph detect --promise COMPLETE --json < output.txt
  ralph detect --batch < cases.jsonl")]
pub struct DetectArgs {
    /// The text inside <promise>…</promise>
    #[arg(long, required_unless_present = "batch")]
    promise: Option<String>,
    /// The format of the output: text, claude, codex, amp, cline, opencode, gemini, qwen, copilot, goose or acp
    #[arg(long, default_value = "text", value_parser = offer::formats(), hide_possible_values = true)]
    format: Format,
    /// The prompt that the agent was given; an echo of it does not count
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<std::path::PathBuf>,
    #[command(flatten)]
    signals: SignalArgs,
    /// Prints one JSON object
    #[arg(long)]
    json: bool,
    /// Reads JSON lines {id, format, promise, output, prompt?} and writes {id, claimed, contradiction, why}
    #[arg(long, conflicts_with_all = ["promise", "prompt_file"])]
    batch: bool,
}

/// How claims are read; shared with `ralph run`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Claims")]
pub struct SignalArgs {
    /// exact: case-sensitive, and the tag alone on its line [built-in: loose]
    #[arg(long = "match", value_enum)]
    matching: Option<MatchArg>,
    /// final: only the last message of the agent counts; iteration: any of them [built-in: final]
    #[arg(long, value_enum)]
    scope: Option<ScopeArg>,
    /// Accepts a claim even if its own message says that work is open
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

impl SignalArgs {
    /// Returns the claim rules that these flags mean without any configuration.
    #[must_use]
    pub fn rules(&self, promise: Promise) -> ClaimRules {
        let mut settings = Settings::default();
        self.apply(&mut settings);
        settings.claim_rules(promise)
    }

    /// Applies the flags as the highest layer.
    pub fn apply(&self, settings: &mut Settings) {
        let matching = self.matching.map(|matching| match matching {
            MatchArg::Loose => Matching::Loose,
            MatchArg::Exact => Matching::Exact,
        });
        let scope = self.scope.map(|scope| match scope {
            ScopeArg::Final => Scope::Final,
            ScopeArg::Iteration => Scope::Iteration,
        });
        let signals = &mut settings.signals;
        signals.matching.flag(matching, "--match");
        signals.scope.flag(scope, "--scope");
        signals
            .contradictions
            .flag(self.no_contradictions.then_some(Contradictions::Off), "--no-contradictions");
    }
}

/// The answer for one output.
#[derive(Debug, Serialize)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<serde_json::Value>,
    claimed: bool,
    contradiction: bool,
    why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

pub fn run(args: &DetectArgs) -> Result<u8, Failure> {
    if args.batch { batch(args) } else { single(args) }
}

fn single(args: &DetectArgs) -> Result<u8, Failure> {
    let promise = args.promise.as_deref().unwrap_or_default();
    let promise = Promise::parse(promise).map_err(|error| Failure::new(exit_code::USAGE, &error))?;
    let prompt = match &args.prompt_file {
        None => String::new(),
        Some(path) => read_prompt(path).map_err(|error| {
            Failure::preflight(format!("the prompt file {} cannot be read", path.display())).cause(error)
        })?,
    };
    let mut stdin = io::stdin().lock();
    let reading = read_output(args.format, args.signals.rules(promise), &prompt, &mut stdin)
        .map_err(|error| Failure::preflight("standard input cannot be read").cause(error))?;
    let answer = answer(None, &reading);
    if args.json {
        out::line(&serde_json::to_string(&answer).unwrap_or_default());
    } else {
        let verdict = if answer.claimed { "claimed" } else { "not claimed" };
        out::line(&format!("{verdict}: {}", answer.why));
    }
    Ok(if answer.claimed { exit_code::COMPLETED } else { exit_code::NOT_COMPLETE })
}

fn read_prompt(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(LONGEST_CASE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST_CASE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is longer than 64 MB"));
    }
    Ok(text)
}

/// One case of a batch.
#[derive(Debug, Deserialize)]
struct Case {
    id: serde_json::Value,
    #[serde(default)]
    format: Option<String>,
    promise: String,
    output: String,
    #[serde(default)]
    prompt: Option<String>,
}

/// A longer output is read by itself, without `--batch`.
const LONGEST_CASE: u64 = 64 << 20;

fn batch(args: &DetectArgs) -> Result<u8, Failure> {
    let mut lines = BoundedLines::new(io::stdin().lock(), LONGEST_CASE);
    loop {
        let line = lines.next_line();
        let number = lines.number();
        let line = line.map_err(|error| {
            Failure::preflight(format!("line {number} of standard input cannot be read")).cause(error)
        })?;
        let Some(line) = line else { return Ok(0) };
        let answer = case(args, &line).map_err(|why| {
            Failure::usage(format!("line {number} of standard input is no case: {why}"))
                .hint("a case is {\"id\", \"format\", \"promise\", \"output\", \"prompt\"?}")
        })?;
        out::line(&serde_json::to_string(&answer).unwrap_or_default());
    }
}

fn case(args: &DetectArgs, line: &[u8]) -> Result<Answer, String> {
    let case: Case = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let wanted = match &case.format {
        None => args.format,
        Some(name) => format(name)?,
    };
    let promise = match Promise::parse(&case.promise) {
        Ok(promise) => promise,
        Err(error) => {
            let why = format!("{error}: it never completes");
            return Ok(Answer { id: Some(case.id), claimed: false, contradiction: false, why, line: None });
        }
    };
    let prompt = case.prompt.unwrap_or_default();
    let rules = args.signals.rules(promise);
    let reading = read_output(wanted, rules, &prompt, &mut case.output.as_bytes());
    Ok(answer(Some(case.id), &reading.map_err(|error| error.to_string())?))
}

fn answer(id: Option<serde_json::Value>, reading: &Reading) -> Answer {
    match &reading.claim {
        Claim::None { why } => {
            Answer { id, claimed: false, contradiction: false, why: why.to_string(), line: None }
        }
        Claim::Made { line, contradiction: None, .. } => Answer {
            id,
            claimed: true,
            contradiction: false,
            why: format!("asserted on line {line} of the final message"),
            line: Some(*line),
        },
        Claim::Made { line, contradiction: Some(open), .. } => Answer {
            id,
            claimed: true,
            contradiction: true,
            why: format!("asserted on line {line} of the final message, which also says: {}", open.sentence),
            line: Some(*line),
        },
    }
}
