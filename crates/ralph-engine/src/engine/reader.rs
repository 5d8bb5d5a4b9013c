//! Reads what an agent prints: with the parser of its format, or with the user's filter over it. Filters answer later,
//! from a process of their own; nothing here waits for them unless it is asked to.
use std::future::pending;

use super::sieve::{Answer, Sieve};
use ralph_agents::{AgentEvent, Counts, DisplayLines, FilteredReader, Parser, Yield};

/// How much may wait for a response filter before the agent has to wait.
const ROOM: usize = 16 << 20;

/// How an agent's words are found in its output.
pub enum Reader {
    Format(Box<dyn Parser>),
    Filter(Box<Filtered>),
}

/// A response filter at work.
pub struct Filtered {
    reader: FilteredReader,
    sieve: Option<Sieve>,
    failures: Failures,
}

/// What an answer of a filter means beside its values.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Nothing,
    /// Something that the user should know.
    Complaint(String),
    /// The filter is given up: from here on nothing is known of the agent's words.
    Broken(String),
}

impl Said {
    fn or(self, other: Self) -> Self {
        if self == Self::Nothing { other } else { self }
    }
}

impl Reader {
    pub(super) fn filtered(inner: Box<dyn Parser>, sieve: Sieve) -> Self {
        let reader = FilteredReader::new(inner);
        Self::Filter(Box::new(Filtered {
            reader,
            sieve: Some(sieve),
            failures: Failures::of(Purpose::Response),
        }))
    }

    /// Returns the parser of the agent's format, which may have something to say.
    pub(super) fn parser(&mut self) -> &mut dyn Parser {
        match self {
            Self::Format(parser) => parser.as_mut(),
            Self::Filter(filtered) => filtered.reader.inner(),
        }
    }

    /// Tells whether a talk with the agent has ended.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Format(parser) => parser.is_over(),
            Self::Filter(filtered) => filtered.reader.is_over(),
        }
    }

    /// Reads the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        match self {
            Self::Format(parser) => parser.push(bytes, out),
            Self::Filter(filtered) => {
                let asked = filtered.reader.push(bytes);
                filtered.ask(asked, out);
            }
        }
    }

    /// Reads what is left when the output has ended.
    pub(super) fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        match self {
            Self::Format(parser) => parser.finish(out),
            Self::Filter(filtered) => {
                let asked = filtered.reader.finish();
                filtered.ask(asked, out);
                if let Some(sieve) = &mut filtered.sieve {
                    sieve.close();
                }
            }
        }
    }

    /// Ends the reading: what has no answer by now will have none. Returns what is left to say of the filter.
    pub(super) fn conclude(&mut self, out: &mut Vec<AgentEvent>) -> Option<String> {
        match self {
            Self::Format(_) => None,
            Self::Filter(filtered) => {
                filtered.sieve = None;
                filtered.reader.release_all(out);
                filtered.reader.conclude(out);
                filtered.failures.sum()
            }
        }
    }

    /// Tells whether the agent's next words can be taken.
    pub(super) fn has_room(&self) -> bool {
        match self {
            Self::Format(_) => true,
            Self::Filter(filtered) => filtered.reader.waiting_bytes() < ROOM,
        }
    }

    /// Tells whether answers are missing.
    pub(super) fn is_waiting(&self) -> bool {
        match self {
            Self::Format(_) => false,
            Self::Filter(filtered) => filtered.reader.is_waiting(),
        }
    }

    /// Waits for the next answer of the filter.
    pub(super) async fn answer(&mut self) -> Answer {
        match self {
            Self::Format(_) => pending().await,
            Self::Filter(filtered) => next(filtered.sieve.as_mut()).await,
        }
    }

    /// Takes an answer in.
    pub(super) fn answered(&mut self, answer: Answer, out: &mut Vec<AgentEvent>) -> Said {
        match (self, answer) {
            (Self::Format(_), _) => Said::Nothing,
            (Self::Filter(filtered), Answer::Lines(said)) => {
                let mut complaint = Said::Nothing;
                for Yield { values, error } in said {
                    filtered.reader.answered(values, out);
                    complaint = complaint.or(filtered.failures.note(error));
                }
                complaint
            }
            (Self::Filter(filtered), Answer::Broken(why)) => {
                filtered.sieve = None;
                filtered.reader.release_all(out);
                Said::Broken(filtered.failures.broken(&why))
            }
        }
    }

    pub(super) fn counts(&self) -> Counts {
        match self {
            Self::Format(parser) => parser.counts(),
            Self::Filter(filtered) => filtered.reader.counts(),
        }
    }
}

