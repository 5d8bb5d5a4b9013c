//! What went wrong where no record of the agent's tells it: an exit code with a meaning, the end of stderr, or a final
//! record that never came.
use super::classify;
use super::event::{AgentErrorKind, AgentEvent};
use super::output_format::OutputFormat;
use super::registry::Agent;

/// How much of the end of stderr can say why an agent failed.
const STDERR_TAIL_LINES: usize = 10;

/// How the process ended, where that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExit {
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
    pub fn record_event(&mut self, event: &AgentEvent) {
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
pub struct ExitContext<'a> {
    pub format: OutputFormat,
    pub exit: AgentExit,
    pub stderr: &'a str,
    /// The last line of an output without a single record.
    pub stray_line: &'a str,
    pub final_record: FinalRecord,
}

/// Returns what went wrong, where something but the records says so. An output without a single record is another
/// matter: it was not understood.
pub fn infer_failure(agent: &dyn Agent, context: &ExitContext<'_>) -> Option<(AgentErrorKind, String)> {
    match context.exit {
        AgentExit::Code(0) | AgentExit::Unknown => {
            let is_cut_off = context.format.has_final_record() && context.final_record == FinalRecord::Awaited;
            is_cut_off.then(|| (AgentErrorKind::Crash, CUT_OFF_MESSAGE.to_owned()))
        }
        AgentExit::Code(code) => failure_from_exit_code(agent, code)
            .or_else(|| failure_in_stderr(context))
            .or_else(|| failure_in_stray_line(context)),
        AgentExit::Signal(_) => None,
    }
}

const CUT_OFF_MESSAGE: &str = "the agent ended without its final record: it was cut off";

fn failure_from_exit_code(agent: &dyn Agent, code: i32) -> Option<(AgentErrorKind, String)> {
    let (kind, meaning) = agent.exit_meaning(code)?;
    Some((kind, format!("the agent exited with code {code}: {meaning}")))
}

/// A plain program may write anything there; what a coding agent writes there last is why it gave up.
fn failure_in_stderr(context: &ExitContext<'_>) -> Option<(AgentErrorKind, String)> {
    let lines = context.stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(STDERR_TAIL_LINES);
    let mut told = lines.map(|line| (classify::kind_from_message(line), line.trim().to_owned()));
    told.find(|(kind, _)| *kind != AgentErrorKind::Unknown).filter(|_| context.format.is_json())
}

/// What a program prints before it speaks its format is no agent's prose, but it is no record either: only what retries cannot
/// mend is believed.
fn failure_in_stray_line(context: &ExitContext<'_>) -> Option<(AgentErrorKind, String)> {
    let kind = classify::kind_from_message(context.stray_line);
    (kind == AgentErrorKind::Auth).then(|| (kind, context.stray_line.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_agent;

    fn infer_error_kind(agent: &str, exit: AgentExit, stderr: &str) -> Option<AgentErrorKind> {
        let agent = find_agent(agent).unwrap();
        let outside = ExitContext {
            format: agent.output_format(),
            exit,
            stderr,
            stray_line: "",
            final_record: FinalRecord::Seen,
        };
        infer_failure(agent, &outside).map(|(kind, _)| kind)
    }

    #[test] // spec: L5, A4
    fn the_end_of_stderr_explains_a_failed_exit() {
        let stderr = "starting\nError: 401 Unauthorized: no key\n    at main.js:1\n\n";
        assert_eq!(infer_error_kind("codex", AgentExit::Code(1), stderr), Some(AgentErrorKind::Auth));
        assert_eq!(infer_error_kind("codex", AgentExit::Code(0), stderr), None, "it did not give up");
        assert_eq!(
            infer_error_kind("text", AgentExit::Code(1), stderr),
            None,
            "a plain program may write anything there"
        );
        let long_ago = format!("401 Unauthorized\n{}", "work\n".repeat(STDERR_TAIL_LINES));
        assert_eq!(infer_error_kind("codex", AgentExit::Code(1), &long_ago), None);
    }

    #[test] // spec: L5
    fn a_stray_line_counts_only_if_it_reports_a_missing_login() {
        let goose = find_agent("goose").unwrap();
        let told = |stray_line, exit| {
            let outside = ExitContext {
                format: goose.output_format(),
                exit,
                stderr: "",
                stray_line,
                final_record: FinalRecord::Awaited,
            };
            infer_failure(goose, &outside).map(|(kind, _)| kind)
        };
        let missing = "error: No provider configured. Run 'goose configure' first.";
        assert_eq!(told(missing, AgentExit::Code(1)), Some(AgentErrorKind::Auth));
        assert_eq!(told("429 Too Many Requests", AgentExit::Code(1)), None);
        assert_eq!(told(missing, AgentExit::Code(0)), Some(AgentErrorKind::Crash));
    }

    #[test] // spec: A8
    fn a_known_exit_code_takes_precedence_over_stderr() {
        assert_eq!(infer_error_kind("gemini", AgentExit::Code(55), "500 internal error"), Some(AgentErrorKind::Auth));
        assert_eq!(
            infer_error_kind("gemini", AgentExit::Code(1), "500 internal error"),
            Some(AgentErrorKind::Overloaded)
        );
    }

    #[test] // spec: A8, S4
    fn activity_after_the_final_record_reopens_the_attempt() {
        let mut last = FinalRecord::default();
        last.record_event(&AgentEvent::Finished { ok: true });
        last.record_event(&AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd: None });
        assert_eq!(last, FinalRecord::Seen);
        last.record_event(&AgentEvent::ToolCall { name: "x".into(), detail: String::new() });
        assert_eq!(last, FinalRecord::Awaited);
        let codex = find_agent("codex").unwrap();
        let outside = ExitContext {
            format: codex.output_format(),
            exit: AgentExit::Code(0),
            stderr: "",
            stray_line: "",
            final_record: last,
        };
        assert_eq!(infer_failure(codex, &outside).map(|(kind, _)| kind), Some(AgentErrorKind::Crash));
    }
}
