//! How much of its context an agent uses, as the end of its output reports it. A value that it does not report stays unknown.
use crate::stream::output_format::OutputFormat;
use crate::{acp, claude};

/// The tokens in the context of an agent, and how many fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextUse {
    /// The model of the main thread, if the output names it.
    pub model: Option<String>,
    pub used_tokens: Option<u64>,
    pub size_tokens: Option<u64>,
}

impl ContextUse {
    /// Reads the last report in a piece of output that begins at the beginning of a line.
    #[must_use]
    pub fn read(format: OutputFormat, output: &[u8]) -> Self {
        let read_line = match format {
            OutputFormat::Claude => claude::context_line::read_context_line,
            OutputFormat::Acp => acp::context_line::read_context_line,
            OutputFormat::Text
            | OutputFormat::Codex
            | OutputFormat::Amp
            | OutputFormat::Cline
            | OutputFormat::Opencode
            | OutputFormat::Gemini
            | OutputFormat::Qwen
            | OutputFormat::Copilot
            | OutputFormat::Goose
            | OutputFormat::Cursor
            | OutputFormat::Pi => return Self::default(),
        };
        let mut found = Self::default();
        for line in output.split(|byte| *byte == b'\n') {
            read_line(line, &mut found);
        }
        found
    }

    /// Takes the size that an earlier attempt with the same model has reported, if this one has not reported it yet.
    #[must_use]
    pub fn with_size_of(self, earlier: &Self) -> Self {
        if self.size_tokens.is_some() || self.model != earlier.model {
            return self;
        }
        Self { size_tokens: earlier.size_tokens, ..self }
    }

    /// Returns the used part in per cent; `None` if it is not known.
    #[must_use]
    pub fn percent(&self) -> Option<u64> {
        let size = self.size_tokens.filter(|size| *size > 0)?;
        Some(self.used_tokens?.saturating_mul(100) / size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_recording(format: OutputFormat, name: &str) -> ContextUse {
        let path = format!("{}/transcripts/{name}", env!("CARGO_MANIFEST_DIR"));
        ContextUse::read(format, &std::fs::read(path).unwrap())
    }

    // spec: U4
    #[test]
    fn the_context_is_that_of_the_main_thread_in_the_last_report() {
        let claude = read_recording(OutputFormat::Claude, "claude/subagent.stdout");
        assert_eq!(claude.model.as_deref(), Some("claude-opus-5-5"));
        assert_eq!((claude.used_tokens, claude.size_tokens), (Some(151), Some(1_000_000)));
        let acp = read_recording(OutputFormat::Acp, "acp/claude-w.stdout");
        assert_eq!((acp.used_tokens.is_some(), acp.size_tokens), (true, Some(1_000_000)));
    }

    // spec: U4
    #[test]
    fn what_an_agent_does_not_report_is_unknown() {
        assert_eq!(read_recording(OutputFormat::Codex, "codex/first.stdout"), ContextUse::default());
        let line = br#"{"type":"assistant","message":{"model":"m","usage":{"input_tokens":50,"output_tokens":5}}}"#;
        let working = ContextUse::read(OutputFormat::Claude, line);
        assert_eq!((working.used_tokens, working.percent()), (Some(55), None));
    }

    // spec: U4
    #[test]
    fn an_earlier_attempt_knows_the_size_for_the_same_model_only() {
        let working = ContextUse { model: Some("m".to_owned()), used_tokens: Some(30_000), size_tokens: None };
        let earlier = ContextUse { size_tokens: Some(200_000), used_tokens: Some(9), ..working.clone() };
        assert_eq!(working.clone().with_size_of(&earlier).percent(), Some(15));
        let other = ContextUse { model: Some("n".to_owned()), ..earlier };
        assert_eq!(working.with_size_of(&other).percent(), None);
    }
}
