//! `ralph import`.
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use ralph_core::event::UnixMillis;
use ralph_core::fact::Fact;
use serde::Deserialize;

use super::{block_on, out};
use crate::error::CommandError;
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_store::{EXPORT_VERSION, ExportHeader, ImportedFact, OpenMode, Store};
use ralph_util::bounded_lines::BoundedLines;

/// Reads in a run that `ralph export` wrote
///
/// All or nothing: a file with a mistake changes nothing, and a run that is already here is refused.
#[derive(Debug, Args)]
pub struct ImportArgs {
    file: PathBuf,
}

/// No fact is longer: what it quotes of an agent is bounded.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// More was not written by one run.
const MAX_FACTS: usize = 4_000_000;

/// The place of a fact in the journal.
#[derive(Debug, Deserialize)]
struct FactEnvelope {
    run: String,
    seq: i64,
    at: String,
}

pub fn run(args: &ImportArgs) -> Result<u8, CommandError> {
    let name = args.file.display();
    let file = File::open(&args.file)
        .map_err(|error| CommandError::preflight_error(format!("the file {name} cannot be read")).with_cause(error))?;
    let lines = NumberedLines(BoundedLines::new(BufReader::new(file), MAX_LINE_BYTES));
    let (header, facts) = parse_export(lines).map_err(|(line, why)| {
        CommandError::preflight_error(format!("{name}, line {line}: {why}"))
            .with_hint("`ralph export` writes such files; nothing was stored")
    })?;
    block_on(async {
        let project = Project::find_here()?;
        let Some(store) = Store::open(&project.state_folder(), OpenMode::Create).await? else { return Ok(0) };
        if !store.find_runs_by_id_part(&header.id).await?.is_empty() {
            return Err(CommandError::preflight_error(format!("run {} is already here", header.id)));
        }
        store.import_run(&header, &facts).await?;
        out::print_note(&format!("run {} is here now: ralph show {}", header.id, short_id(&header.id)));
        Ok(0)
    })
}

/// The numbered lines of the file; one that cannot be read names itself.
struct NumberedLines(BoundedLines<BufReader<File>>);

impl Iterator for NumberedLines {
    type Item = Result<(usize, Vec<u8>), (usize, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.0.next_line();
        let number = self.0.line_number();
        line.map_err(|error| (number, error.to_string())).transpose().map(|line| Ok((number, line?)))
    }
}

/// Parses a whole file; an error names its line.
fn parse_export(mut lines: NumberedLines) -> Result<(ExportHeader, Vec<ImportedFact>), (usize, String)> {
    let (_, first) = lines.next().unwrap_or_else(|| Err((1, "the file is empty".to_owned())))?;
    let header: ExportHeader =
        serde_json::from_slice(&first).map_err(|error| (1, format!("this is no header of a run: {error}")))?;
    if header.ralph_export > EXPORT_VERSION {
        let why = format!("format {} is newer than this ralph, which knows {EXPORT_VERSION}", header.ralph_export);
        return Err((1, why));
    }
    if header.id.parse::<uuid::Uuid>().is_err() {
        return Err((1, "the id is no UUID".to_owned()));
    }
    let mut facts = Vec::new();
    for line in lines {
        let (number, line) = line?;
        facts.push(parse_fact(&header, &line).map_err(|why| (number, why))?);
        if facts.len() > MAX_FACTS {
            return Err((number, format!("more than {MAX_FACTS} facts are no journal of one run")));
        }
    }
    validate_journal(&header, &facts).map_err(|why| (facts.len() + 1, why))?;
    Ok((header, facts))
}

/// Believes nothing that ralph would not have written.
fn validate_journal(header: &ExportHeader, facts: &[ImportedFact]) -> Result<(), String> {
    if i64::try_from(facts.len()).is_ok_and(|found| found != header.facts) {
        return Err(format!("the file was cut: {} facts are announced, {} are here", header.facts, facts.len()));
    }
    if facts.iter().zip(1..).any(|(fact, number)| fact.seq != number) {
        return Err("the facts are not numbered from 1 without gaps".to_owned());
    }
    let journal: Vec<Fact> = facts.iter().map(|imported| imported.fact.clone()).collect();
    ralph_core::journal::check_facts(&journal).map_err(|unsound| unsound.to_string())?;
    if journal.iter().all(|fact| has_valid_receipt(fact, &header.id)) {
        return Ok(());
    }
    Err("a receipt has another hash, or is of another run".to_owned())
}

fn parse_fact(header: &ExportHeader, line: &[u8]) -> Result<ImportedFact, String> {
    let place: FactEnvelope = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if place.run != header.id {
        return Err(format!("this fact belongs to run {}, not to {}", place.run, header.id));
    }
    let fact: Fact = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let at: jiff::Timestamp = place.at.parse().map_err(|error| format!("at is no time: {error}"))?;
    Ok(ImportedFact { seq: place.seq, at: UnixMillis(at.as_millisecond()), fact })
}

/// Tells whether a fact, if it is a receipt, is whole and of this run.
fn has_valid_receipt(fact: &Fact, run: &str) -> bool {
    let Fact::Receipt { receipt, sha256 } = fact else { return true };
    receipt.input.run == run
        && ralph_store::receipt_file::canonical_json(receipt)
            .is_ok_and(|text| ralph_util::digest::sha256_hex(text) == *sha256)
}
