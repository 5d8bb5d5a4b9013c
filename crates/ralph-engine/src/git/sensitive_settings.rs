//! The settings of a repository that decide which programs git starts by itself and which files it looks at. Whoever works in
//! the repository can write them.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::GitError;
use super::isolated_git::IsolatedGit;

/// Those that no option of a call can switch off.
const SENSITIVE_SETTINGS: &[&str] = &[
    "core.alternaterefscommand",
    "core.attributesfile",
    "core.autocrlf",
    "core.checkstat",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.ignorestat",
    "core.sparsecheckout",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.worktree",
];
const SENSITIVE_SECTIONS: &[&str] = &["filter.", "include.", "includeif."];

/// Returns them, wherever they are set, by their names, in order; and the lists that git reads beside them.
pub fn read_sensitive_settings(root: &Path) -> Result<Vec<(String, Vec<u8>)>, GitError> {
    let git = IsolatedGit::in_folder(root);
    let listed = git.read_stdout(&["config", "--list", "--null"])?;
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let mut parts = entry.splitn(2, |byte| *byte == b'\n');
        let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        if !is_sensitive(&name) {
            continue;
        }
        let value = parts.next().unwrap_or_default();
        // What is set more than once counts as a whole.
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend([b"\0", value].concat()),
            None => found.push((name, value.to_vec())),
        }
    }
    let lists = pattern_files(&git, &found)?.into_iter();
    let lists: Vec<_> = lists.filter_map(|(name, path)| Some((name, significant_lines(&path)?))).collect();
    found.extend(lists);
    found.sort();
    Ok(found)
}

/// Returns the lists of ignored files, attributes and files of a sparse checkout that no commit holds.
fn pattern_files(git: &IsolatedGit<'_>, settings: &[(String, Vec<u8>)]) -> Result<Vec<(String, PathBuf)>, GitError> {
    let excluded = git.git_path("info/exclude")?;
    let mut lists = vec![
        ("info/attributes".to_owned(), excluded.with_file_name("attributes")),
        ("info/exclude".to_owned(), excluded),
    ];
    let is_set = |name: &str| settings.iter().any(|(known, _)| known == name);
    if is_set("core.sparsecheckout") {
        lists.push(("info/sparse-checkout".to_owned(), git.git_path("info/sparse-checkout")?));
    }
    for (setting, usual) in [("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")] {
        let path = if is_set(setting) { configured_path(git, setting)? } else { default_pattern_file(usual) };
        lists.extend(path.map(|path| (path.display().to_string(), path)));
    }
    Ok(lists)
}

fn configured_path(git: &IsolatedGit<'_>, setting: &str) -> Result<Option<PathBuf>, GitError> {
    let mut path = git.read_stdout(&["config", "--type=path", "--get", setting])?;
    path.truncate(path.strip_suffix(b"\n").map_or(path.len(), <[u8]>::len));
    Ok((!path.is_empty()).then(|| OsString::from_vec(path).into()))
}

/// Returns where git looks for a list of the user's if no setting says so.
fn default_pattern_file(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let above = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(above.join("git").join(name))
}

/// Returns the lines of a list that say something. What is no file, or cannot be read, says nothing to git either.
fn significant_lines(path: &Path) -> Option<Vec<u8>> {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let read = std::fs::read(path).ok()?;
    let says = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let said = read.split(|byte| *byte == b'\n').filter(says).collect::<Vec<_>>().join(&b'\n');
    (!said.is_empty()).then_some(said)
}

fn is_sensitive(name: &str) -> bool {
    SENSITIVE_SETTINGS.contains(&name) || SENSITIVE_SECTIONS.iter().any(|section| name.starts_with(section))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::run_git;
    use crate::git::testing::new_repository;

    // spec: V9
    #[test]
    fn filters_and_a_work_tree_elsewhere_are_named_and_everyday_settings_are_not() {
        let (_temp, root) = new_repository();
        let before = read_sensitive_settings(&root).unwrap();
        for (name, value) in [
            ("filter.Sly.clean", "cat"),
            ("branch.main.remote", "origin"),
            ("core.hooksPath", "hooks"),
            ("core.worktree", "/elsewhere"),
        ] {
            run_git(&root, &["config", name, value]).unwrap();
        }
        run_git(&root, &["config", "--add", "filter.Sly.clean", "tac"]).unwrap();
        let now = read_sensitive_settings(&root).unwrap();
        let new: Vec<_> = now.into_iter().filter(|setting| !before.contains(setting)).collect();
        let expected = [
            ("core.worktree".to_owned(), b"/elsewhere".to_vec()),
            ("filter.Sly.clean".to_owned(), b"cat\0tac".to_vec()),
        ];
        assert_eq!(new, expected);
    }

    // spec: V9
    #[test]
    fn lists_of_ignored_files_that_no_commit_holds_are_named_with_what_they_say() {
        let (_temp, root) = new_repository();
        let before = read_sensitive_settings(&root).unwrap();
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/exclude"), "# nothing\n\n").unwrap();
        assert_eq!(read_sensitive_settings(&root).unwrap(), before, "it says nothing");
        std::fs::write(root.join(".git/info/exclude"), "# of the agent\nsecret-work\n").unwrap();
        let list = root.join("mine");
        std::fs::write(&list, "out\n").unwrap();
        run_git(&root, &["config", "core.excludesFile", &list.display().to_string()]).unwrap();
        let now = read_sensitive_settings(&root).unwrap();
        let value = |name: &str| now.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_slice());
        assert_eq!(value("info/exclude"), Some(&b"secret-work"[..]));
        assert_eq!(value(&list.display().to_string()), Some(&b"out"[..]));
    }
}
