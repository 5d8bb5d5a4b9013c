//! What a run cost. `total_cost_usd` grows over a whole resumed session in newer versions, so the usage since
//! the last result is preferred; older versions do not have it, and count each process from zero.
use crate::event::AgentEvent;
use ralph_util::json::{self, Cursor, Raw};

#[derive(Debug, Default)]
pub(super) struct Spend {
    total_cost: f64,
}

/// The sum over all models of one result.
#[derive(Default)]
struct Sum {
    input: u64,
    output: u64,
    cost: f64,
}

impl Spend {
    /// Reads a `result` record and returns what it adds to what earlier ones said.
    pub(super) fn of_result(&mut self, line: &[u8]) -> Option<AgentEvent> {
        let keys = ["total_cost_usd", "usage", "model_usage_since_last_result"];
        let [total, usage, since_last] = json::pick_in(Some(line), keys);
        let from_total = json::amount(total).map(|total| {
            let added = (total - self.total_cost).max(0.0);
            self.total_cost = self.total_cost.max(total);
            added
        });
        let by_model = since_last.and_then(sum_of_models);
        let [input, output] = json::pick_in(usage, ["input_tokens", "output_tokens"]);
        let (input, output) = match &by_model {
            Some(sum) if sum.input + sum.output > 0 => (Some(sum.input), Some(sum.output)),
            Some(_) | None => (json::count(input), json::count(output)),
        };
        let cost_usd = by_model.map(|sum| sum.cost).or(from_total);
        let known = input.is_some() || output.is_some() || cost_usd.is_some();
        known.then_some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd })
    }
}

/// Adds up the models, sub-agents' included. A model without a cost makes the whole unknown.
fn sum_of_models(models: Raw<'_>) -> Option<Sum> {
    let mut sum = Some(Sum::default());
    let read = Cursor::new(models).object(|cursor, _| {
        let keys = ["inputTokens", "outputTokens", "costUSD"];
        let [input, output, cost] = json::pick_in(Some(cursor.raw()?), keys);
        sum = sum.take().zip(json::amount(cost)).map(|(sum, cost)| Sum {
            input: sum.input.saturating_add(json::count(input).unwrap_or(0)),
            output: sum.output.saturating_add(json::count(output).unwrap_or(0)),
            cost: sum.cost + cost,
        });
        Ok(())
    });
    read.ok().and(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: Option<u64>, output: Option<u64>, cost_usd: Option<f64>) -> Option<AgentEvent> {
        Some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd })
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_pays_only_for_what_is_new() {
        let line = br#"{"total_cost_usd":0.75,"usage":{"input_tokens":5,"output_tokens":6},
            "model_usage_since_last_result":{"a":{"inputTokens":10,"outputTokens":2,"costUSD":0.25},
            "b":{"inputTokens":1,"outputTokens":1,"costUSD":0.25}}}"#;
        assert_eq!(Spend::default().of_result(line), usage(Some(11), Some(3), Some(0.5)));
    }

    #[test] // spec: A5, L8
    fn a_growing_total_is_reported_by_its_differences() {
        let mut spend = Spend::default();
        assert_eq!(spend.of_result(br#"{"total_cost_usd":0.25}"#), usage(None, None, Some(0.25)));
        assert_eq!(spend.of_result(br#"{"total_cost_usd":0.75}"#), usage(None, None, Some(0.5)));
    }

    #[test] // spec: L8
    fn an_unknown_cost_is_not_zero() {
        assert_eq!(Spend::default().of_result(br#"{"result":"x"}"#), None);
        let line = br#"{"usage":{"input_tokens":5,"output_tokens":6}}"#;
        assert_eq!(Spend::default().of_result(line), usage(Some(5), Some(6), None));
        let line = br#"{"model_usage_since_last_result":{"m":{"inputTokens":1}}}"#;
        assert_eq!(Spend::default().of_result(line), None);
    }
}
