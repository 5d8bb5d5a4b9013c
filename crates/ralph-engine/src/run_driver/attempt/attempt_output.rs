//! Reads an agent's output with the parser of its format, or through the user's filter. Filters run in separate
//! processes and answer later; only `next_answer` waits for them.
use std::future::pending;

use super::filter_process::{FilterAnswer, FilterProcess};
use ralph_agents::{AgentEvent, DisplayLines, FilterOutput, FilteredReader, RecordCounts, StreamParser};

/// How much output may wait for a response filter before ralph stops reading from the agent.
const MAX_WAITING_BYTES: usize = 16 << 20;

/// Reads the output of one attempt.
pub enum AttemptOutputReader {
    Parsed(Box<dyn StreamParser>),
    Filtered(Box<FilteredOutput>),
}

/// Output that a response filter reads.
pub struct FilteredOutput {
    reader: FilteredReader,
    filter: Option<FilterProcess>,
    failures: FilterFailures,
}

/// A notice for the user in an answer of a filter.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::run_driver) enum FilterNotice {
    Silent,
    Warning(String),
    /// The filter was stopped: the rest of the output is lost.
    Broken(String),
}

impl FilterNotice {
    fn or(self, other: Self) -> Self {
        if self == Self::Silent { other } else { self }
    }
}

impl AttemptOutputReader {
    pub(in crate::run_driver) fn with_filter(inner: Box<dyn StreamParser>, filter: FilterProcess) -> Self {
        let reader = FilteredReader::new(inner);
        Self::Filtered(Box::new(FilteredOutput {
            reader,
            filter: Some(filter),
            failures: FilterFailures::new(FilterPurpose::Response),
        }))
    }

    /// Returns whether a filter of the user determines the agent's text.
    pub(super) fn has_filter(&self) -> bool {
        match self {
            Self::Parsed(_) => false,
            Self::Filtered(_) => true,
        }
    }

    /// Returns the parser of the agent's format.
    pub(in crate::run_driver) fn parser(&mut self) -> &mut dyn StreamParser {
        match self {
            Self::Parsed(parser) => parser.as_mut(),
            Self::Filtered(filtered) => filtered.reader.inner_parser(),
        }
    }

    /// Returns whether the conversation with the agent has ended.
    pub(in crate::run_driver) fn is_conversation_over(&self) -> bool {
        match self {
            Self::Parsed(parser) => parser.is_conversation_over(),
            Self::Filtered(filtered) => filtered.reader.is_conversation_over(),
        }
    }

    /// Reads the next bytes.
    pub(in crate::run_driver) fn push(&mut self, bytes: &[u8], out: &mut Vec<AgentEvent>) {
        match self {
            Self::Parsed(parser) => parser.push(bytes, out),
            Self::Filtered(filtered) => {
                let lines = filtered.reader.push(bytes);
                filtered.send_lines(lines, out);
            }
        }
    }

    /// Reads the rest when the output has ended.
    pub(in crate::run_driver) fn finish(&mut self, out: &mut Vec<AgentEvent>) {
        match self {
            Self::Parsed(parser) => parser.finish(out),
            Self::Filtered(filtered) => {
                let lines = filtered.reader.finish();
                filtered.send_lines(lines, out);
                if let Some(filter) = &mut filtered.filter {
                    filter.close_input();
                }
            }
        }
    }

    /// Stops the filter: outstanding lines are not answered any more. Returns the summary of the filter's failures.
    pub(in crate::run_driver) fn end_reading(&mut self, out: &mut Vec<AgentEvent>) -> Option<String> {
        match self {
            Self::Parsed(_) => None,
            Self::Filtered(filtered) => {
                filtered.filter = None;
                filtered.reader.release_all(out);
                filtered.reader.finish_format(out);
                filtered.failures.summary()
            }
        }
    }

    /// Returns whether more output can be read.
    pub(in crate::run_driver) fn has_room(&self) -> bool {
        match self {
            Self::Parsed(_) => true,
            Self::Filtered(filtered) => filtered.reader.waiting_bytes() < MAX_WAITING_BYTES,
        }
    }

    /// Returns whether answers are outstanding.
    pub(in crate::run_driver) fn is_waiting(&self) -> bool {
        match self {
            Self::Parsed(_) => false,
            Self::Filtered(filtered) => filtered.reader.is_waiting(),
        }
    }

    /// Waits for the next answer of the filter.
    pub(in crate::run_driver) async fn next_answer(&mut self) -> FilterAnswer {
        match self {
            Self::Parsed(_) => pending().await,
            Self::Filtered(filtered) => next_filter_answer(filtered.filter.as_mut()).await,
        }
    }

    /// Reads an answer of the filter.
    pub(in crate::run_driver) fn take_answer(
        &mut self,
        answer: FilterAnswer,
        out: &mut Vec<AgentEvent>,
    ) -> FilterNotice {
        match (self, answer) {
            (Self::Parsed(_), _) => FilterNotice::Silent,
            (Self::Filtered(filtered), FilterAnswer::Lines(outputs)) => {
                let mut notice = FilterNotice::Silent;
                for FilterOutput { values, error } in outputs {
                    filtered.reader.accept_answer(values, out);
                    notice = notice.or(filtered.failures.record_error(error));
                }
                notice
            }
            (Self::Filtered(filtered), FilterAnswer::Broken(reason)) => {
                filtered.filter = None;
                filtered.reader.release_all(out);
                FilterNotice::Broken(filtered.failures.broken_message(&reason))
            }
        }
    }

