//! A file has at most 500 lines.
use super::TidyFinding;
use crate::repository::RepositoryFiles;

const MAX_FILE_LINES: usize = 500;

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let long = repository.rust_files().filter(|file| file.lines.len() > MAX_FILE_LINES);
    long.map(|file| TidyFinding {
        path: file.path.clone(),
        line: MAX_FILE_LINES + 1,
        rule: "size",
        problem: format!("{} lines, at most {MAX_FILE_LINES} are allowed", file.lines.len()),
        fix: "split it by purpose, and name each file after its purpose".to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_500_lines() {
        let lines = |count: usize| "//! A.\n".repeat(count);
        assert!(check(&RepositoryFiles::from_texts(&[("a.rs", &lines(500))])).is_empty());
        let found = check(&RepositoryFiles::from_texts(&[("a.rs", &lines(501)), ("data.jsonl", &lines(501))]));
        assert_eq!(found.len(), 1);
        assert!(found[0].problem.starts_with("501 lines"));
    }
}
