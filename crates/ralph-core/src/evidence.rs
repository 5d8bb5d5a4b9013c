//! What the checks saw, and the verdict that follows from it. A verifier brings evidence; the verdict is given
//! here and nowhere else.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::text::signal_words;

/// Three values: "could not evaluate" is neither a pass nor a verified failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Accepted,
    Rejected,
    CouldNotEvaluate,
}

impl Verdict {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
            Self::CouldNotEvaluate => "could_not_evaluate",
        }
    }
}

/// An external command that must succeed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalCheck {
    pub command: String,
    pub success_exit_code: i32,
    pub output_contains: Option<String>,
    pub output_not_contains: Option<String>,
    pub timeout_ms: u64,
}

impl ExternalCheck {
    /// Returns the check that `--check COMMAND` means.
    #[must_use]
    pub fn of_command(command: &str) -> Self {
        Self {
            command: command.to_string(),
            success_exit_code: 0,
            output_contains: None,
            output_not_contains: None,
            timeout_ms: 300_000,
        }
    }
}

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
pub struct Seen {
    pub wanted: bool,
    pub forbidden: bool,
}

/// The evidence of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckEvidence {
    pub command: String,
    pub verdict: Verdict,
    pub reason: String,
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    /// The end of the output, bounded and safe to show.
    pub tail: String,
    /// Where the whole output is, relative to the state folder.
    pub log: String,
    /// Descendants that the command left behind; they were killed.
    pub leftovers: u32,
}

/// Returns verdict and reason for one run of a check's command.
#[must_use]
pub fn judge_check(check: &ExternalCheck, ending: &CheckEnding, seen: Seen) -> (Verdict, String) {
    match ending {
        CheckEnding::NotStarted { why } => (Verdict::CouldNotEvaluate, format!("Command failed: {why}")),
        CheckEnding::TimedOut => {
            (Verdict::Rejected, format!("Command timed out after {}", limit(check.timeout_ms)))
        }
        CheckEnding::Signalled { signal } => {
            (Verdict::CouldNotEvaluate, format!("Command failed: killed by {}", signal_words(*signal)))
        }
        CheckEnding::Exited { code } => judge_exit(check, *code, seen),
    }
}

/// Writes a time limit: in whole seconds where it can.
fn limit(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

fn judge_exit(check: &ExternalCheck, code: i32, seen: Seen) -> (Verdict, String) {
    let expected = check.success_exit_code;
    if code != expected {
        return match code {
            // The shell's own words for "cannot execute" and "not found".
            126 | 127 => (Verdict::CouldNotEvaluate, format!("Command could not run: exit code {code}")),
            code => (Verdict::Rejected, format!("Command exited with {code}, expected {expected}")),
        };
    }
    match (&check.output_contains, &check.output_not_contains) {
        (Some(wanted), _) if !seen.wanted => (Verdict::Rejected, format!("Output doesn't contain: {wanted}")),
        (_, Some(forbidden)) if seen.forbidden => {
            (Verdict::Rejected, format!("Output contains forbidden: {forbidden}"))
        }
        (_, _) => (Verdict::Accepted, "External verification passed".to_string()),
    }
}

/// All that was seen when a claim was verified.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub checks: Vec<CheckEvidence>,
}

