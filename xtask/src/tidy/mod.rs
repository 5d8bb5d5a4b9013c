//! `cargo xtask tidy`: the rules of the house that no compiler holds. A rule is a function and a line in [`RULES`]; its
//! findings say where, what and how to mend it.
mod banned_words;
mod file_headers;
mod file_size;
mod machine_paths;
mod orphan_files;
mod restricted_apis;

use std::fmt;

use crate::error::{Result, XtaskError};
use crate::out;
use crate::repository::{RepositoryFile, RepositoryFiles};

/// Looks at the whole repository and tells what breaks one rule.
type TidyRule = fn(&RepositoryFiles) -> Vec<TidyFinding>;

const RULES: &[TidyRule] = &[
    file_size::check,
    file_headers::check,
    banned_words::check,
    restricted_apis::check,
    orphan_files::check,
    machine_paths::check,
];

/// One breach of one rule.
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
        let Self { path, line, rule, problem: says, fix: mend } = self;
        write!(f, "{path}:{line}: {rule}: {says}\n    mend: {mend}")
    }
}

pub(crate) fn main(args: &[String]) -> Result<()> {
    if let Some(arg) = args.first() {
        return Err(XtaskError::new(format!("tidy takes no argument, and {arg} was given")));
    }
    check()?;
    out::print_line("tidy: the house is in order");
    Ok(())
}

/// Fails when a rule is broken anywhere.
pub(crate) fn check() -> Result<()> {
    let findings = collect_findings(&RepositoryFiles::read()?);
    if findings.is_empty() {
        return Ok(());
    }
    let lines: Vec<_> = findings.iter().map(TidyFinding::to_string).collect();
    let count = findings.len();
    Err(XtaskError::new(format!("{count} {}", if count == 1 { "rule is broken" } else { "rules are broken" }))
        .with_details(lines.join("\n"))
        .with_hint("if a rule is wrong, change it in xtask/src/tidy and say why in the commit"))
}

fn collect_findings(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut findings: Vec<_> = RULES.iter().flat_map(|rule| rule(repository)).collect();
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}

/// Returns the numbers, from 1, of the lines whose code contains a word that is not part of a longer one.
fn lines_with_word(file: &RepositoryFile, word: &str) -> Vec<usize> {
    let hit = |line: &&(usize, &str)| contains_word(line.1, word);
    let lines = file.lines.iter().enumerate().map(|(index, line)| (index + 1, line.code.as_str()));
    lines.collect::<Vec<_>>().iter().filter(hit).map(|(number, _)| *number).collect()
}

/// Tells whether the text contains the word and no letter stands before it.
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
        let said: Vec<_> = collect_findings(&tree).iter().map(TidyFinding::to_string).collect();
        let expected = "crates/ralph-util/src/lib.rs:2: unfinished: `todo!` stands in the code\n    \
                        mend: finish it, or leave it out until it is needed";
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_word_inside_a_longer_one_is_another_word() {
        assert!(contains_word("a Signal::KILL", "Signal::") && !contains_word("PoliteSignal::Term", "Signal::"));
    }

    #[test]
    fn this_repository_has_a_tree_to_look_at() {
        assert!(RepositoryFiles::read().unwrap().get("xtask/src/tidy/mod.rs").is_some());
    }
}
