//! Reads the events of one iteration and reports at its end what the agent claims. Only the tail of a message is
//! buffered, so memory use does not depend on the amount of output.

use super::message::code_block::CodeBlockScanner;
use super::message::message_tail::{MessageExcerpt, MessageTail};
use super::rules::evaluate::{MessageOutcome, evaluate_message};
use super::rules::prompt_echo::PromptEcho;
use super::tool_signal::SignalCallTracker;
use super::{Claim, ClaimReading, ClaimRules, ClaimScope, NoClaimReason, SignalCall};

/// One event of the agent's transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptEvent<'a> {
    /// Text that the agent wrote. The same `message` number continues the current message, a different number starts
    /// a new one.
    AgentText {
        /// The number of the message.
        message: u64,
        /// The text.
        text: &'a str,
    },
    /// The agent received a new prompt: its earlier messages belong to a previous turn.
    NewPrompt,
    /// The agent called a tool; the name is empty if it is unknown.
    ToolCalled {
        /// The name as the agent's program writes it.
        name: &'a str,
    },
    /// A tool returned a result.
    ToolUsed,
    /// The turn ended without an error. The same process may start another one.
    TurnFinished,
    /// The turn ended in an error. Later agent text means that the agent recovered.
    TurnFailed,
    /// A record that may have held agent text could not be read. Later agent text is still read.
    RecordSkipped,
    /// The rest of the agent's output is lost.
    OutputLost,
}

/// Reads the transcript of one iteration incrementally.
#[derive(Debug, Clone)]
pub struct ClaimFinder {
    rules: ClaimRules,
    echo: PromptEcho,
    turn_ending: TurnEnding,
    current_message: Option<MessageInProgress>,
    /// The last message with visible text before `current_message`.
    last_message: Option<MessageInProgress>,
    /// The merged outcome of the messages before `current_message`, if the scope is the whole iteration.
    earlier_outcome: Option<MessageOutcome>,
    /// The reading of a finished turn that claimed completion, until the agent works again.
    finished_turn_claim: Option<ClaimReading>,
    /// Whether a message before the final one would have claimed completion, if only the final one counts.
    has_earlier_promise: bool,
    signal_calls: SignalCallTracker,
}

#[derive(Debug, Clone)]
struct MessageInProgress {
    number: u64,
    tail: MessageTail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnEnding {
    Complete,
    Failed,
    /// A record was skipped after the last agent text.
    RecordSkipped,
    /// Output was lost; later text does not make up for it.
    OutputLost,
}

impl ClaimFinder {
    /// Starts an iteration. `prompt` is the prompt that the agent received, or empty if it is unknown.
    pub fn new(rules: ClaimRules, prompt: &str) -> Self {
        Self {
            rules,
            echo: PromptEcho::from_prompt(prompt),
            turn_ending: TurnEnding::Complete,
            current_message: None,
            last_message: None,
            earlier_outcome: None,
            finished_turn_claim: None,
            has_earlier_promise: false,
            signal_calls: SignalCallTracker::default(),
        }
    }

    pub fn handle_event(&mut self, event: TranscriptEvent<'_>) {
        match event {
            TranscriptEvent::AgentText { message, text } => self.handle_agent_text(message, text),
            TranscriptEvent::NewPrompt => self.forget_messages(),
            TranscriptEvent::ToolCalled { name } => {
                self.finished_turn_claim = None;
                self.signal_calls.record_call(name);
            }
            TranscriptEvent::ToolUsed => self.finished_turn_claim = None,
            TranscriptEvent::TurnFinished => self.remember_finished_turn(),
            TranscriptEvent::TurnFailed => self.mark_ending(TurnEnding::Failed),
            TranscriptEvent::RecordSkipped => {
                self.mark_ending(TurnEnding::RecordSkipped);
                self.signal_calls.record_work("a record that was too long to read");
            }
            TranscriptEvent::OutputLost => self.turn_ending = TurnEnding::OutputLost,
        }
    }

    /// Records how the turn ended. The first problem is kept, because it is the one that is reported.
    fn mark_ending(&mut self, ending: TurnEnding) {
        if self.turn_ending == TurnEnding::Complete {
            self.turn_ending = ending;
        }
    }

