//! What agents tell on stderr while they go on: of requests that they repeat, where no record tells of it. It never claims
//! anything, and only what an adapter knows of is heard.
use super::event::AgentEvent;
use super::line_splitter::{LineSplitter, SplitLine};
use super::registry::Agent;

/// Reads the stderr of one process.
#[derive(Debug, Default)]
pub struct StderrNotices {
    lines: LineSplitter,
}

impl StderrNotices {
    /// Reads the next bytes and appends what they say.
    pub fn push(&mut self, agent: &dyn Agent, piece: &[u8], out: &mut Vec<AgentEvent>) {
        self.lines.push(piece, &mut |line| match line {
            SplitLine::Whole(line) => out.extend(agent.parse_stderr_notice(&String::from_utf8_lossy(line))),
            SplitLine::Cut { .. } => {}
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, AgentErrorKind, find_agent};

    #[test] // spec: L6, A4
    fn only_an_adapter_that_knows_a_notice_reports_it_in_chunks_of_any_size() {
        let said = b"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {}\n    at x\nAttempt 2";
        let heard = |name: &str| {
            let (mut asides, mut out) = (StderrNotices::default(), Vec::new());
            said.chunks(7).for_each(|piece| asides.push(find_agent(name).unwrap(), piece, &mut out));
            out
        };
        for agent in AGENTS.iter().filter(|agent| agent.name() != "gemini") {
            assert_eq!(heard(agent.name()), [], "{}", agent.name());
        }
        assert!(matches!(
            heard("gemini")[..],
            [AgentEvent::Error { kind: AgentErrorKind::RateLimit, fatal: false, .. }]
        ));
    }
}
