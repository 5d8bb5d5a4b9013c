//! Token totals of agents that report the usage of a whole session. An attempt used the increase.
use crate::stream::event::AgentEvent;
use crate::stream::parser::PriorUsage;

#[derive(Debug)]
pub(crate) struct UsageTotals {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

impl Default for UsageTotals {
    fn default() -> Self {
        Self { input_tokens: Some(0), output_tokens: Some(0) }
    }
}

impl UsageTotals {
    /// Sets the totals to the usage of the session before it was resumed.
    pub(crate) fn continue_from(&mut self, before: PriorUsage) {
        *self = Self { input_tokens: before.input_tokens, output_tokens: before.output_tokens };
    }

    /// Updates the totals and returns the increase, which is unknown if the previous total is unknown.
    pub(crate) fn advance_to(&mut self, input: Option<u64>, output: Option<u64>) -> Option<AgentEvent> {
        let added = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let (input_tokens, output_tokens) = (added(input, self.input_tokens), added(output, self.output_tokens));
        self.input_tokens = input.or(self.input_tokens);
        self.output_tokens = output.or(self.output_tokens);
        let known = input_tokens.is_some() || output_tokens.is_some();
        known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_event(input: Option<u64>, output: Option<u64>) -> Option<AgentEvent> {
        Some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd: None })
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_reports_only_new_usage() {
        let mut totals = UsageTotals::default();
        totals.continue_from(PriorUsage { input_tokens: Some(100), output_tokens: Some(20), ..PriorUsage::default() });
        assert_eq!(totals.advance_to(Some(250), Some(25)), usage_event(Some(150), Some(5)));
        assert_eq!(totals.advance_to(Some(260), None), usage_event(Some(10), None));
    }

    #[test] // spec: A5, L8
    fn an_unknown_starting_total_makes_the_increment_unknown() {
        let mut totals = UsageTotals::default();
        totals.continue_from(PriorUsage::default());
        assert_eq!(totals.advance_to(Some(250), Some(25)), None);
        assert_eq!(totals.advance_to(Some(300), Some(26)), usage_event(Some(50), Some(1)));
    }
}
