//! What Copilot writes into a file when it ends, because its stream does not tell it: tokens by model, over the whole
//! session. Money is not in it: it counts requests and credits of GitHub's.
use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
struct CopilotUsageFile {
    #[serde(rename = "modelMetrics")]
    models: BTreeMap<String, CopilotModelMetrics>,
}

#[derive(Deserialize)]
struct CopilotModelMetrics {
    usage: CopilotTokenUsage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CopilotTokenUsage {
    input_tokens: u64,
    output_tokens: u64,
}

/// Returns the tokens of all models. A file that is none, or names no model, says nothing.
pub(super) fn read_token_totals(file: &[u8]) -> Option<(u64, u64)> {
    let CopilotUsageFile { models } = serde_json::from_slice(file).ok()?;
    let each = models.into_values().map(|CopilotModelMetrics { usage }| (usage.input_tokens, usage.output_tokens));
    each.reduce(|(input, output), more| (input.saturating_add(more.0), output.saturating_add(more.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A5, L8
    fn tokens_of_all_models_are_summed_and_an_invalid_file_is_ignored() {
        let model = |input: u64| {
            format!(
                r#"{{"requests":{{"cost":0}},"usage":{{"inputTokens":{input},"outputTokens":7,"cacheReadTokens":3}}}}"#
            )
        };
        let two = format!(r#"{{ "totalNanoAiu": 0, "modelMetrics": {{ "a": {}, "b": {} }} }}"#, model(200), model(5));
        assert_eq!(read_token_totals(two.as_bytes()), Some((205, 14)));
        let huge = format!(r#"{{"modelMetrics":{{"a":{},"b":{}}}}}"#, model(u64::MAX), model(1));
        assert_eq!(read_token_totals(huge.as_bytes()), Some((u64::MAX, 14)));
        let none = [
            "",
            "{}",
            r#"{"modelMetrics":{}}"#,
            r#"{"modelMetrics":[]}"#,
            r#"{"modelMetrics":{"a":{"usage":{"inputTokens":-1,"outputTokens":1}}}}"#,
            r#"{"modelMetrics":{"a":{"usage":{"inputTokens":1"#,
            "\u{0}",
        ];
        for file in none {
            assert_eq!(read_token_totals(file.as_bytes()), None, "{file}");
        }
    }
}
