//! The repository contains no paths of a specific machine and no private host names.
use super::TidyFinding;
use crate::repository::{RepositoryFile, RepositoryFiles};

/// Split, so that this file does not break its own rule.
const MACHINE_FOLDER: &str = concat!("/wo", "rk/");
const PRIVATE_HOST: &str = concat!("arti", "factory");

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    repository.files.iter().flat_map(find_machine_paths).collect()
}

fn find_machine_paths(file: &RepositoryFile) -> Vec<TidyFinding> {
    // The corpus of labelled outputs contains invented paths.
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

/// Returns whether the line contains an absolute path in the folder. `it/that/…` in a list of words is not one.
fn has_path(line: &str, folder: &str) -> bool {
    let inside_word =
        |at: usize| line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || "-_.".contains(c));
    line.match_indices(folder).any(|(at, _)| !inside_word(at))
}

fn machine_path_finding(file: &RepositoryFile, line: usize, text: &str) -> TidyFinding {
    TidyFinding {
        path: file.path.clone(),
        line,
        rule: "machine path",
        problem: format!("`{text}` refers to a specific machine"),
        fix: "write a path relative to the repository root, or a public address".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_path_is_found_in_any_file() {
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
