//! Infers why an attempt failed when no record reports it: from the exit code, the end of stderr, or a missing final
//! record.
use crate::failure::classify;
use crate::registry::{Agent, ExitMeaning};
use crate::stream::event::{AgentErrorKind, AgentEvent, AgentFailure};
use crate::stream::output_format::OutputFormat;

/// How many lines at the end of stderr are searched for the reason of a failure.
const STDERR_TAIL_LINES: usize = 10;

/// How the process ended, if known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExit {
    Unknown,
    Code(i32),
    Signal(i32),
}

/// Whether the agent's final record has been read. Activity after that record reopens the attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FinalRecord {
    #[default]
    Awaited,
    Seen,
    /// A record was too long and was skipped; it may have been the final record.
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
            AgentEvent::PermissionDenied { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::RateLimit { .. }
            | AgentEvent::Error { .. } => {}
        }
    }
}

/// The known facts about the end of an attempt, apart from its records.
#[derive(Debug, Clone, Copy)]
pub struct ExitContext<'a> {
    pub format: OutputFormat,
    pub exit: AgentExit,
    pub stderr: &'a str,
    /// The last line of an output that contains no record.
    pub stray_line: &'a str,
    pub final_record: FinalRecord,
}

/// Returns the failure, if the exit or stderr indicates one. Does not check for an output without any record, which is
/// a format error.
pub fn infer_failure(agent: &dyn Agent, context: &ExitContext<'_>) -> Option<AgentFailure> {
    match context.exit {
        AgentExit::Code(0) | AgentExit::Unknown => {
            let is_cut_off = context.format.has_final_record() && context.final_record == FinalRecord::Awaited;
            is_cut_off.then(|| AgentFailure::new(AgentErrorKind::Crash, CUT_OFF_MESSAGE))
        }
        AgentExit::Code(code) => failure_from_exit_code(agent, code)
            .or_else(|| rejected_argument(context))
            .or_else(|| failure_in_stderr(context))
            .or_else(|| failure_in_stray_line(context)),
        AgentExit::Signal(_) => None,
    }
}

const CUT_OFF_MESSAGE: &str = "the agent exited without a final record: its output was cut off";

fn failure_from_exit_code(agent: &dyn Agent, code: i32) -> Option<AgentFailure> {
    let ExitMeaning { kind, description } = agent.exit_meaning(code)?;
    Some(AgentFailure::new(kind, format!("the agent exited with code {code}: {description}")))
}

/// A coding agent prints the reason of its failure last. A plain program may print anything, so its stderr is ignored.
fn failure_in_stderr(context: &ExitContext<'_>) -> Option<AgentFailure> {
    let lines = context.stderr.lines().rev().filter(|line| !line.trim().is_empty()).take(STDERR_TAIL_LINES);
    let mut failures = lines.map(|line| AgentFailure::new(classify::kind_from_message(line), line.trim()));
    failures.find(|failure| failure.kind != AgentErrorKind::Unknown).filter(|_| context.format.is_json())
}

/// How programs report an argument that they do not know.
const REJECTED_ARGUMENT_PATTERNS: &[&str] = &[
    "unknown option",
    "unknown argument",
    "unknown flag",
    "unexpected argument",
    "unrecognized option",
    "unrecognized argument",
    "unrecognised argument",
    "invalid option",
];

/// An argument of ralph or of the user that this version of the agent does not know.
fn rejected_argument(context: &ExitContext<'_>) -> Option<AgentFailure> {
    let is_rejection = |line: &&str| {
        let line = line.to_lowercase();
        REJECTED_ARGUMENT_PATTERNS.iter().any(|pattern| line.contains(pattern))
    };
    let line = context.stderr.lines().find(is_rejection).filter(|_| context.format.is_json())?;
    let message = format!("this version of the agent does not know an argument: {}", line.trim());
    Some(AgentFailure::new(AgentErrorKind::Format, message))
}