impl Evidence {
    /// Gives the verdict: accepted only if there is evidence and all of it accepts. A check that failed
    /// outranks one that could not be evaluated.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if self.checks.is_empty() {
            return Verdict::CouldNotEvaluate;
        }
        let any = |wanted: Verdict| self.checks.iter().any(|check| check.verdict == wanted);
        if any(Verdict::Rejected) {
            Verdict::Rejected
        } else if any(Verdict::CouldNotEvaluate) {
            Verdict::CouldNotEvaluate
        } else {
            Verdict::Accepted
        }
    }

    /// Returns the reason for the verdict, naming the check that decided.
    #[must_use]
    pub fn reason(&self) -> String {
        let verdict = self.verdict();
        match self.checks.iter().find(|check| check.verdict == verdict) {
            None => "there was nothing to check".to_string(),
            Some(_) if verdict == Verdict::Accepted => {
                let count = self.checks.len();
                format!("{count} {} passed", if count == 1 { "check" } else { "checks" })
            }
            Some(check) => format!("`{}`: {}", check.command, check.reason),
        }
    }

    /// Returns the end of the deciding check's output.
    #[must_use]
    pub fn tail(&self) -> &str {
        let verdict = self.verdict();
        self.checks.iter().find(|check| check.verdict == verdict).map_or("", |check| check.tail.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Seen = Seen { wanted: false, forbidden: false };

    fn check() -> ExternalCheck {
        ExternalCheck::of_command("make test")
    }

    fn evidence(verdicts: &[Verdict]) -> Evidence {
        let checks = verdicts.iter().map(|&verdict| CheckEvidence {
            command: "make".to_string(),
            verdict,
            reason: verdict.as_str().to_string(),
            exit_code: None,
            duration_ms: 1,
            tail: String::new(),
            log: String::new(),
            leftovers: 0,
        });
        Evidence { checks: checks.collect() }
    }

    // spec: V2
    #[test]
    fn the_exit_code_is_checked_first() {
        let wants = ExternalCheck { output_contains: Some("ok".to_string()), ..check() };
        let (verdict, reason) = judge_check(&wants, &CheckEnding::Exited { code: 2 }, NOTHING);
        assert_eq!((verdict, reason.as_str()), (Verdict::Rejected, "Command exited with 2, expected 0"));
    }

    // spec: V2
    #[test]
    fn wanted_output_is_checked_before_forbidden_output() {
        let both = ExternalCheck {
            output_contains: Some("ok".to_string()),
            output_not_contains: Some("bad".to_string()),
            ..check()
        };
        let ended = CheckEnding::Exited { code: 0 };
        let seen = |wanted, forbidden| judge_check(&both, &ended, Seen { wanted, forbidden });
        assert_eq!(seen(false, true).1, "Output doesn't contain: ok");
        assert_eq!(seen(true, true).1, "Output contains forbidden: bad");
        assert_eq!(seen(true, false), (Verdict::Accepted, "External verification passed".to_string()));
    }

    // spec: V2
    #[test]
    fn another_exit_code_can_be_the_success() {
        let odd = ExternalCheck { success_exit_code: 3, ..check() };
        assert_eq!(judge_check(&odd, &CheckEnding::Exited { code: 3 }, NOTHING).0, Verdict::Accepted);
        assert_eq!(judge_check(&odd, &CheckEnding::Exited { code: 0 }, NOTHING).0, Verdict::Rejected);
    }

    // spec: V2
    #[test]
    fn a_timed_out_check_is_a_failed_check() {
        let (verdict, reason) = judge_check(&check(), &CheckEnding::TimedOut, NOTHING);
        assert_eq!((verdict, reason.as_str()), (Verdict::Rejected, "Command timed out after 300s"));
        let short = ExternalCheck { timeout_ms: 1_500, ..check() };
        let (_, reason) = judge_check(&short, &CheckEnding::TimedOut, NOTHING);
        assert_eq!(reason, "Command timed out after 1500ms");
    }

    #[test]
    fn a_command_that_cannot_run_is_not_a_verified_failure() {
        for code in [126, 127] {
            let (verdict, _) = judge_check(&check(), &CheckEnding::Exited { code }, NOTHING);
            assert_eq!(verdict, Verdict::CouldNotEvaluate);
        }
        let unspawned = CheckEnding::NotStarted { why: "no shell".to_string() };
        assert_eq!(judge_check(&check(), &unspawned, NOTHING).0, Verdict::CouldNotEvaluate);
        let shot = CheckEnding::Signalled { signal: 9 };
        assert_eq!(judge_check(&check(), &shot, NOTHING).0, Verdict::CouldNotEvaluate);
    }

    #[test]
    fn no_evidence_accepts_nothing() {
        assert_eq!(evidence(&[]).verdict(), Verdict::CouldNotEvaluate);
    }

    #[test]
    fn one_failed_check_rejects_whatever_the_others_say() {
        use Verdict::{Accepted, CouldNotEvaluate, Rejected};
        assert_eq!(evidence(&[Accepted, CouldNotEvaluate, Rejected]).verdict(), Rejected);
        assert_eq!(evidence(&[Accepted, CouldNotEvaluate]).verdict(), CouldNotEvaluate);
        assert_eq!(evidence(&[Accepted, Accepted]).verdict(), Accepted);
        assert_eq!(evidence(&[Accepted, Rejected]).reason(), "`make`: rejected");
        assert_eq!(evidence(&[Accepted, Accepted]).reason(), "2 checks passed");
    }
}
