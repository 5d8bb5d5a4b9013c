//! `cargo xtask mutants [--sample N] [--seed N] [--resume]`: tests the tests of the deciding rules. It runs cargo-mutants on a
//! seeded sample of the mutants in these files, with the unit tests of ralph-core alone, and fails if too few are caught.
//! CI does not run it, because it takes hours. It never changes the working tree: cargo-mutants works in a copy.
mod outcomes;
mod sample;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::agents::cache_folder;
use crate::command_line::{CommandLine, repository_root};
use crate::error::{Result, XtaskError};
use crate::out;

use outcomes::{MutantOutcome, OutcomeCounts};

const VERSION: &str = "27.1.0";

/// The sources of the rules that decide whether work is done, relative to the sources of ralph-core.
const DECIDING_RULES: [&str; 11] = [
    "checks/seal.rs",
    "criterion/",
    "evidence/",
    "limits/budget.rs",
    "limits/stall.rs",
    "pipeline/",
    "protected/",
    "receipt/proof_level.rs",
    "session_loop/",
    "step/",
    "workflow/graph/",
];

const RULES_FOLDER: &str = "crates/ralph-core/src";

const DEFAULT_SAMPLE: usize = 400;
const DEFAULT_SEED: u64 = 17;

/// The share of the viable mutants that the tests must catch.
const REQUIRED_PERCENT: f64 = 95.0;

/// Build folder, copy of the tree and results, relative to the root.
const WORK_FOLDER: &str = "target/mutants";

/// The results of earlier runs, in the work folder. `--resume` reads it.
const RECORDED_OUTCOMES: &str = "outcomes.txt";

/// Every mutant is a build of ralph-core. Optimising it would cost more time than the tests need without.
const UNIT_TESTS_WITH_FAST_BUILDS: [&str; 4] =
    ["--cargo-arg", "--lib", "--cargo-arg", "--config=profile.dev.package.ralph-core.opt-level=0"];

/// A mutant counts as timed out after this time at least. The unit tests take seconds, but a loaded machine may slow them
/// down after cargo-mutants has measured them, and a timeout counts as caught.
const MINIMUM_TEST_TIMEOUT_SECONDS: &str = "120";

/// Modules whose tests are slow and do not test a deciding rule.
const UNRELATED_TESTS: [&str; 6] =
    ["claim::", "contradiction::", "judge::", "redact::", "workflow::output_schema::", "workflow::shell::"];

/// The exit codes with which cargo-mutants reports results: all caught, some missed, some timed out.
const EXIT_CODES_WITH_RESULTS: [i32; 3] = [0, 2, 3];

#[derive(Debug, PartialEq, Eq)]
struct MutantOptions {
    sample: usize,
    seed: u64,
    /// Keeps the results of earlier runs, except for missed mutants.
    resume: bool,
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    let options = parse_options(args)?;
    let program = install()?;
    let mutants = list_mutants(&program)?;
    let sample = sample::choose_sample(&mutants, options.sample, options.seed);
    let mut outcomes = if options.resume { read_earlier_outcomes(&sample)? } else { BTreeMap::new() };
    write_outcomes(&outcomes)?;
    let is_open = |name: &str| sample.contains(&name) && !outcomes.contains_key(name);
    let (open, skipped): (Vec<&str>, Vec<&str>) = mutants.iter().map(String::as_str).partition(|name| is_open(name));
    out::print_line(&format!(
        "mutants: {} in the deciding rules; sample of {} with seed {}, {} to test",
        mutants.len(),
        sample.len(),
        options.seed,
        open.len()
    ));
    if !open.is_empty() {
        run_mutants(&program, &skipped)?;
        outcomes.extend(read_last_outcomes()?);
    }
    write_outcomes(&outcomes)?;
    let counts = OutcomeCounts::of_sample(&sample, &outcomes);
    for name in sample.iter().filter(|name| outcomes.get(**name) == Some(&MutantOutcome::Missed)) {
        out::print_line(&format!("missed   {name}"));
    }
    out::print_line(&format!("mutants: {counts}"));
    check_counts(&counts)
}

