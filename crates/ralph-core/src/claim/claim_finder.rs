//! Listens to one iteration and says at its end what the agent claims. It keeps the end of the current
//! message and nothing else, so that any amount of output fits in a fixed amount of memory.

use super::evaluate::{MessageOutcome, evaluate_message};
use super::message_tail::{MessageExcerpt, MessageTail};
use super::prompt_echo::PromptEcho;
use super::{Claim, ClaimReading, ClaimRules, ClaimScope, NoClaimReason};

/// What the finder is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptEvent<'a> {
    /// The agent's own words. The same `message` number as before continues that message, another
    /// number starts a new one.
    AgentText {
        /// The number of the message.
        message: u64,
        /// The words.
        text: &'a str,
    },
    /// Somebody else spoke to the agent: what it said before belongs to an earlier turn.
    NewPrompt,
    /// The turn ended in an error; later own words mean that it was overcome.
    TurnFailed,
    /// Something could not be read that may have been words of the agent; later own words are heard all the same.
    RecordSkipped,
    /// From here on the agent's words cannot be known.
    OutputLost,
}

/// The incremental reader of one iteration.
#[derive(Debug, Clone)]
pub struct ClaimFinder {
    rules: ClaimRules,
    echo: PromptEcho,
    turn_ending: TurnEnding,
    current_message: Option<MessageInProgress>,
    /// The last message that said something before `current` began.
    last_message: Option<MessageInProgress>,
    /// What the messages before `current` amount to, when all of them count.
    earlier_outcome: Option<MessageOutcome>,
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
    /// Something was not read since.
    RecordSkipped,
    /// Whatever is heard later, something was not.
    OutputLost,
}

impl ClaimFinder {
    /// Starts an iteration; `prompt` is what the agent was sent, or empty when that is not known.
    pub fn new(rules: ClaimRules, prompt: &str) -> Self {
        Self {
            rules,
            echo: PromptEcho::from_prompt(prompt),
            turn_ending: TurnEnding::Complete,
            current_message: None,
            last_message: None,
            earlier_outcome: None,
        }
    }

    /// Takes in what happened next.
    pub fn handle_event(&mut self, event: TranscriptEvent<'_>) {
        match event {
            TranscriptEvent::AgentText { message, text } => self.handle_agent_text(message, text),
            TranscriptEvent::NewPrompt => self.forget_messages(),
            TranscriptEvent::TurnFailed => self.mark_ending(TurnEnding::Failed),
            TranscriptEvent::RecordSkipped => self.mark_ending(TurnEnding::RecordSkipped),
            TranscriptEvent::OutputLost => self.turn_ending = TurnEnding::OutputLost,
        }
    }

    /// Goes on from a sound state; the first reason why there is no last word is told.
    fn mark_ending(&mut self, ending: TurnEnding) {
        if self.turn_ending == TurnEnding::Complete {
            self.turn_ending = ending;
        }
    }

    /// Later words make up for what failed or was not read, and never for what was lost.
    fn clear_recoverable_ending(&mut self) {
        self.turn_ending = match self.turn_ending {
            TurnEnding::Complete | TurnEnding::Failed | TurnEnding::RecordSkipped => TurnEnding::Complete,
            TurnEnding::OutputLost => TurnEnding::OutputLost,
        };
    }

    /// Returns what the iteration says, as far as it was heard.
    pub fn finish(&self) -> ClaimReading {
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
        let seen = self.current_message.as_mut().is_some_and(|message| message.tail.push(text));
        if seen {
            self.clear_recoverable_ending();
        }
    }

    /// An empty message is no message: it does not replace the words before it.
    fn end_message(&mut self) {
        let Some(done) = self.current_message.take().filter(|message| !message.tail.is_blank()) else {
            return;
        };
        match self.rules.scope {
            ClaimScope::Final => {}
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
        self.clear_recoverable_ending();
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
            | MessageOutcome::NoSignal(_)
            | MessageOutcome::Retraction(_)) => other,
        }
    }

    fn build_reading(&self, outcome: MessageOutcome, final_text: &str) -> ClaimReading {
        let outcome = match (self.turn_ending, outcome) {
            (TurnEnding::OutputLost, _) => MessageOutcome::NoSignal(NoClaimReason::Unheard),
            (TurnEnding::RecordSkipped, _) => MessageOutcome::NoSignal(NoClaimReason::Unread),
            (TurnEnding::Failed, _) => MessageOutcome::NoSignal(NoClaimReason::EndedInError),
            (TurnEnding::Complete, outcome) => outcome,
        };
        let (why, blocked, reject) = match outcome {
            MessageOutcome::Claim(claim) => {
                return ClaimReading { claim, blocked: None, reject: None, final_text: final_text.into() };
            }
            MessageOutcome::Blocked(reason) => (NoClaimReason::Blocked, Some(reason), None),
            MessageOutcome::Rejected(reason) => (NoClaimReason::Rejected, None, Some(reason)),
            MessageOutcome::NoSignal(why) => (why, None, None),
            MessageOutcome::Retraction(_) => (NoClaimReason::NoTag, None, None),
        };
        ClaimReading { claim: Claim::None { why }, blocked, reject, final_text: final_text.into() }
    }
}

/// Adds the outcome of a later message to that of the earlier ones.
fn merge_outcomes(earlier: Option<MessageOutcome>, later: MessageOutcome) -> MessageOutcome {
    let Some(earlier) = earlier else { return later };
    match (&earlier, &later) {
        (
            MessageOutcome::Claim(_) | MessageOutcome::Blocked(_) | MessageOutcome::Rejected(_),
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
            | MessageOutcome::NoSignal(_),
        ) => later,
    }
}
