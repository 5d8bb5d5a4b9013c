//! What a turn cost. Agents tell its tokens in one of three places, and the cost of the whole session, if at all.
use super::message::{Answer, Cost, Tokens, Update};
use crate::event::AgentEvent;
use crate::parser::Before;
use ralph_util::json;

#[derive(Debug, Default)]
pub(super) struct Books {
    /// What pieces of the answer told of themselves.
    pieces: Option<(u64, u64)>,
    session_cost: SessionCost,
}

/// What the session had cost when it was last told.
#[derive(Debug)]
enum SessionCost {
    Known(f64),
    /// It is resumed, and nobody knows.
    Unknown,
}

impl Default for SessionCost {
    fn default() -> Self {
        Self::Known(0.0)
    }
}

impl Books {
    pub(super) fn continue_from(&mut self, before: Before) {
        self.session_cost = before.cost_usd.map_or(SessionCost::Unknown, SessionCost::Known);
    }

    /// Notes the tokens of a piece, and returns what the session has cost since it was last told.
    pub(super) fn note(&mut self, update: &Update<'_>) -> Option<AgentEvent> {
        if let Some((input, output)) = update.meta.and_then(|meta| meta.usage).and_then(|usage| sum(&usage)) {
            let (before, after) = self.pieces.unwrap_or_default();
            self.pieces = Some((before.saturating_add(input), after.saturating_add(output)));
        }
        let total = dollars(&update.cost?)?;
        let known = std::mem::replace(&mut self.session_cost, SessionCost::Known(total));
        match known {
            SessionCost::Known(before) if total > before => {
                let cost_usd = Some(total - before);
                Some(AgentEvent::Usage { input_tokens: None, output_tokens: None, cost_usd })
            }
            SessionCost::Known(_) | SessionCost::Unknown => None,
        }
    }

    /// Returns the tokens of a turn that has ended.
    pub(super) fn close(&mut self, answer: &Answer<'_>) -> Option<AgentEvent> {
        let meta = answer.meta.unwrap_or_default();
        let told = answer.usage.as_ref().and_then(sum);
        let told = told.or_else(|| meta.quota?.tokens.as_ref().and_then(sum));
        let told = told.or_else(|| meta.usage.as_ref().and_then(sum));
        let (input, output) = told.or(self.pieces.take())?;
        Some(AgentEvent::Usage { input_tokens: Some(input), output_tokens: Some(output), cost_usd: None })
    }
}

fn sum(tokens: &Tokens<'_>) -> Option<(u64, u64)> {
    let input = json::count(tokens.input).or_else(|| json::count(tokens.input_snake))?;
    let output = json::count(tokens.output).or_else(|| json::count(tokens.output_snake))?;
    Some((input, output))
}

fn dollars(cost: &Cost<'_>) -> Option<f64> {
    let is_dollars = matches!(json::name(cost.currency), "USD" | "");
    is_dollars.then(|| json::amount(cost.amount)).flatten()
}