fn parse_options(args: &[String]) -> Result<MutantOptions> {
    let mut options = MutantOptions { sample: DEFAULT_SAMPLE, seed: DEFAULT_SEED, resume: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--sample" => options.sample = parse_number(arg, args.next())?,
            "--seed" => options.seed = parse_number(arg, args.next())?,
            "--resume" => options.resume = true,
            _ => {
                return Err(XtaskError::new(format!("unknown argument {arg} for mutants"))
                    .with_hint("use --sample N, --seed N or --resume"));
            }
        }
    }
    Ok(options)
}

fn parse_number<N: std::str::FromStr>(option: &str, value: Option<&String>) -> Result<N> {
    let number = value.and_then(|value| value.parse().ok());
    number.ok_or_else(|| XtaskError::new(format!("{option} needs a number")))
}

/// Installs cargo-mutants into the cache if necessary, and returns its path.
fn install() -> Result<String> {
    let folder = cache_folder()?.join(format!("cargo-mutants-{VERSION}"));
    let program = folder.join("bin/cargo-mutants");
    if !program.is_file() {
        out::print_line(&format!("installing cargo-mutants {VERSION} (takes some minutes)"));
        let root = folder.display().to_string();
        CommandLine::parse("cargo install --locked --quiet cargo-mutants --version")
            .args([VERSION, "--root", &root])
            .run_quietly()?;
    }
    Ok(program.display().to_string())
}

fn list_mutants(program: &str) -> Result<Vec<String>> {
    let listed = mutants_command(program).args(["--list", "--colors", "never"]).read_stdout()?;
    let mutants: Vec<String> = listed.lines().map(str::to_owned).collect();
    for rule in DECIDING_RULES {
        let path = format!("{RULES_FOLDER}/{rule}");
        if !mutants.iter().any(|mutant| mutant.starts_with(&path)) {
            return Err(XtaskError::new(format!("cargo-mutants found no mutant in {path}")));
        }
    }
    Ok(mutants)
}

/// Tests the mutants, except for the skipped ones, and prints each that is missed.
fn run_mutants(program: &str, skipped: &[&str]) -> Result<()> {
    let folder = work_folder();
    let copies = folder.join("tmp");
    fs::create_dir_all(&copies).map_err(|error| XtaskError::with_cause(copies.display(), error))?;
    write_skipped(skipped)?;
    let line = mutants_command(program)
        .args(["--iterate", "--shuffle", "--jobs", "1", "--colors", "never", "--no-times", "--output"])
        .args([folder.display().to_string()])
        .args(["--minimum-test-timeout", MINIMUM_TEST_TIMEOUT_SECONDS])
        .args(UNIT_TESTS_WITH_FAST_BUILDS)
        .args(["--", "--"])
        .args(UNRELATED_TESTS.iter().flat_map(|module| ["--skip", module]))
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env("TMPDIR", copies.display().to_string())
        .env("CARGO_TARGET_DIR", folder.join("build").display().to_string());
    let status = line.to_command().status().map_err(|error| XtaskError::with_cause(program, error))?;
    if status.code().is_some_and(|code| EXIT_CODES_WITH_RESULTS.contains(&code)) {
        return Ok(());
    }
    Err(XtaskError::new(format!("cargo-mutants ended with {status}"))
        .with_hint("check that `cargo test -p ralph-core --lib` passes"))
}

/// Replaces the results of the last run by a list of mutants that `--iterate` skips. The option `--re` would not do: it does
/// not apply to mutants that delete a field.
fn write_skipped(skipped: &[&str]) -> Result<()> {
    let folder = results_folder();
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    }
    let list = folder.join("previously_caught.txt");
    fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&list, skipped.join("\n")))
        .map_err(|error| XtaskError::with_cause(list.display(), error))
}

fn mutants_command(program: &str) -> CommandLine {
    let files = DECIDING_RULES.iter().flat_map(|rule| ["--file".to_owned(), file_glob(rule)]);
    CommandLine::parse(program).args(["mutants", "--no-config", "--package", "ralph-core"]).args(files)
}

fn file_glob(rule: &str) -> String {
    let everything_below = if rule.ends_with('/') { "**/*.rs" } else { "" };
    format!("{RULES_FOLDER}/{rule}{everything_below}")
}

fn work_folder() -> PathBuf {
    repository_root().join(WORK_FOLDER)
}

