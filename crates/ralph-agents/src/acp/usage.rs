//! What a turn cost. Agents tell its tokens in one of three places, and the cost of the whole session, if at all.
use super::message::{AcpCost, AcpResponse, AcpSessionUpdate, AcpTokenUsage};
use crate::event::AgentEvent;
use crate::parser::PriorUsage;
use ralph_util::json;

#[derive(Debug, Default)]
pub(super) struct AcpUsageTracker {
    /// What pieces of the answer told of themselves.
    chunk_tokens: Option<(u64, u64)>,
    session_cost: AcpSessionCost,
}

/// What the session had cost when it was last told.
#[derive(Debug)]
enum AcpSessionCost {
    Known(f64),
    /// It is resumed, and nobody knows.
    Unknown,
}

impl Default for AcpSessionCost {
    fn default() -> Self {
        Self::Known(0.0)
    }
}

impl AcpUsageTracker {
    pub(super) fn continue_from(&mut self, before: PriorUsage) {
        self.session_cost = before.cost_usd.map_or(AcpSessionCost::Unknown, AcpSessionCost::Known);
    }

    /// Notes the tokens of a piece, and returns what the session has cost since it was last told.
    pub(super) fn record_update(&mut self, update: &AcpSessionUpdate<'_>) -> Option<AgentEvent> {
        if let Some((input, output)) = update.meta.and_then(|meta| meta.usage).and_then(|usage| token_counts(&usage)) {
            let (before, after) = self.chunk_tokens.unwrap_or_default();
            self.chunk_tokens = Some((before.saturating_add(input), after.saturating_add(output)));
        }
        let total = cost_in_usd(&update.cost?)?;
        let known = std::mem::replace(&mut self.session_cost, AcpSessionCost::Known(total));
        match known {
            AcpSessionCost::Known(before) if total > before => {
                let cost_usd = Some(total - before);
                Some(AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd })
            }
            AcpSessionCost::Known(_) | AcpSessionCost::Unknown => None,
        }
    }

    /// Returns the tokens of a turn that has ended.
    pub(super) fn finish_turn(&mut self, answer: &AcpResponse<'_>) -> Option<AgentEvent> {
        let meta = answer.meta.unwrap_or_default();
        let told = answer.usage.as_ref().and_then(token_counts);
        let told = told.or_else(|| meta.quota?.tokens.as_ref().and_then(token_counts));
        let told = told.or_else(|| meta.usage.as_ref().and_then(token_counts));
        let (input, output) = told.or(self.chunk_tokens.take())?;
        Some(AgentEvent::Usage { input_tokens: Some(input), output_tokens: Some(output), cost_usd: None })
    }
}

fn token_counts(tokens: &AcpTokenUsage<'_>) -> Option<(u64, u64)> {
    let input = json::parse_u64(tokens.input).or_else(|| json::parse_u64(tokens.input_snake))?;
    let output = json::parse_u64(tokens.output).or_else(|| json::parse_u64(tokens.output_snake))?;
    Some((input, output))
}

fn cost_in_usd(cost: &AcpCost<'_>) -> Option<f64> {
    let is_dollars = matches!(json::as_name(cost.currency), "USD" | "");
    is_dollars.then(|| json::parse_amount(cost.amount)).flatten()
}
