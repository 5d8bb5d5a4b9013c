//! What agents tell on stderr while they go on: of requests that they repeat, where no record tells of it. It never claims
//! anything, and only what an adapter knows of is heard.
use super::event::AgentEvent;
use super::lines::{Line, Lines};
use super::registry::Agent;

/// Reads the stderr of one process.
#[derive(Debug, Default)]
pub struct Asides {
    lines: Lines,
}

impl Asides {
    /// Reads the next bytes and appends what they say.
    pub fn push(&mut self, agent: &dyn Agent, piece: &[u8], out: &mut Vec<AgentEvent>) {
        self.lines.push(piece, &mut |line| match line {
            Line::Whole(line) => out.extend(agent.aside(&String::from_utf8_lossy(line))),
            Line::Cut { .. } => {}
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AGENTS, ErrorKind, find};

    #[test] // spec: L6, A4
    fn only_an_adapter_that_knows_the_words_hears_them_and_in_pieces_of_any_size() {
        let said =
            b"Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {}\n    at x\nAttempt 2";
        let heard = |name: &str| {
            let (mut asides, mut out) = (Asides::default(), Vec::new());
            said.chunks(7).for_each(|piece| asides.push(find(name).unwrap(), piece, &mut out));
            out
        };
        for agent in AGENTS.iter().filter(|agent| agent.name() != "gemini") {
            assert_eq!(heard(agent.name()), [], "{}", agent.name());
        }
        assert!(matches!(
            heard("gemini")[..],
            [AgentEvent::Error { kind: ErrorKind::RateLimit, fatal: false, .. }]
        ));
    }
}
