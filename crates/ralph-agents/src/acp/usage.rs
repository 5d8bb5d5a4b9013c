//! Tokens and cost of a turn. Agents report tokens in one of three places, and optionally the cost of the whole
//! session.
use super::message::{AcpCost, AcpResponse, AcpSessionUpdate, AcpTokenUsage};
use crate::stream::event::AgentEvent;
use crate::stream::parser::PriorUsage;
use ralph_util::json;

#[derive(Debug, Default)]
pub(crate) struct AcpUsageTracker {
    /// The sum of the tokens that were reported with pieces of the answer.
    chunk_tokens: Option<TokenCounts>,
    session_cost: AcpSessionCost,
}

#[derive(Debug, Default, Clone, Copy)]
struct TokenCounts {
    input: u64,
    output: u64,
}

/// The last reported cost of the session.
#[derive(Debug)]
enum AcpSessionCost {
    Known(f64),
    /// The session was resumed and its earlier cost is unknown.
    Unknown,
}

impl Default for AcpSessionCost {
    fn default() -> Self {
        Self::Known(0.0)
    }
}

impl AcpUsageTracker {
    pub(crate) fn continue_from(&mut self, before: PriorUsage) {
        self.session_cost = before.cost_usd.map_or(AcpSessionCost::Unknown, AcpSessionCost::Known);
    }

    /// Adds the tokens of a piece, and returns the increase of the session's cost.
    pub(crate) fn record_update(&mut self, update: &AcpSessionUpdate<'_>) -> Option<AgentEvent> {
        if let Some(added) = update.meta.and_then(|meta| meta.usage).and_then(|usage| token_counts(&usage)) {
            let sum = self.chunk_tokens.unwrap_or_default();
            self.chunk_tokens = Some(TokenCounts {
                input: sum.input.saturating_add(added.input),
                output: sum.output.saturating_add(added.output),
            });
        }
        let total = cost_in_usd(&update.cost?)?;
        let previous = std::mem::replace(&mut self.session_cost, AcpSessionCost::Known(total));
        match previous {
            AcpSessionCost::Known(before) if total > before => {
                let cost_usd = Some(total - before);
                Some(AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd })
            }
            AcpSessionCost::Known(_) | AcpSessionCost::Unknown => None,
        }
    }

    /// Returns the tokens of a turn that has ended.
    pub(crate) fn finish_turn(&mut self, response: &AcpResponse<'_>) -> Option<AgentEvent> {
        let meta = response.meta.unwrap_or_default();
        let reported = response.usage.as_ref().and_then(token_counts);
        let reported = reported.or_else(|| meta.quota?.tokens.as_ref().and_then(token_counts));
        let reported = reported.or_else(|| meta.usage.as_ref().and_then(token_counts));
        let TokenCounts { input, output } = reported.or(self.chunk_tokens.take())?;
        Some(AgentEvent::Usage { input_tokens: Some(input), output_tokens: Some(output), cost_usd: None })
    }
}

fn token_counts(tokens: &AcpTokenUsage<'_>) -> Option<TokenCounts> {
    let input = json::parse_u64(tokens.input).or_else(|| json::parse_u64(tokens.input_snake))?;
    let output = json::parse_u64(tokens.output).or_else(|| json::parse_u64(tokens.output_snake))?;
    Some(TokenCounts { input, output })
}

fn cost_in_usd(cost: &AcpCost<'_>) -> Option<f64> {
    let is_dollars = matches!(json::as_name(cost.currency), "USD" | "");
    is_dollars.then(|| json::parse_amount(cost.amount)).flatten()
}
