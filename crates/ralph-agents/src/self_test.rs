//! Recordings that are built into the binary, so that `ralph doctor` can check the parsers on any machine.
use jiff::Zoned;
use ralph_core::attempt::AgentErrorKind;

use crate::failure::infer_failure::AgentExit;
use crate::registry::Agent;
use crate::stream::attempt_summary::AttemptSummaryBuilder;
use crate::stream::parser::parser_for_format;

/// The expected result of a recording.
enum ExpectedResult {
    /// The agent claims completion.
    Claim,
    Failure(AgentErrorKind),
}

macro_rules! recorded {
    ($path:literal) => {
        include_str!(concat!("../transcripts/", $path, ".stdout"))
    };
}

const RECORDINGS: &[(&str, &str, ExpectedResult)] = &[
    ("claude", recorded!("claude/text"), ExpectedResult::Claim),
    ("claude", recorded!("claude/ecredit"), ExpectedResult::Failure(AgentErrorKind::Budget)),
    ("codex", recorded!("codex/text"), ExpectedResult::Claim),
    ("codex", recorded!("codex/x401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("opencode", recorded!("opencode/ok"), ExpectedResult::Claim),
    ("opencode", recorded!("opencode/401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("gemini", recorded!("gemini/ok"), ExpectedResult::Claim),
    ("gemini", recorded!("gemini/401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("qwen", recorded!("qwen/ok"), ExpectedResult::Claim),
    ("copilot", recorded!("copilot/streamoff"), ExpectedResult::Claim),
    ("cline", recorded!("cline/ok"), ExpectedResult::Claim),
    ("cline", recorded!("cline/401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("goose", recorded!("goose/ok"), ExpectedResult::Claim),
    ("goose", recorded!("goose/401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("pi", recorded!("pi/ok"), ExpectedResult::Claim),
    ("pi", recorded!("pi/401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
    ("claude-agent-acp", recorded!("acp/claude-agent-acp"), ExpectedResult::Claim),
    ("codex-acp", recorded!("acp/codex-acp"), ExpectedResult::Claim),
    ("acp", recorded!("acp/opencode-perm"), ExpectedResult::Claim),
    ("acp", recorded!("acp/gemini-401"), ExpectedResult::Failure(AgentErrorKind::Auth)),
];

/// Parses the recordings of an agent. Returns how many there are, or a description of the first mismatch.
pub fn run_self_test(agent: &dyn Agent) -> Result<usize, String> {
    let recordings = RECORDINGS.iter().filter(|(name, ..)| *name == agent.name());
    recordings
        .map(|(_, output, expected)| check_recording(agent, output, expected))
        .try_fold(0, |count, checked| checked.map(|()| count + 1))
}

fn check_recording(agent: &dyn Agent, output: &str, expected: &ExpectedResult) -> Result<(), String> {
    let (mut parser, mut events, mut summary) =
        (parser_for_format(agent.output_format()), Vec::new(), AttemptSummaryBuilder::default());
    parser.push(output.as_bytes(), &mut events);
    parser.finish(&mut events);
    events.iter().for_each(|event| summary.record_event(event));
    let now = Zoned::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::TimeZone::UTC);
    let attempt = summary.into_summary(agent, parser.record_counts(), AgentExit::Unknown, &now);
    let claims = attempt.final_text.as_deref().is_some_and(|text| text.ends_with("<promise>COMPLETE</promise>"));
    let kind = attempt.error.map(|error| error.kind);
    match expected {
        ExpectedResult::Claim if claims && kind.is_none() => Ok(()),
        ExpectedResult::Failure(expected) if kind == Some(*expected) => Ok(()),
        ExpectedResult::Claim => Err("a recorded claim was not recognised".to_owned()),
        ExpectedResult::Failure(expected) => {
            let found = kind.map_or("no failure", AgentErrorKind::name);
            Err(format!("a recorded failure ({}) was classified as {found}", expected.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, AgentProgram, find_agent};

    #[test] // spec: A8
    fn every_agent_parses_its_recordings_correctly() {
        for agent in AGENTS {
            let count = run_self_test(*agent).unwrap();
            let is_never_run =
                matches!(agent.program(), AgentProgram::OnPath(_)) && agent.profile().tested_version.is_none();
            let has_none = is_never_run || ["amp", "text", "demo"].contains(&agent.name());
            assert_eq!(count > 0, !has_none, "{}", agent.name());
        }
    }

    #[test] // spec: A8
    fn a_misread_recording_is_reported() {
        let claude = find_agent("claude").unwrap();
        let wrong = check_recording(claude, recorded!("codex/text"), &ExpectedResult::Claim);
        assert_eq!(wrong, Err("a recorded claim was not recognised".to_owned()));
        let wrong = check_recording(claude, recorded!("claude/text"), &ExpectedResult::Failure(AgentErrorKind::Auth));
        assert_eq!(wrong, Err("a recorded failure (auth) was classified as no failure".to_owned()));
    }
}
