//! Usage and cost of a result. In newer versions `total_cost_usd` accumulates over a resumed session, so the usage
//! since the last result is preferred. Older versions do not report it and start each process from zero.
use crate::stream::event::AgentEvent;
use ralph_util::json::{self, JsonCursor, RawJson};

#[derive(Debug, Default)]
pub(crate) struct ClaudeUsageTracker {
    last_total_cost: f64,
}

/// The usage of one result, summed over all models.
#[derive(Default)]
struct ClaudeUsageSum {
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
}

impl ClaudeUsageTracker {
    /// Reads a `result` record and returns the increase since the previous results.
    pub(crate) fn usage_from_result(&mut self, line: &[u8]) -> Option<AgentEvent> {
        let keys = ["total_cost_usd", "usage", "model_usage_since_last_result"];
        let [total, usage, since_last] = json::pick_members_or_none(Some(line), keys);
        let from_total = json::parse_amount(total).map(|total| {
            let added = (total - self.last_total_cost).max(0.0);
            self.last_total_cost = self.last_total_cost.max(total);
            added
        });
        let by_model = since_last.and_then(sum_model_usage);
        let [input, output] = json::pick_members_or_none(usage, ["input_tokens", "output_tokens"]);
        let (input, output) = match &by_model {
            Some(sum) if sum.input_tokens + sum.output_tokens > 0 => (Some(sum.input_tokens), Some(sum.output_tokens)),
            Some(_) | None => (json::parse_u64(input), json::parse_u64(output)),
        };
        let cost_usd = by_model.map(|sum| sum.cost_usd).or(from_total);
        let known = input.is_some() || output.is_some() || cost_usd.is_some();
        known.then_some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd })
    }
}

/// Sums the usage of all models, including those of sub-agents. Returns `None` if a model has no cost.
fn sum_model_usage(models: RawJson<'_>) -> Option<ClaudeUsageSum> {
    let mut sum = Some(ClaudeUsageSum::default());
    let read = JsonCursor::new(models).visit_object(|cursor, _| {
        let keys = ["inputTokens", "outputTokens", "costUSD"];
        let [input, output, cost] = json::pick_members_or_none(Some(cursor.take_raw()?), keys);
        sum = sum.take().zip(json::parse_amount(cost)).map(|(sum, cost)| ClaudeUsageSum {
            input_tokens: sum.input_tokens.saturating_add(json::parse_u64(input).unwrap_or(0)),
            output_tokens: sum.output_tokens.saturating_add(json::parse_u64(output).unwrap_or(0)),
            cost_usd: sum.cost_usd + cost,
        });
        Ok(())
    });
    read.ok().and(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_event(input: Option<u64>, output: Option<u64>, cost_usd: Option<f64>) -> Option<AgentEvent> {
        Some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd })
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_reports_only_new_usage() {
        let line = br#"{"total_cost_usd":0.75,"usage":{"input_tokens":5,"output_tokens":6},
            "model_usage_since_last_result":{"a":{"inputTokens":10,"outputTokens":2,"costUSD":0.25},
            "b":{"inputTokens":1,"outputTokens":1,"costUSD":0.25}}}"#;
        assert_eq!(ClaudeUsageTracker::default().usage_from_result(line), usage_event(Some(11), Some(3), Some(0.5)));
    }

    #[test] // spec: A5, L8
    fn a_growing_total_is_reported_as_increments() {
        let mut tracker = ClaudeUsageTracker::default();
        assert_eq!(tracker.usage_from_result(br#"{"total_cost_usd":0.25}"#), usage_event(None, None, Some(0.25)));
        assert_eq!(tracker.usage_from_result(br#"{"total_cost_usd":0.75}"#), usage_event(None, None, Some(0.5)));
    }

    #[test] // spec: L8
    fn an_unknown_cost_is_not_zero() {
        assert_eq!(ClaudeUsageTracker::default().usage_from_result(br#"{"result":"x"}"#), None);
        let line = br#"{"usage":{"input_tokens":5,"output_tokens":6}}"#;
        assert_eq!(ClaudeUsageTracker::default().usage_from_result(line), usage_event(Some(5), Some(6), None));
        let line = br#"{"model_usage_since_last_result":{"m":{"inputTokens":1}}}"#;
        assert_eq!(ClaudeUsageTracker::default().usage_from_result(line), None);
    }
}
