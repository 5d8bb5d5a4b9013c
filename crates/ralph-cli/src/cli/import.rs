//! `ralph import`.
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use clap::Args;
use ralph_core::event::Millis;
use ralph_core::fact::Fact;
use serde::Deserialize;

use super::{block_on, out};
use crate::error::Failure;
use ralph_app::view::short_id;
use ralph_engine::project::Project;
use ralph_store::{EXPORT_VERSION, ImportedFact, Opening, RunHeader, Store};
use ralph_util::bounded_lines::BoundedLines;

/// Reads in a run that `ralph export` wrote
///
/// All or nothing: a file with a mistake changes nothing, and a run that is already here is refused.
#[derive(Debug, Args)]
pub struct ImportArgs {
    file: PathBuf,
}

/// No fact is longer: what it quotes of an agent is bounded.
const LONGEST_LINE: u64 = 16 << 20;

/// More was not written by one run.
const MOST_FACTS: usize = 4_000_000;

/// The place of a fact in the journal.
#[derive(Debug, Deserialize)]
struct Place {
    run: String,
    seq: i64,
    at: String,
}

pub fn run(args: &ImportArgs) -> Result<u8, Failure> {
    let name = args.file.display();
    let file = File::open(&args.file)
        .map_err(|error| Failure::preflight(format!("the file {name} cannot be read")).cause(error))?;
    let lines = Lines(BoundedLines::new(BufReader::new(file), LONGEST_LINE));
    let (header, facts) = parse(lines).map_err(|(line, why)| {
        Failure::preflight(format!("{name}, line {line}: {why}"))
            .hint("`ralph export` writes such files; nothing was stored")
    })?;
    block_on(async {
        let project = Project::here()?;
        let Some(store) = Store::open(&project.state(), Opening::Create).await? else { return Ok(0) };
        if !store.runs_like(&header.id).await?.is_empty() {
            return Err(Failure::preflight(format!("run {} is already here", header.id)));
        }
        store.import(&header, &facts).await?;
        out::note(&format!("run {} is here now: ralph show {}", header.id, short_id(&header.id)));
        Ok(0)
    })
}

/// The numbered lines of the file; one that cannot be read names itself.
struct Lines(BoundedLines<BufReader<File>>);

impl Iterator for Lines {
    type Item = Result<(usize, Vec<u8>), (usize, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.0.next_line();
        let number = self.0.number();
        line.map_err(|error| (number, error.to_string())).transpose().map(|line| Ok((number, line?)))
    }
}

/// Parses a whole file; an error names its line.
fn parse(mut lines: Lines) -> Result<(RunHeader, Vec<ImportedFact>), (usize, String)> {
    let (_, first) = lines.next().unwrap_or_else(|| Err((1, "the file is empty".to_owned())))?;
    let header: RunHeader = serde_json::from_slice(&first)
        .map_err(|error| (1, format!("this is no header of a run: {error}")))?;
    if header.ralph_export > EXPORT_VERSION {
        let why =
            format!("format {} is newer than this ralph, which knows {EXPORT_VERSION}", header.ralph_export);
        return Err((1, why));
    }
    if header.id.parse::<uuid::Uuid>().is_err() {
        return Err((1, "the id is no UUID".to_owned()));
    }
    let mut facts = Vec::new();
    for line in lines {
        let (number, line) = line?;
        facts.push(fact(&header, &line).map_err(|why| (number, why))?);
        if facts.len() > MOST_FACTS {
            return Err((number, format!("more than {MOST_FACTS} facts are no journal of one run")));
        }
    }
    sound(&header, &facts).map_err(|why| (facts.len() + 1, why))?;
    Ok((header, facts))
}

/// Believes nothing that ralph would not have written.
fn sound(header: &RunHeader, facts: &[ImportedFact]) -> Result<(), String> {
    if i64::try_from(facts.len()).is_ok_and(|found| found != header.facts) {
        return Err(format!(
            "the file was cut: {} facts are announced, {} are here",
            header.facts,
            facts.len()
        ));
    }
    if facts.iter().zip(1..).any(|(fact, number)| fact.seq != number) {
        return Err("the facts are not numbered from 1 without gaps".to_owned());
    }
    let journal: Vec<Fact> = facts.iter().map(|imported| imported.fact.clone()).collect();
    ralph_core::journal::check(&journal).map_err(|unsound| unsound.to_string())?;
    if journal.iter().all(|fact| is_genuine(fact, &header.id)) {
        return Ok(());
    }
    Err("a receipt has another hash, or is of another run".to_owned())
}

fn fact(header: &RunHeader, line: &[u8]) -> Result<ImportedFact, String> {
    let place: Place = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if place.run != header.id {
        return Err(format!("this fact belongs to run {}, not to {}", place.run, header.id));
    }
    let fact: Fact = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let at: jiff::Timestamp = place.at.parse().map_err(|error| format!("at is no time: {error}"))?;
    Ok(ImportedFact { seq: place.seq, at: Millis(at.as_millisecond()), fact })
}

/// Tells whether a fact, if it is a receipt, is whole and of this run.
fn is_genuine(fact: &Fact, run: &str) -> bool {
    let Fact::Receipt { receipt, sha256 } = fact else { return true };
    receipt.given.run == run
        && ralph_store::receipt::canonical(receipt)
            .is_ok_and(|text| ralph_util::digest::sha256(text) == *sha256)
}
