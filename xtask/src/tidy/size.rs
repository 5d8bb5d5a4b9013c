//! A file is one page of thought: at most 500 lines.
use super::Finding;
use crate::tree::Tree;

const MOST_LINES: usize = 500;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let long = tree.rust().filter(|file| file.lines.len() > MOST_LINES);
    long.map(|file| Finding {
        path: file.path.clone(),
        line: MOST_LINES + 1,
        rule: "size",
        says: format!("{} lines, and {MOST_LINES} are allowed", file.lines.len()),
        mend: "part it by what its halves are for, and name each file after that".to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_500_lines_is_long_enough() {
        let lines = |count: usize| "//! A.\n".repeat(count);
        assert!(check(&Tree::of(&[("a.rs", &lines(500))])).is_empty());
        let found = check(&Tree::of(&[("a.rs", &lines(501)), ("data.jsonl", &lines(501))]));
        assert_eq!(found.len(), 1);
        assert!(found[0].says.starts_with("501 lines"));
    }
}
