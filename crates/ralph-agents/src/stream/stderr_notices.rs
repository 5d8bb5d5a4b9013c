//! Parses notices on stderr about requests that the agent retries, for agents whose records do not report retries. Only
//! lines that the agent's adapter recognises count, and they are never agent text.
use crate::registry::Agent;
use crate::stream::event::AgentEvent;
use crate::stream::line_splitter::{LineSplitter, SplitLine};

/// Parses the stderr of one process.
#[derive(Debug, Default)]
pub struct StderrNotices {
    lines: LineSplitter,
}

impl StderrNotices {
    /// Parses the next bytes and appends their events.
    pub fn push(&mut self, agent: &dyn Agent, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        self.lines.push(bytes, &mut |line| match line {
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
        let stderr = b"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {}\n    at x\nAttempt 2";
        let notices = |name: &str| {
            let (mut reader, mut out) = (StderrNotices::default(), Vec::new());
            stderr.chunks(7).for_each(|piece| reader.push(find_agent(name).unwrap(), piece, &mut out));
            out
        };
        for agent in AGENTS.iter().filter(|agent| agent.name() != "gemini") {
            assert_eq!(notices(agent.name()), [], "{}", agent.name());
        }
        assert!(matches!(
            notices("gemini")[..],
            [AgentEvent::Error { kind: AgentErrorKind::RateLimit, fatal: false, .. }]
        ));
    }
}
