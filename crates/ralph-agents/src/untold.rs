//! What went wrong where no record of the agent's tells it: an exit code with a meaning, the end of stderr, or a final
//! record that never came.
use super::classify;
use super::event::{AgentEvent, ErrorKind};
use super::format::Format;
use super::registry::Agent;

/// How much of the end of stderr can say why an agent failed.
const LAST_LINES: usize = 10;

/// How the process ended, where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Unknown,
    Code(i32),
    Signal(i32),
}

/// Whether the agent's last record says that it is done. What it does after that makes it go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FinalRecord {
    #[default]
    Awaited,
    Seen,
    /// A record was too long to be read: it may have been the one.
    Unread,
}

impl FinalRecord {
    pub fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Finished { .. } => *self = Self::Seen,
            AgentEvent::Unread => *self = Self::Unread,
            AgentEvent::Started { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::ToolCall { .. }
            | AgentEvent::ToolResult { .. }
            | AgentEvent::AtWork
            | AgentEvent::Prompted => *self = Self::Awaited,
            AgentEvent::Usage { .. } | AgentEvent::RateLimit { .. } | AgentEvent::Error { .. } => {}
        }
    }
}

/// The end of an attempt, seen from outside.
#[derive(Debug, Clone, Copy)]
pub struct Outside<'a> {
    pub format: Format,
    pub exit: Exit,
    pub stderr: &'a str,
    /// The last line of an output without a single record.
    pub stray_line: &'a str,
    pub final_record: FinalRecord,
}

/// Returns what went wrong, where something but the records says so. An output without a single record is another
/// matter: it was not understood.
pub fn untold(agent: &dyn Agent, outside: &Outside<'_>) -> Option<(ErrorKind, String)> {
    match outside.exit {
        Exit::Code(0) | Exit::Unknown => {
            let is_cut_off =
                outside.format.has_final_record() && outside.final_record == FinalRecord::Awaited;
            is_cut_off.then(|| (ErrorKind::Crash, CUT_OFF.to_owned()))
        }
        Exit::Code(code) => {
            of_exit_code(agent, code).or_else(|| in_stderr(outside)).or_else(|| in_stray_line(outside))
        }
        Exit::Signal(_) => None,
    }
}

const CUT_OFF: &str = "the agent ended without its final record: it was cut off";

fn of_exit_code(agent: &dyn Agent, code: i32) -> Option<(ErrorKind, String)> {
    let (kind, meaning) = agent.exit_meaning(code)?;
    Some((kind, format!("the agent exited with code {code}: {meaning}")))
}

/// A plain program may write anything there; what a coding agent writes there last is why it gave up.
fn in_stderr(outside: &Outside<'_>) -> Option<(ErrorKind, String)> {
    let lines = outside.stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES);
    let mut told = lines.map(|line| (classify::by_words(line), line.trim().to_owned()));
    told.find(|(kind, _)| *kind != ErrorKind::Unknown).filter(|_| outside.format.is_json())
}

/// What a program prints before it speaks its format is no agent's prose, but it is no record either: only what retries cannot
/// mend is believed.
fn in_stray_line(outside: &Outside<'_>) -> Option<(ErrorKind, String)> {
    let kind = classify::by_words(outside.stray_line);
    (kind == ErrorKind::Auth).then(|| (kind, outside.stray_line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    fn of(agent: &str, exit: Exit, stderr: &str) -> Option<ErrorKind> {
        let agent = find(agent).unwrap();
        let outside =
            Outside { format: agent.format(), exit, stderr, stray_line: "", final_record: FinalRecord::Seen };
        untold(agent, &outside).map(|(kind, _)| kind)
    }

    #[test] // spec: L5, A4
    fn the_end_of_stderr_tells_why_an_agent_gave_up() {
        let stderr = "starting\nError: 401 Unauthorized: no key\n    at main.js:1\n\n";
        assert_eq!(of("codex", Exit::Code(1), stderr), Some(ErrorKind::Auth));
        assert_eq!(of("codex", Exit::Code(0), stderr), None, "it did not give up");
        assert_eq!(of("text", Exit::Code(1), stderr), None, "a plain program may write anything there");
        let long_ago = format!("401 Unauthorized\n{}", "work\n".repeat(LAST_LINES));
        assert_eq!(of("codex", Exit::Code(1), &long_ago), None);
    }

    #[test] // spec: L5
    fn a_line_in_place_of_records_is_believed_only_where_it_tells_that_a_login_is_missing() {
        let goose = find("goose").unwrap();
        let told = |stray_line, exit| {
            let outside = Outside {
                format: goose.format(),
                exit,
                stderr: "",
                stray_line,
                final_record: FinalRecord::Awaited,
            };
            untold(goose, &outside).map(|(kind, _)| kind)
        };
        let missing = "error: No provider configured. Run 'goose configure' first.";
        assert_eq!(told(missing, Exit::Code(1)), Some(ErrorKind::Auth));
        assert_eq!(told("429 Too Many Requests", Exit::Code(1)), None);
        assert_eq!(told(missing, Exit::Code(0)), Some(ErrorKind::Crash));
    }

    #[test] // spec: A8
    fn an_exit_code_with_a_meaning_says_more_than_stderr() {
        assert_eq!(of("gemini", Exit::Code(55), "500 internal error"), Some(ErrorKind::Auth));
        assert_eq!(of("gemini", Exit::Code(1), "500 internal error"), Some(ErrorKind::Overloaded));
    }

    #[test] // spec: A8, S4
    fn what_an_agent_does_after_its_final_record_makes_it_go_on() {
        let mut last = FinalRecord::default();
        last.note(&AgentEvent::Finished { ok: true });
        last.note(&AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd: None });
        assert_eq!(last, FinalRecord::Seen);
        last.note(&AgentEvent::ToolCall { name: "x".into(), detail: String::new() });
        assert_eq!(last, FinalRecord::Awaited);
        let codex = find("codex").unwrap();
        let outside = Outside {
            format: codex.format(),
            exit: Exit::Code(0),
            stderr: "",
            stray_line: "",
            final_record: last,
        };
        assert_eq!(untold(codex, &outside).map(|(kind, _)| kind), Some(ErrorKind::Crash));
    }
}
