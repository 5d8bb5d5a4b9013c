//! Each file opens with what it is for.
use super::TidyFinding;
use crate::repository::{RepositoryFile, RepositoryFiles};

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let closed = repository.rust_files().filter(|file| !has_doc_header(file));
    closed
        .map(|file| TidyFinding {
            path: file.path.clone(),
            line: 1,
            rule: "header",
            problem: "the file does not open with a doc comment".to_owned(),
            fix: "begin with `//!`: what this room is for, and what it never does".to_owned(),
        })
        .collect()
}

fn has_doc_header(file: &RepositoryFile) -> bool {
    let opening = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_room = file.path.contains("/src/");
    opening.starts_with("//!") || !is_room && opening.starts_with("///")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opens_with_what_it_is_for() {
        let found = |path, text| check(&RepositoryFiles::from_texts(&[(path, text)])).len();
        assert_eq!(found("crates/a/src/b.rs", "//! Does b.\n"), 0);
        assert_eq!(found("crates/a/src/b.rs", "/// Does b.\nfn b() {}\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", "use std::fs;\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", ""), 1);
        assert_eq!(found("crates/a/tests/b.rs", "/// Does b.\nfn b() {}\n"), 0);
    }
}
