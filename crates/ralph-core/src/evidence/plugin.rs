//! What the answer of a plugin is worth.
use alloc::format;
use alloc::string::{String, ToString};

use serde::Deserialize;

use super::{CheckEnding, Verdict};
use crate::text::signal_words;

/// A longer answer is none.
pub const LONGEST_ANSWER: usize = 64 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    verdict: Verdict,
    reason: String,
}

/// Returns verdict and reason: those of the plugin, if it ended well and gave them, and nothing else.
#[must_use]
pub fn judge_plugin(ending: &CheckEnding, printed: &[u8]) -> (Verdict, String) {
    let blind = |why: String| (Verdict::CouldNotEvaluate, format!("Plugin failed: {why}"));
    match ending {
        CheckEnding::NotStarted { why } => blind(why.clone()),
        CheckEnding::TimedOut => blind("it took too long, and was killed".to_string()),
        CheckEnding::Signalled { signal } => blind(format!("killed by {}", signal_words(*signal))),
        CheckEnding::Exited { code: 0 } => answer(printed).unwrap_or_else(blind),
        CheckEnding::Exited { code } => blind(format!("it ended with exit code {code}")),
    }
}

fn answer(printed: &[u8]) -> Result<(Verdict, String), String> {
    if printed.len() > LONGEST_ANSWER {
        return Err("its answer is too long".to_string());
    }
    let form = r#"{"verdict": "accepted", "reason": "..."}"#;
    let Answer { verdict, reason } = serde_json::from_slice(printed)
        .map_err(|error| format!("its answer is not {form} on standard output: {error}"))?;
    Ok((verdict, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: CheckEnding = CheckEnding::Exited { code: 0 };
    const ACCEPTED: &str = r#"{"verdict":"accepted","reason":"looks right"}"#;

    // spec: V5
    #[test]
    fn a_plugin_that_ends_well_is_believed() {
        assert_eq!(judge_plugin(&FINE, ACCEPTED.as_bytes()), (Verdict::Accepted, "looks right".to_string()));
        let rejected = br#" {"reason":"no", "verdict":"rejected"} "#;
        assert_eq!(judge_plugin(&FINE, rejected), (Verdict::Rejected, "no".to_string()));
        let blind = br#"{"verdict":"could_not_evaluate","reason":"no network"}"#;
        assert_eq!(judge_plugin(&FINE, blind).0, Verdict::CouldNotEvaluate);
    }

    // spec: V5
    #[test]
    fn anything_else_that_a_plugin_prints_or_does_is_no_verdict() {
        let long = format!("{ACCEPTED}{}", " ".repeat(LONGEST_ANSWER));
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
            assert_eq!(judge_plugin(&FINE, printed).0, Verdict::CouldNotEvaluate);
        }
        let endings = [
            CheckEnding::Exited { code: 1 },
            CheckEnding::Signalled { signal: 9 },
            CheckEnding::TimedOut,
            CheckEnding::NotStarted { why: "it is not there".to_string() },
        ];
        for ending in endings {
            assert_eq!(judge_plugin(&ending, ACCEPTED.as_bytes()).0, Verdict::CouldNotEvaluate);
        }
    }
}
