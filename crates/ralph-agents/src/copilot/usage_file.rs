//! The usage file that Copilot writes when it exits: tokens per model for the whole session. It contains no cost in
//! dollars, only GitHub requests and credits.
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

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CopilotTokenUsage {
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
}

/// Returns the tokens of all models. Returns `None` for a malformed file or one without models.
pub(crate) fn read_token_totals(file: &[u8]) -> Option<CopilotTokenUsage> {
    let CopilotUsageFile { models } = serde_json::from_slice(file).ok()?;
    models.into_values().map(|metrics| metrics.usage).reduce(|sum, usage| CopilotTokenUsage {
        input_tokens: sum.input_tokens.saturating_add(usage.input_tokens),
        output_tokens: sum.output_tokens.saturating_add(usage.output_tokens),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A5, L8
    fn tokens_of_all_models_are_summed_and_an_invalid_file_is_ignored() {
        let totals = |input_tokens, output_tokens| Some(CopilotTokenUsage { input_tokens, output_tokens });
        let model = |input: u64| {
            format!(
                r#"{{"requests":{{"cost":0}},"usage":{{"inputTokens":{input},"outputTokens":7,"cacheReadTokens":3}}}}"#
            )
        };
        let two = format!(r#"{{ "totalNanoAiu": 0, "modelMetrics": {{ "a": {}, "b": {} }} }}"#, model(200), model(5));
        assert_eq!(read_token_totals(two.as_bytes()), totals(205, 14));
        let huge = format!(r#"{{"modelMetrics":{{"a":{},"b":{}}}}}"#, model(u64::MAX), model(1));
        assert_eq!(read_token_totals(huge.as_bytes()), totals(u64::MAX, 14));
        let invalid = [
            "",
            "{}",
            r#"{"modelMetrics":{}}"#,
            r#"{"modelMetrics":[]}"#,
            r#"{"modelMetrics":{"a":{"usage":{"inputTokens":-1,"outputTokens":1}}}}"#,
            r#"{"modelMetrics":{"a":{"usage":{"inputTokens":1"#,
            "\u{0}",
        ];
        for file in invalid {
            assert_eq!(read_token_totals(file.as_bytes()), None, "{file}");
        }
    }
}
