//! A few recordings inside of the binary, so that every machine can show that its ralph reads them as it should.
use jiff::Zoned;
use ralph_core::attempt::ErrorKind;

use super::parser::parser;
use super::registry::Agent;
use super::summary::Summary;
use super::untold::Exit;

/// What a recording comes to.
enum Comes {
    /// The agent claims completion.
    ToAClaim,
    ToAFailure(ErrorKind),
}

macro_rules! recorded {
    ($path:literal) => {
        include_str!(concat!("../transcripts/", $path, ".stdout"))
    };
}

const RECORDINGS: &[(&str, &str, Comes)] = &[
    ("claude", recorded!("claude/text"), Comes::ToAClaim),
    ("claude", recorded!("claude/ecredit"), Comes::ToAFailure(ErrorKind::Budget)),
    ("codex", recorded!("codex/text"), Comes::ToAClaim),
    ("codex", recorded!("codex/x401"), Comes::ToAFailure(ErrorKind::Auth)),
    ("opencode", recorded!("opencode/ok"), Comes::ToAClaim),
    ("opencode", recorded!("opencode/401"), Comes::ToAFailure(ErrorKind::Auth)),
    ("gemini", recorded!("gemini/ok"), Comes::ToAClaim),
    ("gemini", recorded!("gemini/401"), Comes::ToAFailure(ErrorKind::Auth)),
    ("qwen", recorded!("qwen/ok"), Comes::ToAClaim),
    ("copilot", recorded!("copilot/streamoff"), Comes::ToAClaim),
    ("cline", recorded!("cline/ok"), Comes::ToAClaim),
    ("cline", recorded!("cline/401"), Comes::ToAFailure(ErrorKind::Auth)),
    ("goose", recorded!("goose/ok"), Comes::ToAClaim),
    ("goose", recorded!("goose/401"), Comes::ToAFailure(ErrorKind::Auth)),
    ("acp", recorded!("acp/opencode-perm"), Comes::ToAClaim),
    ("acp", recorded!("acp/gemini-401"), Comes::ToAFailure(ErrorKind::Auth)),
];

/// Reads the recordings of an agent. Returns how many there are, or what was read wrongly.
pub fn self_test(agent: &dyn Agent) -> Result<usize, String> {
    let own = RECORDINGS.iter().filter(|(name, ..)| *name == agent.name());
    own.map(|(_, output, comes)| read(agent, output, comes))
        .try_fold(0, |count, read| read.map(|()| count + 1))
}

fn read(agent: &dyn Agent, output: &str, comes: &Comes) -> Result<(), String> {
    let (mut parser, mut events, mut summary) = (parser(agent.format()), Vec::new(), Summary::default());
    parser.push(output.as_bytes(), &mut events);
    parser.finish(&mut events);
    events.iter().for_each(|event| summary.note(event));
    let now = Zoned::new(jiff::Timestamp::UNIX_EPOCH, jiff::tz::TimeZone::UTC);
    let attempt = summary.attempt(agent, parser.counts(), Exit::Unknown, &now);
    let claims =
        attempt.final_text.as_deref().is_some_and(|text| text.ends_with("<promise>COMPLETE</promise>"));
    let kind = attempt.error.map(|error| error.kind);
    match comes {
        Comes::ToAClaim if claims && kind.is_none() => Ok(()),
        Comes::ToAFailure(expected) if kind == Some(*expected) => Ok(()),
        Comes::ToAClaim => Err("a recorded claim was not read".to_owned()),
        Comes::ToAFailure(expected) => {
            let read = kind.map_or("no failure", ErrorKind::name);
            Err(format!("a recorded failure ({}) was read as {read}", expected.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, find};

    #[test] // spec: A8
    fn every_agent_reads_its_recordings() {
        for agent in AGENTS {
            let count = self_test(*agent).unwrap();
            let has_none = ["amp", "text", "demo"].contains(&agent.name());
            assert_eq!(count > 0, !has_none, "{}", agent.name());
        }
    }

    #[test] // spec: A8
    fn a_recording_that_is_read_wrongly_is_told() {
        let claude = find("claude").unwrap();
        let wrong = read(claude, recorded!("codex/text"), &Comes::ToAClaim);
        assert_eq!(wrong, Err("a recorded claim was not read".to_owned()));
        let wrong = read(claude, recorded!("claude/text"), &Comes::ToAFailure(ErrorKind::Auth));
        assert_eq!(wrong, Err("a recorded failure (auth) was read as no failure".to_owned()));
    }
}
