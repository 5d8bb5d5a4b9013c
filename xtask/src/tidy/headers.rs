//! Each file opens with what it is for.
use super::Finding;
use crate::tree::{File, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let closed = tree.rust().filter(|file| !opens_well(file));
    closed
        .map(|file| Finding {
            path: file.path.clone(),
            line: 1,
            rule: "header",
            says: "the file does not open with a doc comment".to_owned(),
            mend: "begin with `//!`: what this room is for, and what it never does".to_owned(),
        })
        .collect()
}

fn opens_well(file: &File) -> bool {
    let opening = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let is_room = file.path.contains("/src/");
    opening.starts_with("//!") || !is_room && opening.starts_with("///")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opens_with_what_it_is_for() {
        let found = |path, text| check(&Tree::of(&[(path, text)])).len();
        assert_eq!(found("crates/a/src/b.rs", "//! Does b.\n"), 0);
        assert_eq!(found("crates/a/src/b.rs", "/// Does b.\nfn b() {}\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", "use std::fs;\n"), 1);
        assert_eq!(found("crates/a/src/b.rs", ""), 1);
        assert_eq!(found("crates/a/tests/b.rs", "/// Does b.\nfn b() {}\n"), 0);
    }
}
