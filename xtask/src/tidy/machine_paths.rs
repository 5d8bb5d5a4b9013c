//! The repository speaks of itself alone: no path of the machine on which it was written, no private host.
use super::TidyFinding;
use crate::repository::{RepositoryFile, RepositoryFiles};

/// Parted, so that this file does not break its own rule.
const MACHINE_FOLDER: &str = concat!("/wo", "rk/");
const PRIVATE_HOST: &str = concat!("arti", "factory");

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    repository.files.iter().flat_map(find_machine_paths).collect()
}

fn find_machine_paths(file: &RepositoryFile) -> Vec<TidyFinding> {
    // The labelled outputs name made-up folders.
    let is_corpus = file.path.ends_with(".jsonl");
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if !is_corpus && has_path(line, MACHINE_FOLDER) {
            findings.push(machine_path_finding(file, index + 1, MACHINE_FOLDER));
        }
        if line.to_ascii_lowercase().contains(PRIVATE_HOST) {
            findings.push(machine_path_finding(file, index + 1, PRIVATE_HOST));
        }
    }
    findings
}

/// Tells whether an absolute path begins so. `it/that/…` in a list of words is none.
fn has_path(line: &str, folder: &str) -> bool {
    let inside_word =
        |at: usize| line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c));
    line.match_indices(folder).any(|(at, _)| !inside_word(at))
}

fn machine_path_finding(file: &RepositoryFile, line: usize, what: &str) -> TidyFinding {
    TidyFinding {
        path: file.path.clone(),
        line,
        rule: "places",
        problem: format!("`{what}` names a machine, not this project"),
        fix: "write a path from the root of the repository, or a public address".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_a_machine_is_found_in_any_file() {
        let text = format!("see {MACHINE_FOLDER}notes\nhttps://{PRIVATE_HOST}.example/\n");
        let lines: Vec<_> =
            check(&RepositoryFiles::from_texts(&[("README.md", &text)])).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn words_with_slashes_are_not_paths() {
        let text = format!("it/this{MACHINE_FOLDER}task");
        assert!(check(&RepositoryFiles::from_texts(&[("a.rs", &text)])).is_empty());
    }
}
