//! Each file begins with a doc comment.
use super::TidyFinding;
use crate::repository::{RepositoryFile, RepositoryFiles};

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let without_header = repository.rust_files().filter(|file| !has_doc_header(file));
    without_header
        .map(|file| TidyFinding {
            path: file.path.clone(),
            line: 1,
            rule: "header",
            problem: "the file does not begin with a doc comment".to_owned(),
            fix: "begin with `//!` and describe what the file holds".to_owned(),
        })
        .collect()
}

fn has_doc_header(file: &RepositoryFile) -> bool {
    let first_line = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_source = file.path.contains("/src/");
    first_line.starts_with("//!") || !is_source && first_line.starts_with("///")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_begins_with_a_doc_comment() {
        let found = |path, text| check(&RepositoryFiles::from_texts(&[(path, text)])).len();
        assert_eq!(found("crates/a/src/b.rs", "//! Does b.\n"), 0);
        assert_eq!(found("crates/a/src/b.rs", "/// Does b.\nfn b() {}\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", "use std::fs;\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", ""), 1);
        assert_eq!(found("crates/a/tests/b.rs", "/// Does b.\nfn b() {}\n"), 0);
    }
}
