//! `cargo xtask tidy`: checks project rules that the compiler does not check. A rule is a function and an entry in
//! [`RULES`]; its findings name the place, the problem and the fix.
mod banned_words;
mod command_lines;
mod file_headers;
mod file_size;
mod machine_paths;
mod orphan_files;
mod restricted_apis;

use std::fmt;

use crate::error::{Result, XtaskError};
use crate::out;
use crate::repository::{RepositoryFile, RepositoryFiles};

/// Checks the repository for violations of one rule.
type TidyRule = fn(&RepositoryFiles) -> Vec<TidyFinding>;

const RULES: &[TidyRule] = &[
    file_size::check,
    file_headers::check,
    banned_words::check,
    restricted_apis::check,
    orphan_files::check,
    machine_paths::check,
    command_lines::check,
];

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TidyFinding {
    path: String,
    line: usize,
    rule: &'static str,
    problem: String,
    fix: String,
}

impl fmt::Display for TidyFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, problem, fix } = self;
        write!(f, "{path}:{line}: {rule}: {problem}\n    fix: {fix}")
    }
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        return Err(XtaskError::new(format!("unexpected argument {arg}: tidy accepts none")));
    }
    check()?;
    out::print_line("tidy: no findings");
    Ok(())
}

/// Fails if any file violates a rule.
pub(crate) fn check() -> Result<()> {
    let findings = collect_findings(&RepositoryFiles::read()?);
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = findings.iter().map(TidyFinding::to_string).collect();
    let count = findings.len();
    Err(XtaskError::new(format!("tidy: {count} {}", if count == 1 { "finding" } else { "findings" }))
        .with_details(lines.join("\n"))
        .with_hint("if a rule is wrong, change it in xtask/src/tidy and give the reason in the commit message"))
}

fn collect_findings(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(repository)).collect();
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}

/// Returns the numbers of the lines whose code contains the word, but not as the end of a longer word.
fn lines_with_word(file: &RepositoryFile, word: &str) -> Vec<usize> {
    let hit = |line: &&(usize, &str)| contains_word(line.1, word);
    let lines = file.lines.iter().enumerate().map(|(index, line)| (index + 1, line.code.as_str()));
    lines.collect::<Vec<_>>().iter().filter(hit).map(|(number, _)| *number).collect()
}

/// Returns whether the text contains the word without a letter before it.
fn contains_word(text: &str, word: &str) -> bool {
    let part_of_longer = |at: usize| text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| !part_of_longer(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_names_the_place_the_problem_and_the_fix() {
        let tree = RepositoryFiles::from_texts(&[("crates/ralph-util/src/lib.rs", "//! A.\nfn a() { todo!() }\n")]);
        let shown: Vec<_> = collect_findings(&tree).iter().map(TidyFinding::to_string).collect();
        let expected = "crates/ralph-util/src/lib.rs:2: unfinished: `todo!` is not allowed\n    \
                        fix: implement it, or remove it until it is needed";
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn the_end_of_a_longer_word_does_not_match() {
        assert!(contains_word("a Signal::KILL", "Signal::") && !contains_word("GracefulSignal::Term", "Signal::"));
    }

    #[test]
    fn this_repository_can_be_read() {
        assert!(RepositoryFiles::read().unwrap().get("xtask/src/tidy/mod.rs").is_some());
    }
}
