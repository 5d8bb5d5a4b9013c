//! The script of the model: a JSON list of steps. Each request that offers tools takes the next step; the last one repeats,
//! and so does one with `until`. Requests without tools (titles, summaries) take no step and get a fixed answer.
//!
//!   {"say": TEXT}                             answers with the text, and ends the turn
//!   {"say_when": {"exists": P, "text": TEXT}} the same, once this file exists
//!   {"write": {"path": P, "content": TEXT}}   calls the tool with which this agent writes files
//!   {"run": COMMAND}                          calls the tool with which this agent runs commands
//!   {"tool": {"name": N, "input": JSON}}      calls the offered tool whose name ends with this; `$RUN` in the input is the id of
//!                                             the run that an earlier tool result has named
//!   {"refuse": {"status": 429, …}}            fails in the format of the API; see `Refusal`
//!   {"cut": TEXT}                             sends half of the text and closes the connection
//!   {"hang": "before_headers"}                reads the request and never answers
//!   {"hang": {"mid_stream": TEXT}}            sends half of the text and nothing more
//!   {"judge": STEP}                           how a judge answers; see `JudgeStep`. Only questions to judges take these
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::judge::JudgeStep;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ScriptStep {
    Say(String),
    SayWhen(HeldAnswer),
    Write(FileContent),
    Run(String),
    Tool(NamedCall),
    Refuse(Refusal),
    Cut(String),
    Hang(HangPoint),
    Judge(JudgeStep),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileContent {
    pub(crate) path: String,
    pub(crate) content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedCall {
    pub(crate) name: String,
    pub(crate) input: Value,
}

/// An answer that waits for a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HeldAnswer {
    pub(crate) exists: PathBuf,
    pub(crate) text: String,
}

/// An error of the API. A dialect omits fields that it cannot express.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    /// The `retry-after` header, in seconds.
    pub(crate) retry_after: Option<u64>,
    /// When the limit of the account resets, in seconds since 1970: a used-up plan instead of a short rate limit.
    pub(crate) resets_at: Option<u64>,
    /// The step repeats until this file exists, for clients that retry an unknown number of times.
    pub(crate) until: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HangPoint {
    BeforeHeaders,
    MidStream(String),
}

impl ScriptStep {
    /// Returns the file that ends this step, if it is not over after one request.
    fn until(&self) -> Option<&Path> {
        match self {
            Self::Refuse(refusal) => refusal.until.as_deref(),
            Self::Say(_)
            | Self::SayWhen(_)
            | Self::Write(_)
            | Self::Run(_)
            | Self::Tool(_)
            | Self::Cut(_)
            | Self::Hang(_)
            | Self::Judge(_) => None,
        }
    }
}

/// The position in the script.
#[derive(Debug, Default)]
pub(crate) struct ScriptPosition {
    step: usize,
}

impl ScriptPosition {
    /// Takes the step for the next request. The last one repeats.
    pub(crate) fn take<'a>(&mut self, script: &'a [ScriptStep]) -> Option<&'a ScriptStep> {
        let is_over = |step: &ScriptStep| step.until().is_some_and(Path::exists);
        while script.get(self.step).is_some_and(is_over) {
            self.step += 1;
        }
        let step = script.get(self.step).or(script.last());
        if step.is_some_and(|step| step.until().is_none()) {
            self.step += 1;
        }
        step
    }
}

pub(crate) fn read_script(path: &Path) -> io::Result<Vec<ScriptStep>> {
    parse_script(&fs::read_to_string(path)?)
}

pub(crate) fn parse_script(text: &str) -> io::Result<Vec<ScriptStep>> {
    let steps: Vec<ScriptStep> = serde_json::from_str(text)?;
    if steps.is_empty() { Err(io::Error::other("the script has no steps")) } else { Ok(steps) }
}