    /// Clears a failure or a skipped record once later text arrives. Lost output cannot be made up for.
    fn clear_recoverable_ending(&mut self) {
        self.turn_ending = match self.turn_ending {
            TurnEnding::Complete | TurnEnding::Failed | TurnEnding::RecordSkipped => TurnEnding::Complete,
            TurnEnding::OutputLost => TurnEnding::OutputLost,
        };
    }

    /// Returns the claim of the iteration, based on the events so far. A later turn without work and without a claim
    /// does not withdraw the claim of a finished turn, unless it retracts it.
    pub fn finish(&self) -> ClaimReading {
        let reading = self.read_claim();
        let signal_call = self.signal_calls.read_call(&reading.final_text, &self.rules);
        ClaimReading { signal_call, ..reading }
    }

    fn read_claim(&self) -> ClaimReading {
        let last_turn = self.read_last_turn();
        let is_silent = match &last_turn.claim {
            Claim::None { why: NoClaimReason::NoTag | NoClaimReason::NoWords | NoClaimReason::Earlier } => true,
            Claim::None { .. } | Claim::Made { .. } => false,
        };
        match &self.finished_turn_claim {
            Some(claimed)
                if is_silent && last_turn.blocked.is_none() && !self.retracts_claim(&last_turn.final_text) =>
            {
                claimed.clone()
            }
            Some(_) | None => last_turn,
        }
    }

    /// Remembers the claim of a turn that ends. A turn without a claim keeps the claim of an earlier turn.
    fn remember_finished_turn(&mut self) {
        let reading = self.read_claim();
        self.finished_turn_claim = reading.claim.is_made().then_some(reading);
    }

    /// Returns whether the last message of a turn without a claim takes back the claim of an earlier turn.
    fn retracts_claim(&self, final_text: &str) -> bool {
        let rules = ClaimRules { scope: ClaimScope::Iteration, ..self.rules.clone() };
        matches!(
            evaluate_message(final_text, CodeBlockScanner::default(), &rules),
            MessageOutcome::Retraction(_) | MessageOutcome::NoSignal(NoClaimReason::Retracted { .. })
        )
    }

    fn read_last_turn(&self) -> ClaimReading {
        let unjudged = self.current_message.as_ref().filter(|message| !message.tail.is_blank());
        let Some(excerpt) = unjudged.or(self.last_message.as_ref()).map(|message| message.tail.to_excerpt()) else {
            return self.build_reading(MessageOutcome::NoSignal(NoClaimReason::NoWords), "");
        };
        let outcome = match (unjudged, self.earlier_outcome.clone()) {
            (None, Some(earlier)) => earlier,
            (None | Some(_), earlier) => merge_outcomes(earlier, self.evaluate_excerpt(&excerpt)),
        };
        self.build_reading(outcome, &excerpt.text)
    }

    fn handle_agent_text(&mut self, number: u64, text: &str) {
        if self.current_message.as_ref().is_none_or(|message| message.number != number) {
            self.end_message();
            self.current_message = Some(MessageInProgress { number, tail: MessageTail::default() });
        }
        let is_visible = self.current_message.as_mut().is_some_and(|message| message.tail.push(text));
        if is_visible {
            self.clear_recoverable_ending();
            self.signal_calls.record_text();
        }
    }

    /// Ends the current message. A message without visible text does not replace the one before it.
    fn end_message(&mut self) {
        let Some(done) = self.current_message.take().filter(|message| !message.tail.is_blank()) else {
            return;
        };
        match self.rules.scope {
            ClaimScope::Final => self.has_earlier_promise |= self.claims_completion(&done.tail),
            ClaimScope::Iteration => {
                let outcome = self.evaluate_excerpt(&done.tail.to_excerpt());
                self.earlier_outcome = Some(merge_outcomes(self.earlier_outcome.take(), outcome));
            }
        }
        self.last_message = Some(done);
    }

    fn forget_messages(&mut self) {
        self.current_message = None;
        self.last_message = None;
        self.earlier_outcome = None;
        self.finished_turn_claim = None;
        self.has_earlier_promise = false;
        self.clear_recoverable_ending();
    }

