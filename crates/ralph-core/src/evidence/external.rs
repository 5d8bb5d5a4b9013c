//! What the run of a check's command says.
use alloc::format;
use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};

use super::Verdict;
use crate::criterion::ExternalCheck;
use crate::text::describe_signal;

/// What happened when a check's command ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum CheckEnding {
    Exited { code: i32 },
    Signalled { signal: i32 },
    TimedOut,
    NotStarted { why: String },
}

/// Tells which of the texts that a check looks for were seen in the whole output, stdout and stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputMatches {
    pub wanted: bool,
    pub forbidden: bool,
}

/// Returns verdict and reason for one run of a check's command.
#[must_use]
pub fn evaluate_command(check: &ExternalCheck, ending: &CheckEnding, matches: OutputMatches) -> (Verdict, String) {
    match ending {
        CheckEnding::NotStarted { why } => (Verdict::CouldNotEvaluate, format!("Command failed: {why}")),
        CheckEnding::TimedOut => {
            (Verdict::Rejected, format!("Command timed out after {}", format_time_limit(check.timeout_ms)))
        }
        CheckEnding::Signalled { signal } => {
            (Verdict::CouldNotEvaluate, format!("Command failed: killed by {}", describe_signal(*signal)))
        }
        CheckEnding::Exited { code } => evaluate_exit_code(check, *code, matches),
    }
}

/// Writes a time limit: in whole seconds where it can.
fn format_time_limit(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

fn evaluate_exit_code(check: &ExternalCheck, code: i32, matches: OutputMatches) -> (Verdict, String) {
    let expected = check.success_exit_code;
    if code != expected {
        return match code {
            // The shell's own words for "cannot execute" and "not found".
            126 | 127 => (Verdict::CouldNotEvaluate, format!("Command could not run: exit code {code}")),
            code => (Verdict::Rejected, format!("Command exited with {code}, expected {expected}")),
        };
    }
    match (&check.output_contains, &check.output_not_contains) {
        (Some(wanted), _) if !matches.wanted => (Verdict::Rejected, format!("Output doesn't contain: {wanted}")),
        (_, Some(forbidden)) if matches.forbidden => {
            (Verdict::Rejected, format!("Output contains forbidden: {forbidden}"))
        }
        (_, _) => (Verdict::Accepted, "External verification passed".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_MATCHES: OutputMatches = OutputMatches { wanted: false, forbidden: false };

    fn make_test_check() -> ExternalCheck {
        ExternalCheck::from_shell_text("make test")
    }

    // spec: V2
    #[test]
    fn the_exit_code_is_checked_first() {
        let wants = ExternalCheck { output_contains: Some("ok".to_string()), ..make_test_check() };
        let (verdict, reason) = evaluate_command(&wants, &CheckEnding::Exited { code: 2 }, NO_MATCHES);
        assert_eq!((verdict, reason.as_str()), (Verdict::Rejected, "Command exited with 2, expected 0"));
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
        let seen = |wanted, forbidden| evaluate_command(&both, &ended, OutputMatches { wanted, forbidden });
        assert_eq!(seen(false, true).1, "Output doesn't contain: ok");
        assert_eq!(seen(true, true).1, "Output contains forbidden: bad");
        assert_eq!(seen(true, false), (Verdict::Accepted, "External verification passed".to_string()));
    }

    // spec: V2
    #[test]
    fn another_exit_code_can_be_the_success() {
        let odd = ExternalCheck { success_exit_code: 3, ..make_test_check() };
        assert_eq!(evaluate_command(&odd, &CheckEnding::Exited { code: 3 }, NO_MATCHES).0, Verdict::Accepted);
        assert_eq!(evaluate_command(&odd, &CheckEnding::Exited { code: 0 }, NO_MATCHES).0, Verdict::Rejected);
    }

    // spec: V2
    #[test]
    fn a_timed_out_check_is_a_failed_check() {
        let (verdict, reason) = evaluate_command(&make_test_check(), &CheckEnding::TimedOut, NO_MATCHES);
        assert_eq!((verdict, reason.as_str()), (Verdict::Rejected, "Command timed out after 300s"));
        let short = ExternalCheck { timeout_ms: 1_500, ..make_test_check() };
        let (_, reason) = evaluate_command(&short, &CheckEnding::TimedOut, NO_MATCHES);
        assert_eq!(reason, "Command timed out after 1500ms");
    }

    #[test]
    fn a_command_that_cannot_run_is_not_a_verified_failure() {
        for code in [126, 127] {
            let (verdict, _) = evaluate_command(&make_test_check(), &CheckEnding::Exited { code }, NO_MATCHES);
            assert_eq!(verdict, Verdict::CouldNotEvaluate);
        }
        let unspawned = CheckEnding::NotStarted { why: "no shell".to_string() };
        assert_eq!(evaluate_command(&make_test_check(), &unspawned, NO_MATCHES).0, Verdict::CouldNotEvaluate);
        let shot = CheckEnding::Signalled { signal: 9 };
        assert_eq!(evaluate_command(&make_test_check(), &shot, NO_MATCHES).0, Verdict::CouldNotEvaluate);
    }
}
