//! The results of mutants: their words, the record of earlier runs, and the counts of a sample.
use std::collections::BTreeMap;
use std::fmt;

use crate::error::{Result, XtaskError};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MutantOutcome {
    Caught,
    Missed,
    /// A test did not end, which it does without the mutant.
    Timeout,
    /// The mutant does not compile.
    Unviable,
}

impl MutantOutcome {
    pub(crate) const ALL: [Self; 4] = [Self::Caught, Self::Missed, Self::Timeout, Self::Unviable];

    /// The word in the record, and the name of the file in which cargo-mutants lists these mutants.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::Missed => "missed",
            Self::Timeout => "timeout",
            Self::Unviable => "unviable",
        }
    }
}

/// Reads the lines that [`format_record`] has written.
pub(crate) fn parse_record(record: &str) -> Result<BTreeMap<String, MutantOutcome>> {
    record.lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<(String, MutantOutcome)> {
    let parsed = line.split_once('\t').and_then(|(word, name)| {
        let outcome = MutantOutcome::ALL.into_iter().find(|outcome| outcome.word() == word)?;
        Some((name.to_owned(), outcome))
    });
    parsed.ok_or_else(|| XtaskError::new(format!("not a recorded result: {line}")))
}

/// Returns a line per mutant: the result and the name.
pub(crate) fn format_record(outcomes: &BTreeMap<String, MutantOutcome>) -> String {
    outcomes.iter().map(|(name, outcome)| format!("{}\t{name}\n", outcome.word())).collect()
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCounts {
    pub(crate) caught: u32,
    pub(crate) timeouts: u32,
    pub(crate) missed: u32,
    pub(crate) unviable: u32,
    pub(crate) untested: u32,
}

impl OutcomeCounts {
    pub(crate) fn of_sample(sample: &[&str], outcomes: &BTreeMap<String, MutantOutcome>) -> Self {
        let mut counts = Self::default();
        for name in sample {
            let counter = match outcomes.get(*name) {
                Some(MutantOutcome::Caught) => &mut counts.caught,
                Some(MutantOutcome::Timeout) => &mut counts.timeouts,
                Some(MutantOutcome::Missed) => &mut counts.missed,
                Some(MutantOutcome::Unviable) => &mut counts.unviable,
                None => &mut counts.untested,
            };
            *counter += 1;
        }
        counts
    }

    /// The share of the viable mutants that a test catches, by failing or by not ending.
    pub(crate) fn caught_percent(&self) -> f64 {
        let caught = f64::from(self.caught + self.timeouts);
        let viable = caught + f64::from(self.missed);
        if viable > 0.0 { 100.0 * caught / viable } else { 100.0 }
    }
}

impl fmt::Display for OutcomeCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caught, timeouts, missed, unviable, untested: _ } = self;
        let percent = self.caught_percent();
        write!(f, "{caught} caught, {timeouts} timed out, {missed} missed, {unviable} unviable: {percent:.1} % caught")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(list: &[(&str, MutantOutcome)]) -> BTreeMap<String, MutantOutcome> {
        list.iter().map(|(name, outcome)| ((*name).to_owned(), *outcome)).collect()
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let written = outcomes(&[
            ("a.rs:1:2: replace f with ()", MutantOutcome::Caught),
            ("a.rs:2:2: replace == with !=", MutantOutcome::Missed),
            ("a.rs:3:2: replace += with *=", MutantOutcome::Timeout),
            ("b.rs:1:2: replace g -> T with Default::default()", MutantOutcome::Unviable),
        ]);
        assert_eq!(parse_record(&format_record(&written)).unwrap(), written);
    }

    #[test]
    fn an_unknown_word_in_a_record_is_an_error() {
        let message = parse_record("lost\ta.rs:1:2: replace f with ()\n").unwrap_err().to_string();
        assert!(message.contains("not a recorded result: lost"), "{message}");
    }

    #[test]
    fn unviable_mutants_do_not_count_and_timeouts_count_as_caught() {
        let outcomes = outcomes(&[
            ("a", MutantOutcome::Caught),
            ("b", MutantOutcome::Caught),
            ("c", MutantOutcome::Timeout),
            ("d", MutantOutcome::Missed),
            ("e", MutantOutcome::Unviable),
            ("not in the sample", MutantOutcome::Missed),
        ]);
        let counts = OutcomeCounts::of_sample(&["a", "b", "c", "d", "e", "f"], &outcomes);
        assert_eq!(counts, OutcomeCounts { caught: 2, timeouts: 1, missed: 1, unviable: 1, untested: 1 });
        assert_eq!(counts.to_string(), "2 caught, 1 timed out, 1 missed, 1 unviable: 75.0 % caught");
    }

    #[test]
    fn a_sample_without_viable_mutants_misses_nothing() {
        assert_eq!(OutcomeCounts::default().to_string(), "0 caught, 0 timed out, 0 missed, 0 unviable: 100.0 % caught");
    }
}