/// A line that is not a record is neither agent text nor a reliable error, so only a missing login, which a retry
/// cannot fix, is accepted.
fn failure_in_stray_line(context: &ExitContext<'_>) -> Option<AgentFailure> {
    let kind = classify::kind_from_message(context.stray_line);
    (kind == AgentErrorKind::Auth).then(|| AgentFailure::new(kind, context.stray_line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find_agent;

    fn infer_error_kind(agent: &str, exit: AgentExit, stderr: &str) -> Option<AgentErrorKind> {
        let agent = find_agent(agent).unwrap();
        let context = ExitContext {
            format: agent.output_format(),
            exit,
            stderr,
            stray_line: "",
            final_record: FinalRecord::Seen,
        };
        infer_failure(agent, &context).map(|failure| failure.kind)
    }

    #[test] // spec: A12
    fn an_argument_that_the_agent_does_not_know_is_named() {
        let agent = find_agent("codex").unwrap();
        let context = ExitContext {
            format: agent.output_format(),
            exit: AgentExit::Code(2),
            stderr: "error: unexpected argument '--json' found\n\nUsage: codex exec [OPTIONS]\n",
            stray_line: "",
            final_record: FinalRecord::Awaited,
        };
        let failure = infer_failure(agent, &context).unwrap();
        assert_eq!(failure.kind, AgentErrorKind::Format);
        assert_eq!(
            failure.message,
            "this version of the agent does not know an argument: error: unexpected argument '--json' found"
        );
    }

    #[test] // spec: L5, A4
    fn the_end_of_stderr_explains_a_failed_exit() {
        let stderr = "starting\nError: 401 Unauthorized: no key\n    at main.js:1\n\n";
        assert_eq!(infer_error_kind("codex", AgentExit::Code(1), stderr), Some(AgentErrorKind::Auth));
        assert_eq!(infer_error_kind("codex", AgentExit::Code(0), stderr), None, "the agent did not fail");
        assert_eq!(
            infer_error_kind("text", AgentExit::Code(1), stderr),
            None,
            "a plain program may print anything on stderr"
        );
        let too_early = format!("401 Unauthorized\n{}", "work\n".repeat(STDERR_TAIL_LINES));
        assert_eq!(infer_error_kind("codex", AgentExit::Code(1), &too_early), None);
    }

    #[test] // spec: L5
    fn a_stray_line_counts_only_if_it_reports_a_missing_login() {
        let goose = find_agent("goose").unwrap();
        let infer_kind = |stray_line, exit| {
            let context = ExitContext {
                format: goose.output_format(),
                exit,
                stderr: "",
                stray_line,
                final_record: FinalRecord::Awaited,
            };
            infer_failure(goose, &context).map(|failure| failure.kind)
        };
        let missing = "error: No provider configured. Run 'goose configure' first.";
        assert_eq!(infer_kind(missing, AgentExit::Code(1)), Some(AgentErrorKind::Auth));
        assert_eq!(infer_kind("429 Too Many Requests", AgentExit::Code(1)), None);
        assert_eq!(infer_kind(missing, AgentExit::Code(0)), Some(AgentErrorKind::Crash));
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
        let mut final_record = FinalRecord::default();
        final_record.record_event(&AgentEvent::Finished { ok: true });
        final_record.record_event(&AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd: None });
        assert_eq!(final_record, FinalRecord::Seen);
        final_record.record_event(&AgentEvent::ToolCall { name: "x".into(), detail: String::new() });
        assert_eq!(final_record, FinalRecord::Awaited);
        let codex = find_agent("codex").unwrap();
        let context = ExitContext {
            format: codex.output_format(),
            exit: AgentExit::Code(0),
            stderr: "",
            stray_line: "",
            final_record,
        };
        assert_eq!(infer_failure(codex, &context).map(|failure| failure.kind), Some(AgentErrorKind::Crash));
    }
}