impl Filtered {
    fn ask(&mut self, lines: Vec<u8>, out: &mut Vec<AgentEvent>) {
        match &self.sieve {
            Some(sieve) => sieve.ask(lines),
            None => self.reader.release_all(out),
        }
    }
}

/// A display filter at work.
pub struct FilteredDisplay {
    lines: DisplayLines,
    sieve: Option<Sieve>,
    failures: Failures,
}

impl FilteredDisplay {
    pub(super) fn new(sieve: Sieve) -> Self {
        Self { lines: DisplayLines::default(), sieve: Some(sieve), failures: Failures::of(Purpose::Display) }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(sieve) = &self.sieve {
            sieve.ask(self.lines.push(bytes));
        }
    }

    pub(super) fn finish(&mut self) {
        if let Some(sieve) = &mut self.sieve {
            sieve.close();
        }
    }

    /// Waits for the next answer of the filter.
    pub(super) async fn answer(&mut self) -> Answer {
        next(self.sieve.as_mut()).await
    }

    /// Returns what an answer shows, and what it means.
    pub(super) fn answered(&mut self, answer: Answer) -> (Vec<String>, Said) {
        match answer {
            Answer::Lines(said) => {
                let (mut shown, mut complaint) = (Vec::new(), Said::Nothing);
                for Yield { values, error } in said {
                    self.lines.answered();
                    shown.extend(values);
                    complaint = complaint.or(self.failures.note(error));
                }
                (shown, complaint)
            }
            Answer::Broken(why) => {
                self.sieve = None;
                (Vec::new(), Said::Complaint(self.failures.broken(&why)))
            }
        }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.sieve.is_some() && self.lines.is_waiting()
    }

    pub(super) fn sum(&self) -> Option<String> {
        self.failures.sum()
    }
}

async fn next(sieve: Option<&mut Sieve>) -> Answer {
    let Some(sieve) = sieve else { return pending().await };
    match sieve.answer().await {
        Some(answer) => answer,
        None => pending().await,
    }
}

/// What a filter is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Response,
    Display,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Display => "display",
        }
    }
}

/// Counts the lines on which a filter failed: the first is told at once, and their number in the end.
struct Failures {
    of: Purpose,
    count: u64,
}

impl Failures {
    fn of(of: Purpose) -> Self {
        Self { of, count: 0 }
    }

    fn note(&mut self, error: Option<String>) -> Said {
        let Some(error) = error else { return Said::Nothing };
        self.count += 1;
        if self.count > 1 {
            return Said::Nothing;
        }
        let filter = self.of.name();
        Said::Complaint(format!("the {filter} filter failed on a line: {error}"))
    }

    fn broken(&self, why: &str) -> String {
        let loss = match self.of {
            Purpose::Response => "nothing more is known of what the agent says",
            Purpose::Display => "nothing more of the agent is shown",
        };
        format!("the {} filter was given up, so {loss}: {why}", self.of.name())
    }

    fn sum(&self) -> Option<String> {
        (self.count > 1).then(|| format!("the {} filter failed on {} lines", self.of.name(), self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn the_first_failure_of_a_filter_is_told_at_once_and_their_number_in_the_end() {
        let mut failures = Failures::of(Purpose::Response);
        assert_eq!(failures.note(None), Said::Nothing);
        assert!(matches!(failures.note(Some("no".into())), Said::Complaint(text) if text.ends_with(": no")));
        assert_eq!((failures.note(Some("no".into())), failures.sum().is_some()), (Said::Nothing, true));
        assert_eq!(Failures::of(Purpose::Display).sum(), None);
    }
}
