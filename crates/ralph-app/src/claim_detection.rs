//! Searches recorded output of agents for completion claims: one output, or many cases as lines of JSON.
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use ralph_agents::OutputFormat;
use ralph_agents::replay_output::read_output_claim;
use ralph_core::claim::{Claim, ClaimReading, Promise};
use ralph_util::bounded_lines::BoundedLines;
use serde::{Deserialize, Serialize};

use crate::config::Settings;

/// Size limit for a case and for a prompt file.
const MAX_CASE_BYTES: u64 = 64 << 20;

/// Finds claims by the rules of the settings.
#[derive(Debug, Clone, Copy)]
pub struct ClaimDetector<'a> {
    /// The format of outputs that do not name one.
    pub format: OutputFormat,
    pub settings: &'a Settings,
}

/// The result for one output.
#[derive(Debug, Serialize)]
pub struct DetectionResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<serde_json::Value>,
    pub claimed: bool,
    pub contradiction: bool,
    pub why: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Why a batch ended early.
#[derive(Debug)]
pub enum BatchError {
    Unreadable { line: usize, error: io::Error },
    InvalidCase { line: usize, reason: String },
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

/// Reads the prompt of an agent, to recognize an echo of it.
pub fn read_prompt_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_CASE_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_CASE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is longer than 64 MB"));
    }
    Ok(text)
}

impl ClaimDetector<'_> {
    /// Reads one output to its end.
    pub fn detect_claim(&self, promise: Promise, prompt: &str, output: &mut dyn Read) -> io::Result<DetectionResult> {
        let reading = read_output_claim(self.format, self.settings.claim_rules(promise), prompt, output)?;
        Ok(DetectionResult::from_reading(None, &reading))
    }

    /// Reads cases, one object on each line, and passes their results to `on_result`.
    pub fn detect_batch(
        &self,
        cases: impl BufRead,
        mut on_result: impl FnMut(DetectionResult),
    ) -> Result<(), BatchError> {
        let mut lines = BoundedLines::new(cases, MAX_CASE_BYTES);
        loop {
            let text = lines.next_line();
            let line = lines.line_number();
            let Some(text) = text.map_err(|error| BatchError::Unreadable { line, error })? else { return Ok(()) };
            on_result(self.detect_case(&text).map_err(|reason| BatchError::InvalidCase { line, reason })?);
        }
    }

    fn detect_case(&self, line: &[u8]) -> Result<DetectionResult, String> {
        let case: DetectionCase = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        let format = match &case.format {
            None => self.format,
            Some(name) => name.parse::<OutputFormat>().map_err(|error| format!("{error}; {}", error.hint()))?,
        };
        let promise = match Promise::parse(&case.promise) {
            Ok(promise) => promise,
            Err(error) => {
                let why = format!("{error}, so no output can claim it");
                return Ok(DetectionResult::unclaimed(Some(case.id), why));
            }
        };
        let prompt = case.prompt.unwrap_or_default();
        let rules = self.settings.claim_rules(promise);
        let reading = read_output_claim(format, rules, &prompt, &mut case.output.as_bytes());
        Ok(DetectionResult::from_reading(Some(case.id), &reading.map_err(|error| error.to_string())?))
    }
}

impl DetectionResult {
    fn unclaimed(id: Option<serde_json::Value>, why: String) -> Self {
        Self { id, claimed: false, contradiction: false, why, line: None }
    }

    fn from_reading(id: Option<serde_json::Value>, reading: &ClaimReading) -> Self {
        match &reading.claim {
            Claim::None { why } => Self::unclaimed(id, why.to_string()),
            Claim::Made { line, contradiction: None, .. } => Self {
                id,
                claimed: true,
                contradiction: false,
                why: format!("asserted on line {line} of the final message"),
                line: Some(*line),
            },
            Claim::Made { line, contradiction: Some(open), .. } => Self {
                id,
                claimed: true,
                contradiction: true,
                why: format!("asserted on line {line} of the final message, which also says: {}", open.sentence),
                line: Some(*line),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_cases(text: &str) -> (Vec<bool>, Result<(), BatchError>) {
        let settings = Settings::default();
        let detector = ClaimDetector { format: OutputFormat::Text, settings: &settings };
        let mut claimed = Vec::new();
        let ended = detector.detect_batch(text.as_bytes(), |result| claimed.push(result.claimed));
        (claimed, ended)
    }

    #[test]
    fn every_case_of_a_batch_has_a_result() {
        let (claimed, ended) = detect_cases(concat!(
            r#"{"id": 1, "promise": "DONE", "output": "<promise>DONE</promise>"}"#,
            "\n",
            r#"{"id": 2, "promise": "DONE", "output": "still working"}"#,
        ));
        assert!(ended.is_ok(), "{ended:?}");
        assert_eq!(claimed, [true, false]);
    }

    #[test]
    fn a_batch_ends_at_the_line_of_an_invalid_case() {
        let (claimed, ended) = detect_cases("{\"id\": 1, \"promise\": \"DONE\", \"output\": \"\"}\n{}\n");
        assert_eq!(claimed, [false]);
        assert!(matches!(ended, Err(BatchError::InvalidCase { line: 2, .. })), "{ended:?}");
    }
}
