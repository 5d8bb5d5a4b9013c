//! Parses the file of an exported run, and accepts nothing that ralph would not have written.
use std::io::BufRead;

use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use ralph_store::{EXPORT_VERSION, ExportHeader, ImportedFact};
use ralph_util::bounded_lines::BoundedLines;
use serde::Deserialize;

use super::ExportedRun;

/// No fact is longer: its quotes of an agent are bounded.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// No single run writes more.
const MAX_FACTS: usize = 4_000_000;

/// The mistake in a line of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineError {
    pub line: usize,
    pub message: String,
}

impl LineError {
    fn new(line: usize, message: impl Into<String>) -> Self {
        Self { line, message: message.into() }
    }
}

/// A line and its number.
struct NumberedLine {
    number: usize,
    bytes: Vec<u8>,
}

/// The place of a fact in the journal.
#[derive(Debug, Deserialize)]
struct FactEnvelope {
    run: String,
    seq: i64,
    at: String,
}

/// Parses a whole file.
pub(super) fn parse_export(reader: impl BufRead) -> Result<ExportedRun, LineError> {
    let mut lines = BoundedLines::new(reader, MAX_LINE_BYTES);
    let first = read_line(&mut lines)?.ok_or_else(|| LineError::new(1, "the file is empty"))?;
    let header = parse_header(&first.bytes).map_err(|message| LineError::new(1, message))?;
    let mut facts = Vec::new();
    while let Some(NumberedLine { number, bytes }) = read_line(&mut lines)? {
        facts.push(parse_fact(&header, &bytes).map_err(|message| LineError::new(number, message))?);
        if facts.len() > MAX_FACTS {
            return Err(LineError::new(number, format!("one run does not write more than {MAX_FACTS} facts")));
        }
    }
    validate_journal(&header, &facts).map_err(|message| LineError::new(facts.len() + 1, message))?;
    Ok(ExportedRun { header, facts })
}

fn read_line(lines: &mut BoundedLines<impl BufRead>) -> Result<Option<NumberedLine>, LineError> {
    let line = lines.next_line();
    let number = lines.line_number();
    let line = line.map_err(|error| LineError::new(number, error.to_string()))?;
    Ok(line.map(|bytes| NumberedLine { number, bytes }))
}

fn parse_header(line: &[u8]) -> Result<ExportHeader, String> {
    let header: ExportHeader =
        serde_json::from_slice(line).map_err(|error| format!("this is not the header of a run: {error}"))?;
    if header.ralph_export > EXPORT_VERSION {
        return Err(format!("format {} is newer than this ralph, which knows {EXPORT_VERSION}", header.ralph_export));
    }
    if header.id.parse::<uuid::Uuid>().is_err() {
        return Err("the id is not a UUID".to_owned());
    }
    Ok(header)
}

fn parse_fact(header: &ExportHeader, line: &[u8]) -> Result<ImportedFact, String> {
    let envelope: FactEnvelope = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if envelope.run != header.id {
        return Err(format!("this fact belongs to run {}, not to {}", envelope.run, header.id));
    }
    let fact: Fact = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let at: jiff::Timestamp = envelope.at.parse().map_err(|error| format!("at is not a time: {error}"))?;
    Ok(ImportedFact { seq: envelope.seq, at: UnixMillis(at.as_millisecond()), fact })
}

fn validate_journal(header: &ExportHeader, facts: &[ImportedFact]) -> Result<(), String> {
    if i64::try_from(facts.len()).is_ok_and(|found| found != header.facts) {
        return Err(format!("the file was cut: the header announces {} facts, it has {}", header.facts, facts.len()));
    }
    if facts.iter().zip(1..).any(|(fact, number)| fact.seq != number) {
        return Err("the facts are not numbered from 1 without gaps".to_owned());
    }
    let journal: Vec<Fact> = facts.iter().map(|imported| imported.fact.clone()).collect();
    ralph_core::journal::check_facts(&journal).map_err(|unsound| unsound.to_string())?;
    if journal.iter().all(|fact| has_valid_receipt(fact, &header.id)) {
        return Ok(());
    }
    Err("a receipt has another hash, or belongs to another run".to_owned())
}

/// Returns whether a fact, if it is a receipt, is complete and belongs to this run.
fn has_valid_receipt(fact: &Fact, run: &str) -> bool {
    let Fact::Receipt { receipt, sha256 } = fact else { return true };
    receipt.input.run == run
        && ralph_store::receipt_file::canonical_json(receipt)
            .is_ok_and(|text| ralph_util::digest::sha256_hex(text) == *sha256)
}
