//! Reads the git settings that decide which programs git starts and which files it reads. An agent that works in the
//! repository can change them.
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::GitError;
use super::head_file::{find_common_dir, find_git_dir};
use super::isolated_git::IsolatedGit;

/// Settings that cannot be overridden with a command line option.
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
const SENSITIVE_SECTIONS: &[&str] = &["alias.", "diff.", "filter.", "include.", "includeif."];

/// Returns the sensitive settings from all configuration files and the pattern files that git reads, as sorted pairs of
/// name and value.
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
        // The values of a setting with several values are joined.
        match found.iter_mut().find(|(known, _)| *known == name) {
            Some((_, all)) => all.extend([b"\0", value].concat()),
            None => found.push((name, value.to_vec())),
        }
    }
    let lists = pattern_files(root, &git, &found)?.into_iter();
    let lists: Vec<_> = lists.filter_map(|(name, path)| Some((name, significant_lines(&path)?))).collect();
    found.extend(lists);
    found.sort();
    Ok(found)
}

/// Returns the files with ignore, attribute and sparse checkout patterns that are not part of a commit.
fn pattern_files(
    root: &Path,
    git: &IsolatedGit<'_>,
    settings: &[(String, Vec<u8>)],
) -> Result<Vec<(String, PathBuf)>, GitError> {
    let exclude_file = match find_git_dir(root) {
        Some(folder) => find_common_dir(&folder).join("info/exclude"),
        None => git.git_path("info/exclude")?,
    };
    let mut lists = vec![
        ("info/attributes".to_owned(), exclude_file.with_file_name("attributes")),
        ("info/exclude".to_owned(), exclude_file),
    ];
    let is_set = |name: &str| settings.iter().any(|(known, _)| known == name);
    if is_set("core.sparsecheckout") {
        lists.push(("info/sparse-checkout".to_owned(), git.git_path("info/sparse-checkout")?));
    }
    for (setting, default_name) in [("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")] {
        let path = if is_set(setting) { configured_path(git, setting)? } else { default_pattern_file(default_name) };
        lists.extend(path.map(|path| (path.display().to_string(), path)));
    }
    Ok(lists)
}

fn configured_path(git: &IsolatedGit<'_>, setting: &str) -> Result<Option<PathBuf>, GitError> {
    let mut path = git.read_stdout(&["config", "--type=path", "--get", setting])?;
    path.truncate(path.strip_suffix(b"\n").map_or(path.len(), <[u8]>::len));
    Ok((!path.is_empty()).then(|| OsString::from_vec(path).into()))
}

/// Returns the default path of a pattern file of the user.
fn default_pattern_file(name: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(config.join("git").join(name))
}

/// Returns the lines of a pattern file without comments and blank lines. Git ignores a path that is not a readable
/// file.
fn significant_lines(path: &Path) -> Option<Vec<u8>> {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let read = std::fs::read(path).ok()?;
    let is_pattern = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let patterns = read.split(|byte| *byte == b'\n').filter(is_pattern).collect::<Vec<_>>().join(&b'\n');
    (!patterns.is_empty()).then_some(patterns)
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
    // finding: N9
    #[test]
    fn filters_aliases_and_another_work_tree_are_sensitive_and_everyday_settings_are_not() {
        let (_temp, root) = new_repository();
        let before = read_sensitive_settings(&root).unwrap();
        for (name, value) in [
            ("filter.Sly.clean", "cat"),
            ("alias.check", "!true"),
            ("diff.external", "true"),
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
            ("alias.check".to_owned(), b"!true".to_vec()),
            ("core.worktree".to_owned(), b"/elsewhere".to_vec()),
            ("diff.external".to_owned(), b"true".to_vec()),
            ("filter.Sly.clean".to_owned(), b"cat\0tac".to_vec()),
        ];
        assert_eq!(new, expected);
    }

    // spec: V9
    #[test]
    fn uncommitted_ignore_files_are_returned_with_their_patterns() {
        let (_temp, root) = new_repository();
        let before = read_sensitive_settings(&root).unwrap();
        std::fs::create_dir_all(root.join(".git/info")).unwrap();
        std::fs::write(root.join(".git/info/exclude"), "# nothing\n\n").unwrap();
        assert_eq!(read_sensitive_settings(&root).unwrap(), before, "it contains no pattern");
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