/// The folder in which cargo-mutants writes the results of a run.
fn results_folder() -> PathBuf {
    work_folder().join("mutants.out")
}

/// Reads the results of earlier runs, including one that was interrupted. Missed mutants are tested again.
fn read_earlier_outcomes(sample: &[&str]) -> Result<BTreeMap<String, MutantOutcome>> {
    let recorded = fs::read_to_string(work_folder().join(RECORDED_OUTCOMES)).unwrap_or_default();
    let mut outcomes = outcomes::parse_record(&recorded)?;
    outcomes.extend(read_last_outcomes()?);
    outcomes.retain(|name, outcome| *outcome != MutantOutcome::Missed && sample.contains(&name.as_str()));
    Ok(outcomes)
}

/// Reads what cargo-mutants has written so far: one file for each kind of result.
fn read_last_outcomes() -> Result<BTreeMap<String, MutantOutcome>> {
    let mut outcomes = BTreeMap::new();
    for outcome in MutantOutcome::ALL {
        let path = results_folder().join(format!("{}.txt", outcome.word()));
        if path.is_file() {
            let names = fs::read_to_string(&path).map_err(|error| XtaskError::with_cause(path.display(), error))?;
            outcomes.extend(names.lines().map(|name| (name.to_owned(), outcome)));
        }
    }
    Ok(outcomes)
}

fn write_outcomes(outcomes: &BTreeMap<String, MutantOutcome>) -> Result<()> {
    let path = work_folder().join(RECORDED_OUTCOMES);
    fs::create_dir_all(work_folder()).map_err(|error| XtaskError::with_cause(WORK_FOLDER, error))?;
    fs::write(&path, outcomes::format_record(outcomes)).map_err(|error| XtaskError::with_cause(path.display(), error))
}

/// Fails if too few mutants are caught, or if some have no result.
fn check_counts(counts: &OutcomeCounts) -> Result<()> {
    if counts.untested > 0 {
        return Err(XtaskError::new(format!("{} mutants have no result", counts.untested))
            .with_hint("run the command again with --resume"));
    }
    if counts.caught_percent() < REQUIRED_PERCENT {
        return Err(XtaskError::new(format!("the tests catch less than {REQUIRED_PERCENT} % of the viable mutants"))
            .with_hint("add a test for each missed mutant, then run the command again with --resume"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<MutantOptions> {
        parse_options(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn sample_and_seed_have_fixed_defaults_that_options_replace() {
        assert_eq!(parse(&[]).unwrap(), MutantOptions { sample: 400, seed: 17, resume: false });
        let chosen = parse(&["--seed", "3", "--sample", "60", "--resume"]).unwrap();
        assert_eq!(chosen, MutantOptions { sample: 60, seed: 3, resume: true });
    }

    #[test]
    fn a_wrong_argument_is_refused() {
        assert!(parse(&["--sample"]).unwrap_err().to_string().contains("--sample needs a number"));
        assert!(parse(&["--seed", "x"]).unwrap_err().to_string().contains("--seed needs a number"));
        assert!(parse(&["--all"]).unwrap_err().to_string().contains("unknown argument --all"));
    }

    #[test]
    fn every_deciding_rule_exists() {
        for rule in DECIDING_RULES {
            let path = repository_root().join(RULES_FOLDER).join(rule);
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_selects_every_file_below_it() {
        assert_eq!(file_glob("step/"), "crates/ralph-core/src/step/**/*.rs");
        assert_eq!(file_glob("checks/seal.rs"), "crates/ralph-core/src/checks/seal.rs");
    }

    #[test]
    fn less_than_the_required_share_is_a_failure_and_so_is_a_missing_result() {
        let counts = |caught, missed, untested| OutcomeCounts { caught, missed, untested, ..OutcomeCounts::default() };
        assert_eq!(check_counts(&counts(19, 1, 0)), Ok(()));
        let message = check_counts(&counts(18, 1, 0)).unwrap_err().to_string();
        assert!(message.contains("less than 95 % of the viable mutants"), "{message}");
        let message = check_counts(&counts(19, 0, 1)).unwrap_err().to_string();
        assert!(message.contains("1 mutants have no result"), "{message}");
    }
}
