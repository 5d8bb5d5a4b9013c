//! What the answer of a plugin is worth.
use alloc::format;
use alloc::string::{String, ToString};

use serde::Deserialize;

use super::{CheckEnding, Verdict};
use crate::text::describe_signal;

/// A longer answer is none.
pub const MAX_PLUGIN_ANSWER_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PluginAnswer {
    verdict: Verdict,
    reason: String,
}

/// Returns verdict and reason: those of the plugin, if it ended well and gave them, and nothing else.
#[must_use]
pub fn evaluate_plugin(ending: &CheckEnding, stdout: &[u8]) -> (Verdict, String) {
    let blind = |why: String| (Verdict::CouldNotEvaluate, format!("Plugin failed: {why}"));
    match ending {
        CheckEnding::NotStarted { why } => blind(why.clone()),
        CheckEnding::TimedOut => blind("it took too long, and was killed".to_string()),
        CheckEnding::Signalled { signal } => blind(format!("killed by {}", describe_signal(*signal))),
        CheckEnding::Exited { code: 0 } => parse_plugin_answer(stdout).unwrap_or_else(blind),
        CheckEnding::Exited { code } => blind(format!("it ended with exit code {code}")),
    }
}

fn parse_plugin_answer(stdout: &[u8]) -> Result<(Verdict, String), String> {
    if stdout.len() > MAX_PLUGIN_ANSWER_BYTES {
        return Err("its answer is too long".to_string());
    }
    let form = r#"{"verdict": "accepted", "reason": "..."}"#;
    let PluginAnswer { verdict, reason } = serde_json::from_slice(stdout)
        .map_err(|error| format!("its answer is not {form} on standard output: {error}"))?;
    Ok((verdict, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXITED_WITH_ZERO: CheckEnding = CheckEnding::Exited { code: 0 };
    const ACCEPTED_ANSWER: &str = r#"{"verdict":"accepted","reason":"looks right"}"#;

    // spec: V5
    #[test]
    fn a_plugin_that_ends_well_is_believed() {
        assert_eq!(
            evaluate_plugin(&EXITED_WITH_ZERO, ACCEPTED_ANSWER.as_bytes()),
            (Verdict::Accepted, "looks right".to_string())
        );
        let rejected = br#" {"reason":"no", "verdict":"rejected"} "#;
        assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, rejected), (Verdict::Rejected, "no".to_string()));
        let blind = br#"{"verdict":"could_not_evaluate","reason":"no network"}"#;
        assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, blind).0, Verdict::CouldNotEvaluate);
    }

    // spec: V5
    #[test]
    fn anything_else_that_a_plugin_prints_or_does_is_no_verdict() {
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
        for printed in answers {
            assert_eq!(evaluate_plugin(&EXITED_WITH_ZERO, printed).0, Verdict::CouldNotEvaluate);
        }
        let endings = [
            CheckEnding::Exited { code: 1 },
            CheckEnding::Signalled { signal: 9 },
            CheckEnding::TimedOut,
            CheckEnding::NotStarted { why: "it is not there".to_string() },
        ];
        for ending in endings {
            assert_eq!(evaluate_plugin(&ending, ACCEPTED_ANSWER.as_bytes()).0, Verdict::CouldNotEvaluate);
        }
    }
}
