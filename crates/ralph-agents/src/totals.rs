//! Tokens of agents that count over a whole session. What an attempt used is what was added.
use super::event::AgentEvent;
use super::parser::Before;

#[derive(Debug)]
pub(super) struct Totals {
    input: Option<u64>,
    output: Option<u64>,
}

impl Default for Totals {
    fn default() -> Self {
        Self { input: Some(0), output: Some(0) }
    }
}

impl Totals {
    /// Takes over what the session had used before.
    pub(super) fn continue_from(&mut self, before: Before) {
        *self = Self { input: before.input_tokens, output: before.output_tokens };
    }

    /// Takes the new totals, and returns what they add. What nobody knows to start from adds an unknown number.
    pub(super) fn grown_to(&mut self, input: Option<u64>, output: Option<u64>) -> Option<AgentEvent> {
        let added = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let (input_tokens, output_tokens) = (added(input, self.input), added(output, self.output));
        self.input = input.or(self.input);
        self.output = output.or(self.output);
        let known = input_tokens.is_some() || output_tokens.is_some();
        known.then_some(AgentEvent::Usage { input_tokens, output_tokens, cost_usd: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: Option<u64>, output: Option<u64>) -> Option<AgentEvent> {
        Some(AgentEvent::Usage { input_tokens: input, output_tokens: output, cost_usd: None })
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_pays_only_for_what_is_new() {
        let mut totals = Totals::default();
        totals.continue_from(Before {
            input_tokens: Some(100),
            output_tokens: Some(20),
            ..Before::default()
        });
        assert_eq!(totals.grown_to(Some(250), Some(25)), usage(Some(150), Some(5)));
        assert_eq!(totals.grown_to(Some(260), None), usage(Some(10), None));
    }

    #[test] // spec: A5, L8
    fn what_nobody_knows_to_start_from_is_unknown_and_not_everything() {
        let mut totals = Totals::default();
        totals.continue_from(Before::default());
        assert_eq!(totals.grown_to(Some(250), Some(25)), None);
        assert_eq!(totals.grown_to(Some(300), Some(26)), usage(Some(50), Some(1)));
    }
}