    pub(in crate::run_driver) fn record_counts(&self) -> RecordCounts {
        match self {
            Self::Parsed(parser) => parser.record_counts(),
            Self::Filtered(filtered) => filtered.reader.record_counts(),
        }
    }
}

impl FilteredOutput {
    fn send_lines(&mut self, lines: Vec<u8>, out: &mut Vec<AgentEvent>) {
        match &self.filter {
            Some(filter) => filter.send_lines(lines),
            None => self.reader.release_all(out),
        }
    }
}

/// An answer of the display filter.
pub(in crate::run_driver) struct DisplayAnswer {
    /// The lines to show.
    pub(in crate::run_driver) lines: Vec<String>,
    pub(in crate::run_driver) notice: FilterNotice,
}

/// A running display filter.
pub struct FilteredDisplay {
    lines: DisplayLines,
    filter: Option<FilterProcess>,
    failures: FilterFailures,
}

impl FilteredDisplay {
    pub(in crate::run_driver) fn new(filter: FilterProcess) -> Self {
        Self {
            lines: DisplayLines::default(),
            filter: Some(filter),
            failures: FilterFailures::new(FilterPurpose::Display),
        }
    }

    pub(in crate::run_driver) fn push(&mut self, bytes: &[u8]) {
        if let Some(filter) = &self.filter {
            filter.send_lines(self.lines.push(bytes));
        }
    }

    pub(in crate::run_driver) fn finish(&mut self) {
        if let Some(filter) = &mut self.filter {
            filter.close_input();
        }
    }

    /// Waits for the next answer of the filter.
    pub(in crate::run_driver) async fn next_answer(&mut self) -> FilterAnswer {
        next_filter_answer(self.filter.as_mut()).await
    }

    /// Reads an answer of the filter.
    pub(in crate::run_driver) fn take_answer(&mut self, answer: FilterAnswer) -> DisplayAnswer {
        match answer {
            FilterAnswer::Lines(outputs) => {
                let mut shown = DisplayAnswer { lines: Vec::new(), notice: FilterNotice::Silent };
                for FilterOutput { values, error } in outputs {
                    self.lines.release_answered_line();
                    shown.lines.extend(values);
                    shown.notice = shown.notice.or(self.failures.record_error(error));
                }
                shown
            }
            FilterAnswer::Broken(reason) => {
                self.filter = None;
                let notice = FilterNotice::Warning(self.failures.broken_message(&reason));
                DisplayAnswer { lines: Vec::new(), notice }
            }
        }
    }

    pub(in crate::run_driver) fn is_waiting(&self) -> bool {
        self.filter.is_some() && self.lines.is_waiting()
    }

    pub(in crate::run_driver) fn failure_summary(&self) -> Option<String> {
        self.failures.summary()
    }
}

async fn next_filter_answer(filter: Option<&mut FilterProcess>) -> FilterAnswer {
    let Some(filter) = filter else { return pending().await };
    match filter.next_answer().await {
        Some(answer) => answer,
        None => pending().await,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FilterPurpose {
    Response,
    Display,
}

impl FilterPurpose {
    fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Display => "display",
        }
    }
}

/// Counts the lines on which a filter failed. The first failure is reported at once, the total at the end.
struct FilterFailures {
    purpose: FilterPurpose,
    count: u64,
}

impl FilterFailures {
    fn new(purpose: FilterPurpose) -> Self {
        Self { purpose, count: 0 }
    }

    fn record_error(&mut self, error: Option<String>) -> FilterNotice {
        let Some(error) = error else { return FilterNotice::Silent };
        self.count += 1;
        if self.count > 1 {
            return FilterNotice::Silent;
        }
        let filter = self.purpose.name();
        FilterNotice::Warning(format!("the {filter} filter failed on a line: {error}"))
    }

    fn broken_message(&self, reason: &str) -> String {
        let loss = match self.purpose {
            FilterPurpose::Response => "the rest of the agent's output is not read",
            FilterPurpose::Display => "the rest of the agent's output is not shown",
        };
        format!("the {} filter was stopped, so {loss}: {reason}", self.purpose.name())
    }

    fn summary(&self) -> Option<String> {
        (self.count > 1).then(|| format!("the {} filter failed on {} lines", self.purpose.name(), self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A2
    #[test]
    fn the_first_filter_failure_is_reported_at_once_and_the_total_at_the_end() {
        let mut failures = FilterFailures::new(FilterPurpose::Response);
        assert_eq!(failures.record_error(None), FilterNotice::Silent);
        assert!(
            matches!(failures.record_error(Some("no".into())), FilterNotice::Warning(text) if text.ends_with(": no"))
        );
        assert_eq!(
            (failures.record_error(Some("no".into())), failures.summary().is_some()),
            (FilterNotice::Silent, true)
        );
        assert_eq!(FilterFailures::new(FilterPurpose::Display).summary(), None);
    }
}