    /// Returns whether a message would have claimed completion. Most messages have no tag and need no evaluation.
    fn claims_completion(&self, message: &MessageTail) -> bool {
        message.contains_text("romise")
            && matches!(self.evaluate_excerpt(&message.to_excerpt()), MessageOutcome::Claim(_))
    }

    fn evaluate_excerpt(&self, excerpt: &MessageExcerpt) -> MessageOutcome {
        let text = self.echo.blank_out(&excerpt.text, excerpt.truncation);
        if text.trim().is_empty() {
            return MessageOutcome::NoSignal(NoClaimReason::NoWords);
        }
        match evaluate_message(&text, excerpt.code_blocks.clone(), &self.rules) {
            MessageOutcome::Claim(claim) => MessageOutcome::Claim(claim.shift_line(excerpt.lines_above)),
            other @ (MessageOutcome::Blocked(_)
            | MessageOutcome::Rejected(_)
            | MessageOutcome::Wait(_)
            | MessageOutcome::NoSignal(_)
            | MessageOutcome::Retraction(_)) => other,
        }
    }

    fn build_reading(&self, outcome: MessageOutcome, final_text: &str) -> ClaimReading {
        let outcome = match (self.turn_ending, outcome) {
            (TurnEnding::OutputLost, _) => MessageOutcome::NoSignal(NoClaimReason::Unheard),
            (TurnEnding::RecordSkipped, _) => MessageOutcome::NoSignal(NoClaimReason::Unread),
            (TurnEnding::Failed, _) => MessageOutcome::NoSignal(NoClaimReason::EndedInError),
            (TurnEnding::Complete, MessageOutcome::NoSignal(NoClaimReason::NoTag)) if self.has_earlier_promise => {
                MessageOutcome::NoSignal(NoClaimReason::Earlier)
            }
            (TurnEnding::Complete, outcome) => outcome,
        };
        let claim = Claim::None { why: NoClaimReason::NoTag };
        let signal_call = SignalCall::NotSeen;
        let silent =
            ClaimReading { claim, blocked: None, reject: None, wait: None, signal_call, final_text: final_text.into() };
        let without_claim = |why| Claim::None { why };
        match outcome {
            MessageOutcome::Claim(claim) => ClaimReading { claim, ..silent },
            MessageOutcome::Blocked(reason) => {
                ClaimReading { claim: without_claim(NoClaimReason::Blocked), blocked: Some(reason), ..silent }
            }
            MessageOutcome::Rejected(reason) => {
                ClaimReading { claim: without_claim(NoClaimReason::Rejected), reject: Some(reason), ..silent }
            }
            MessageOutcome::Wait(request) => {
                ClaimReading { claim: without_claim(NoClaimReason::Waits), wait: Some(request), ..silent }
            }
            MessageOutcome::NoSignal(why) => ClaimReading { claim: without_claim(why), ..silent },
            MessageOutcome::Retraction(_) => silent,
        }
    }
}

/// Merges the outcome of a later message into the outcome of the earlier ones.
fn merge_outcomes(earlier: Option<MessageOutcome>, later: MessageOutcome) -> MessageOutcome {
    let Some(earlier) = earlier else { return later };
    match (&earlier, &later) {
        (
            MessageOutcome::Claim(_)
            | MessageOutcome::Blocked(_)
            | MessageOutcome::Rejected(_)
            | MessageOutcome::Wait(_),
            MessageOutcome::Retraction(sentence),
        ) => MessageOutcome::NoSignal(NoClaimReason::Retracted { sentence: sentence.clone() }),
        (
            _,
            MessageOutcome::NoSignal(NoClaimReason::NoTag | NoClaimReason::NoWords | NoClaimReason::Mentioned { .. })
            | MessageOutcome::Retraction(_),
        ) => earlier,
        (
            _,
            MessageOutcome::Claim(_)
            | MessageOutcome::Blocked(_)
            | MessageOutcome::Rejected(_)
            | MessageOutcome::Wait(_)
            | MessageOutcome::NoSignal(_),
        ) => later,
    }
}
