//! Every Rust file must be part of a crate or test.
use std::collections::BTreeSet;

use super::TidyFinding;
use crate::repository::{RepositoryFile, RepositoryFiles};

pub(super) fn check(repository: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&RepositoryFile> = repository.rust_files().filter(|file| is_crate_root(&file.path)).collect();
    while let Some(file) = open.pop() {
        if reached.insert(file.path.as_str()) {
            open.extend(module_paths(file).iter().filter_map(|path| repository.get(path)));
        }
    }
    repository.rust_files().filter(|file| !reached.contains(file.path.as_str())).map(orphan_finding).collect()
}

fn orphan_finding(file: &RepositoryFile) -> TidyFinding {
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    TidyFinding {
        path: file.path.clone(),
        line: 1,
        rule: "orphan file",
        problem: "no `mod` declaration includes this file, so it is never compiled".to_owned(),
        fix: format!("declare it in the parent module of {folder}/ (for tests: main.rs), or remove it"),
    }
}

/// Returns whether the file is the root of a crate, program or test.
fn is_crate_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let program =
        matches!(parts.as_slice(), [.., "src", "lib.rs" | "main.rs"] | [.., "src", "bin", _] | [.., "build.rs"]);
    let alone = matches!(parts.as_slice(), [.., "tests" | "benches" | "examples", _]);
    let with_folder = matches!(parts.as_slice(), [.., "tests" | "testing", _, "main.rs"]);
    program || alone || with_folder
}

/// Returns the possible paths of the modules that the file declares.
fn module_paths(file: &RepositoryFile) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let owns_folder = is_crate_root(&file.path) || name == "mod.rs";
    let module_folder =
        if owns_folder { folder.to_owned() } else { format!("{folder}/{}", name.trim_end_matches(".rs")) };
    let raw: Vec<&str> = file.text.lines().collect();
    let mut paths = Vec::new();
    for (index, line) in file.lines.iter().enumerate() {
        let Some(module) = declared_module(&line.code) else { continue };
        let above = index.checked_sub(1).and_then(|above| raw.get(above)).copied().unwrap_or_default();
        match path_attribute(above).or_else(|| path_attribute(raw.get(index).copied().unwrap_or_default())) {
            Some(path) => paths.push(format!("{folder}/{path}")),
            None => paths.extend([format!("{module_folder}/{module}.rs"), format!("{module_folder}/{module}/mod.rs")]),
        }
    }
    paths
}

/// Returns the module name of a `mod name;` declaration.
fn declared_module(code: &str) -> Option<&str> {
    let (before, rest) = code.split_once("mod ")?;
    let fits = before.is_empty() || before.ends_with([' ', ']', '\t']);
    let name = rest.trim().strip_suffix(';')?;
    (fits && !name.contains(' ')).then_some(name)
}

fn path_attribute(line: &str) -> Option<&str> {
    line.trim().strip_prefix("#[path = \"")?.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_orphans(files: &[(&str, &str)], expected: &[&str]) {
        let paths: Vec<_> =
            check(&RepositoryFiles::from_texts(files)).into_iter().map(|finding| finding.path).collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn a_test_file_that_main_does_not_declare_is_found() {
        let files = [
            ("crates/ralph-cli/tests/it/main.rs", "mod claims;\n"),
            ("crates/ralph-cli/tests/it/claims.rs", ""),
            ("crates/ralph-cli/tests/it/signals.rs", ""),
        ];
        assert_orphans(&files, &["crates/ralph-cli/tests/it/signals.rs"]);
    }

    #[test]
    fn modules_are_followed_to_the_leaves() {
        let files = [
            ("crates/a/src/lib.rs", "pub mod room;\n#[cfg(test)]\npub(crate) mod leaf;\n"),
            ("crates/a/src/room/mod.rs", "mod table;\n#[path = \"linux.rs\"]\nmod platform;\n"),
            ("crates/a/src/room/table.rs", "mod tests;\n"),
            ("crates/a/src/room/table/tests.rs", ""),
            ("crates/a/src/room/linux.rs", ""),
            ("crates/a/src/leaf.rs", "// mod lost;\n"),
            ("crates/a/src/lost.rs", ""),
        ];
        assert_orphans(&files, &["crates/a/src/lost.rs"]);
    }

    #[test]
    fn test_programs_are_crate_roots() {
        assert_orphans(
            &[("crates/a/tests/b.rs", "#[path = \"b/c.rs\"]\nmod c;\n"), ("crates/a/tests/b/c.rs", "")],
            &[],
        );
    }
}
