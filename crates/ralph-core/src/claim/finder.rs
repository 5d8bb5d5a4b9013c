//! Listens to one iteration and says at its end what the agent claims. It keeps the end of the current
//! message and nothing else, so that any amount of output fits in a fixed amount of memory.

use super::echo::Echo;
use super::judge::{Outcome, judge};
use super::tail::{Excerpt, Tail};
use super::{Claim, ClaimRules, NoClaim, Reading, Scope};

/// What the finder is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard<'a> {
    /// The agent's own words. The same `message` number as before continues that message, another
    /// number starts a new one.
    Own {
        /// The number of the message.
        message: u64,
        /// The words.
        text: &'a str,
    },
    /// Somebody else spoke to the agent: what it said before belongs to an earlier turn.
    Prompted,
    /// The turn ended in an error; later own words mean that it was overcome.
    Failed,
    /// Something could not be read that may have been words of the agent; later own words are heard all the same.
    Unread,
    /// From here on the agent's words cannot be known.
    Lost,
}

/// The incremental reader of one iteration.
#[derive(Debug, Clone)]
pub struct Finder {
    rules: ClaimRules,
    echo: Echo,
    ending: Ending,
    current: Option<Message>,
    /// The last message that said something before `current` began.
    last: Option<Message>,
    /// What the messages before `current` amount to, when all of them count.
    earlier: Option<Outcome>,
}

#[derive(Debug, Clone)]
struct Message {
    number: u64,
    tail: Tail,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Sound,
    Failed,
    /// Something was not read since.
    Unread,
    /// Whatever is heard later, something was not.
    Lost,
}

impl Finder {
    /// Starts an iteration; `prompt` is what the agent was sent, or empty when that is not known.
    pub fn new(rules: ClaimRules, prompt: &str) -> Self {
        Self {
            rules,
            echo: Echo::of(prompt),
            ending: Ending::Sound,
            current: None,
            last: None,
            earlier: None,
        }
    }

    /// Takes in what happened next.
    pub fn hear(&mut self, heard: Heard<'_>) {
        match heard {
            Heard::Own { message, text } => self.hear_own(message, text),
            Heard::Prompted => self.forget(),
            Heard::Failed => self.turn(Ending::Failed),
            Heard::Unread => self.turn(Ending::Unread),
            Heard::Lost => self.ending = Ending::Lost,
        }
    }

    /// Goes on from a sound state; the first reason why there is no last word is told.
    fn turn(&mut self, ending: Ending) {
        if self.ending == Ending::Sound {
            self.ending = ending;
        }
    }

    /// Later words make up for what failed or was not read, and never for what was lost.
    fn recover(&mut self) {
        self.ending = match self.ending {
            Ending::Sound | Ending::Failed | Ending::Unread => Ending::Sound,
            Ending::Lost => Ending::Lost,
        };
    }

    /// Returns what the iteration says, as far as it was heard.
    pub fn finish(&self) -> Reading {
        let unjudged = self.current.as_ref().filter(|message| !message.tail.is_blank());
        let Some(excerpt) = unjudged.or(self.last.as_ref()).map(|message| message.tail.excerpt()) else {
            return self.reading(Outcome::Nothing(NoClaim::NoWords), "");
        };
        let outcome = match (unjudged, self.earlier.clone()) {
            (None, Some(earlier)) => earlier,
            (None | Some(_), earlier) => merge(earlier, self.judge(&excerpt)),
        };
        self.reading(outcome, &excerpt.text)
    }

    fn hear_own(&mut self, number: u64, text: &str) {
        if self.current.as_ref().is_none_or(|message| message.number != number) {
            self.end_message();
            self.current = Some(Message { number, tail: Tail::default() });
        }
        let seen = self.current.as_mut().is_some_and(|message| message.tail.push(text));
        if seen {
            self.recover();
        }
    }

    /// An empty message is no message: it does not replace the words before it.
    fn end_message(&mut self) {
        let Some(done) = self.current.take().filter(|message| !message.tail.is_blank()) else { return };
        match self.rules.scope {
            Scope::Final => {}
            Scope::Iteration => {
                let outcome = self.judge(&done.tail.excerpt());
                self.earlier = Some(merge(self.earlier.take(), outcome));
            }
        }
        self.last = Some(done);
    }

    fn forget(&mut self) {
        self.current = None;
        self.last = None;
        self.earlier = None;
        self.recover();
    }

    fn judge(&self, excerpt: &Excerpt) -> Outcome {
        let text = self.echo.blank_out(&excerpt.text, excerpt.dropped);
        if text.trim().is_empty() {
            return Outcome::Nothing(NoClaim::NoWords);
        }
        match judge(&text, excerpt.fence.clone(), &self.rules) {
            Outcome::Claim(claim) => Outcome::Claim(claim.moved_down(excerpt.above)),
            other @ (Outcome::Blocked(_)
            | Outcome::Rejected(_)
            | Outcome::Nothing(_)
            | Outcome::TakesBack(_)) => other,
        }
    }

    fn reading(&self, outcome: Outcome, final_text: &str) -> Reading {
        let outcome = match (self.ending, outcome) {
            (Ending::Lost, _) => Outcome::Nothing(NoClaim::Unheard),
            (Ending::Unread, _) => Outcome::Nothing(NoClaim::Unread),
            (Ending::Failed, _) => Outcome::Nothing(NoClaim::EndedInError),
            (Ending::Sound, outcome) => outcome,
        };
        let (why, blocked, reject) = match outcome {
            Outcome::Claim(claim) => {
                return Reading { claim, blocked: None, reject: None, final_text: final_text.into() };
            }
            Outcome::Blocked(reason) => (NoClaim::Blocked, Some(reason), None),
            Outcome::Rejected(reason) => (NoClaim::Rejected, None, Some(reason)),
            Outcome::Nothing(why) => (why, None, None),
            Outcome::TakesBack(_) => (NoClaim::NoTag, None, None),
        };
        Reading { claim: Claim::None { why }, blocked, reject, final_text: final_text.into() }
    }
}

/// Adds the outcome of a later message to that of the earlier ones.
fn merge(earlier: Option<Outcome>, later: Outcome) -> Outcome {
    let Some(earlier) = earlier else { return later };
    match (&earlier, &later) {
        (Outcome::Claim(_) | Outcome::Blocked(_) | Outcome::Rejected(_), Outcome::TakesBack(sentence)) => {
            Outcome::Nothing(NoClaim::Retracted { sentence: sentence.clone() })
        }
        (
            _,
            Outcome::Nothing(NoClaim::NoTag | NoClaim::NoWords | NoClaim::Mentioned { .. })
            | Outcome::TakesBack(_),
        ) => earlier,
        (_, Outcome::Claim(_) | Outcome::Blocked(_) | Outcome::Rejected(_) | Outcome::Nothing(_)) => later,
    }
}
