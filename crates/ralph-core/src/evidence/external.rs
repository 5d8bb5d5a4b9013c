//! The verdict on one run of a check command.
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::{ReasonedVerdict, Verdict};
use crate::criterion::ExternalCheck;
use crate::text::describe_signal;

/// How the run of a check command ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CheckEnding {
    Exited { code: i32 },
    Signalled { signal: i32 },
    TimedOut,
    NotStarted { why: String },
}

/// Which of the texts of a check occur in the full output, stdout and stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputMatches {
    pub wanted: bool,
    pub forbidden: bool,
}

/// Returns the verdict on one run of a check command.
#[must_use]
pub fn evaluate_command(check: &ExternalCheck, ending: &CheckEnding, matches: OutputMatches) -> ReasonedVerdict {
    match ending {
        CheckEnding::NotStarted { why } => {
            ReasonedVerdict::new(Verdict::CouldNotEvaluate, format!("Command failed: {why}"))
        }
        CheckEnding::TimedOut => {
            let reason = format!("Command timed out after {}", format_time_limit(check.timeout_ms));
            ReasonedVerdict::new(Verdict::Rejected, reason)
        }
        CheckEnding::Signalled { signal } => {
            let reason = format!("Command failed: killed by {}", describe_signal(*signal));
            ReasonedVerdict::new(Verdict::CouldNotEvaluate, reason)
        }
        CheckEnding::Exited { code } => evaluate_exit_code(check, *code, matches),
    }
}

/// Formats a time limit in seconds, or in milliseconds if it is not a whole number of seconds.
fn format_time_limit(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

fn evaluate_exit_code(check: &ExternalCheck, code: i32, matches: OutputMatches) -> ReasonedVerdict {
    let expected = check.success_exit_code;
    let rejected = |reason: String| ReasonedVerdict::new(Verdict::Rejected, reason);
    if code != expected {
        return match code {
            // The exit codes of a shell for "cannot execute" and "not found".
            126 | 127 => {
                let reason = format!("Command could not run: exit code {code}");
                ReasonedVerdict::new(Verdict::CouldNotEvaluate, reason)
            }
            code => rejected(format!("Command exited with {code}, expected {expected}")),
        };
    }
    match (&check.output_contains, &check.output_not_contains) {
        (Some(wanted), _) if !matches.wanted => rejected(format!("Output doesn't contain: {wanted}")),
        (_, Some(forbidden)) if matches.forbidden => rejected(format!("Output contains forbidden: {forbidden}")),
        (_, _) => ReasonedVerdict::new(Verdict::Accepted, "External verification passed"),
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const NO_MATCHES: OutputMatches = OutputMatches { wanted: false, forbidden: false };

    fn make_test_check() -> ExternalCheck {
        ExternalCheck::from_shell_text("make test")
    }

    // spec: V2
    #[test]
    fn the_exit_code_is_checked_first() {
        let wants = ExternalCheck { output_contains: Some("ok".to_string()), ..make_test_check() };
        let expected = ReasonedVerdict::new(Verdict::Rejected, "Command exited with 2, expected 0");
        assert_eq!(evaluate_command(&wants, &CheckEnding::Exited { code: 2 }, NO_MATCHES), expected);
    }

    // spec: V2
    #[test]
    fn wanted_output_is_checked_before_forbidden_output() {
        let both = ExternalCheck {
            output_contains: Some("ok".to_string()),
            output_not_contains: Some("bad".to_string()),
            ..make_test_check()
        };
        let ended = CheckEnding::Exited { code: 0 };
        let evaluate = |wanted, forbidden| evaluate_command(&both, &ended, OutputMatches { wanted, forbidden });
        assert_eq!(evaluate(false, true).reason, "Output doesn't contain: ok");
        assert_eq!(evaluate(true, true).reason, "Output contains forbidden: bad");
        let accepted = ReasonedVerdict::new(Verdict::Accepted, "External verification passed");
        assert_eq!(evaluate(true, false), accepted);
    }

    // spec: V2
    #[test]
    fn the_success_exit_code_can_be_configured() {
        let odd = ExternalCheck { success_exit_code: 3, ..make_test_check() };
        assert_eq!(evaluate_command(&odd, &CheckEnding::Exited { code: 3 }, NO_MATCHES).verdict, Verdict::Accepted);
        assert_eq!(evaluate_command(&odd, &CheckEnding::Exited { code: 0 }, NO_MATCHES).verdict, Verdict::Rejected);
    }

    // spec: V2
    #[test]
    fn a_timed_out_check_is_a_failed_check() {
        let expected = ReasonedVerdict::new(Verdict::Rejected, "Command timed out after 300s");
        assert_eq!(evaluate_command(&make_test_check(), &CheckEnding::TimedOut, NO_MATCHES), expected);
        let short = ExternalCheck { timeout_ms: 1_500, ..make_test_check() };
        let timed_out = evaluate_command(&short, &CheckEnding::TimedOut, NO_MATCHES);
        assert_eq!(timed_out.reason, "Command timed out after 1500ms");
    }

    #[test]
    fn a_command_that_cannot_run_is_not_a_verified_failure() {
        for code in [126, 127] {
            let result = evaluate_command(&make_test_check(), &CheckEnding::Exited { code }, NO_MATCHES);
            assert_eq!(result.verdict, Verdict::CouldNotEvaluate);
        }
        let not_started = CheckEnding::NotStarted { why: "no shell".to_string() };
        assert_eq!(evaluate_command(&make_test_check(), &not_started, NO_MATCHES).verdict, Verdict::CouldNotEvaluate);
        let killed = CheckEnding::Signalled { signal: 9 };
        assert_eq!(evaluate_command(&make_test_check(), &killed, NO_MATCHES).verdict, Verdict::CouldNotEvaluate);
    }
}
