//! The settings of a repository that decide which programs git starts by itself and which files it looks at. Whoever works in
//! the repository can write them.
use std::path::Path;

use super::GitError;
use super::plain::Plain;

/// Those that no option of a call can switch off.
const DECIDING: &[&str] = &[
    "core.alternaterefscommand",
    "core.attributesfile",
    "core.checkstat",
    "core.excludesfile",
    "core.ignorestat",
    "core.trustctime",
    "core.worktree",
];
const DECIDING_SECTIONS: &[&str] = &["filter.", "include.", "includeif."];

/// Returns them, wherever they are set, as `name=value`, in order.
pub fn deciding_settings(root: &Path) -> Result<Vec<(String, Vec<u8>)>, GitError> {
    let listed = Plain::at(root).bytes(&["config", "--list", "--null"])?;
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let mut parts = entry.splitn(2, |byte| *byte == b'\n');
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        if !decides(&name) {
            continue;
        }
        let value = parts.next().unwrap_or_default();
        // What is set more than once counts as a whole.
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend([b"\0", value].concat()),
            None => found.push((name, value.to_vec())),
        }
    }
    found.sort();
    Ok(found)
}

fn decides(name: &str) -> bool {
    DECIDING.contains(&name) || DECIDING_SECTIONS.iter().any(|section| name.starts_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::git;
    use crate::git::testing::repository;

    // spec: V9
    #[test]
    fn filters_and_a_work_tree_elsewhere_are_named_and_everyday_settings_are_not() {
        let (_temp, root) = repository();
        let before = deciding_settings(&root).unwrap();
        for (name, value) in [
            ("filter.Sly.clean", "cat"),
            ("branch.main.remote", "origin"),
            ("core.hooksPath", "hooks"),
            ("core.worktree", "/elsewhere"),
        ] {
            git(&root, &["config", name, value]).unwrap();
        }
        git(&root, &["config", "--add", "filter.Sly.clean", "tac"]).unwrap();
        let now = deciding_settings(&root).unwrap();
        let new: Vec<_> = now.into_iter().filter(|setting| !before.contains(setting)).collect();
        let expected = [
            ("core.worktree".to_owned(), b"/elsewhere".to_vec()),
            ("filter.Sly.clean".to_owned(), b"cat\0tac".to_vec()),
        ];
        assert_eq!(new, expected);
    }
}
