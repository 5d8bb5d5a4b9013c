//! The verdict on the answer of a plugin.
use alloc::format;
use alloc::string::{String, ToString};

use serde::Deserialize;

use super::{CheckEnding, ReasonedVerdict, Verdict};
use crate::text::describe_signal;

/// A longer answer is an error.
pub const MAX_PLUGIN_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginAnswer {
    verdict: Verdict,
    reason: String,
}

/// Returns the plugin's verdict if it exited with 0 and printed a valid answer; otherwise `CouldNotEvaluate`.
#[must_use]
pub fn evaluate_plugin(ending: &CheckEnding, stdout: &[u8]) -> ReasonedVerdict {
    let failed = |reason: String| ReasonedVerdict::new(Verdict::CouldNotEvaluate, format!("Plugin failed: {reason}"));
    match ending {
        CheckEnding::NotStarted { why } => failed(why.clone()),
        CheckEnding::TimedOut => failed("it timed out and was killed".to_string()),
        CheckEnding::Signalled { signal } => failed(format!("killed by {}", describe_signal(*signal))),
        CheckEnding::Exited { code: 0 } => parse_plugin_answer(stdout).unwrap_or_else(failed),
        CheckEnding::Exited { code } => failed(format!("it exited with code {code}")),
    }
}

fn parse_plugin_answer(stdout: &[u8]) -> Result<ReasonedVerdict, String> {
    if stdout.len() > MAX_PLUGIN_ANSWER_BYTES {
        return Err("its answer is too long".to_string());
    }
    let expected = r#"{"verdict": "accepted", "reason": "..."}"#;
    let PluginAnswer { verdict, reason } =
        serde_json::from_slice(stdout).map_err(|error| format!("its stdout is not {expected}: {error}"))?;
    Ok(ReasonedVerdict { verdict, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXITED_WITH_ZERO: CheckEnding = CheckEnding::Exited { code: 0 };
    const ACCEPTED_ANSWER: &str = r#"{"verdict":"accepted","reason":"looks right"}"#;

    // spec: V5
    #[test]
    fn the_answer_of_a_plugin_that_exits_with_0_is_accepted() {
        assert_eq!(
            evaluate_plugin(&EXITED_WITH_ZERO, ACCEPTED_ANSWER.as_bytes()),
            ReasonedVerdict::new(Verdict::Accepted, "looks right")
        );
        let rejected = br#" {"reason":"no", "verdict":"rejected"} "#;
        assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, rejected), ReasonedVerdict::new(Verdict::Rejected, "no"));
        let undecided = br#"{"verdict":"could_not_evaluate","reason":"no network"}"#;
        assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, undecided).verdict, Verdict::CouldNotEvaluate);
    }

    // spec: V5
    #[test]
    fn the_longest_answer_of_a_plugin_has_64_kibibytes() {
        let padded = |length: usize| format!("{ACCEPTED_ANSWER}{}", " ".repeat(length - ACCEPTED_ANSWER.len()));
        assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, padded(65_536).as_bytes()).verdict, Verdict::Accepted);
        let too_long = evaluate_plugin(&EXITED_WITH_ZERO, padded(65_537).as_bytes());
        assert_eq!(too_long, ReasonedVerdict::new(Verdict::CouldNotEvaluate, "Plugin failed: its answer is too long"));
    }

    // spec: V5
    #[test]
    fn any_other_output_or_exit_of_a_plugin_cannot_be_evaluated() {
        let long = format!("{ACCEPTED_ANSWER}{}", " ".repeat(MAX_PLUGIN_ANSWER_BYTES));
        let answers: [&[u8]; 9] = [
            b"",
            b"accepted",
            b"true",
            br#"{"verdict":"accepted"}"#,
            br#"{"verdict":"yes","reason":""}"#,
            br#"{"verdict":"accepted","reason":"","score":1}"#,
            br#"{"verdict":"accepted","reason":""} and more"#,
            b"\xff\xfe{}",
            long.as_bytes(),
        ];
        for stdout in answers {
            assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, stdout).verdict, Verdict::CouldNotEvaluate);
        }
        let endings = [
            CheckEnding::Exited { code: 1 },
            CheckEnding::Signalled { signal: 9 },
            CheckEnding::TimedOut,
            CheckEnding::NotStarted { why: "it is not there".to_string() },
        ];
        for ending in endings {
            assert_eq!(evaluate_plugin(&ending, ACCEPTED_ANSWER.as_bytes()).verdict, Verdict::CouldNotEvaluate);
        }
    }
}
