//! Lists the files of a small work tree without starting git, judged by simple ignore rules.
use std::fs::{self, FileType};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::config_text::{ConfigText, user_file};
use crate::git::work_files::exact_files::ListedFiles;
use crate::git::work_files::ignore_patterns::IgnorePatterns;

/// Git lists a larger work tree: it reads folders faster.
const MAX_ENTRIES: usize = 50_000;
const MAX_DEPTH: usize = 64;

/// Settings of the user that change which files are ignored.
const OTHER_SETTINGS: [&str; 4] = ["excludesfile", "ignorecase", "precomposeunicode", "[include"];

/// Lists all files as if the index were empty. `exclude` is the ignore file of the repository. `None`: git must be asked,
/// because there are too many files, other rules, or nested repositories.
pub(in crate::git) fn list_unignored_files(root: &Path, exclude: &[u8]) -> Option<ListedFiles> {
    // The names of files have several forms on other systems.
    if cfg!(not(target_os = "linux")) {
        return None;
    }
    ConfigText::of_user().filter(|user| !user.mentions(&OTHER_SETTINGS))?;
    let of_user =
        user_file("ignore").map_or_else(|| Some(IgnorePatterns::default()), |file| IgnorePatterns::read(&file));
    let mut walk = FileWalk {
        root,
        repository_rules: [IgnorePatterns::parse(exclude)?, of_user?],
        folder_rules: Vec::new(),
        entries: 0,
        listed: ListedFiles::default(),
    };
    walk.list_folder(&mut Vec::new())?;
    let ListedFiles { unignored, ignored, .. } = &mut walk.listed;
    for paths in [unignored, ignored] {
        paths.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    }
    Some(walk.listed)
}

struct FileWalk<'a> {
    root: &'a Path,
    /// The rules for all folders; the first ones take precedence.
    repository_rules: [IgnorePatterns; 2],
    /// The rules of the folder that is being listed and of those above it, with the length of each folder's path.
    folder_rules: Vec<(usize, IgnorePatterns)>,
    entries: usize,
    listed: ListedFiles,
}

impl FileWalk<'_> {
    /// Lists a folder. Its path ends with a slash, except for the root, whose path is empty.
    fn list_folder(&mut self, folder: &mut Vec<u8>) -> Option<()> {
        if self.folder_rules.len() >= MAX_DEPTH || ralph_process::is_cancelled() {
            return None;
        }
        let full_path = self.root.join(to_path(folder));
        self.folder_rules.push((folder.len(), IgnorePatterns::read(&full_path.join(".gitignore"))?));
        for entry in fs::read_dir(full_path).ok()? {
            let entry = entry.ok()?;
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return None;
            }
            let (name, kind) = (entry.file_name(), entry.file_type().ok()?);
            if name.as_bytes().eq_ignore_ascii_case(b".git") {
                if folder.is_empty() && name.as_bytes() == b".git" {
                    continue;
                }
                // It may be a nested repository.
                return None;
            }
            let length = folder.len();
            folder.extend(name.as_bytes());
            self.list_entry(folder, kind)?;
            folder.truncate(length);
        }
        self.folder_rules.pop();
        Some(())
    }

    fn list_entry(&mut self, path: &mut Vec<u8>, kind: FileType) -> Option<()> {
        // Git has no other kinds of files.
        if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
            return Some(());
        }
        let is_ignored = self.is_ignored(path, kind.is_dir());
        if kind.is_dir() {
            path.push(b'/');
        }
        match (is_ignored, kind.is_dir()) {
            (true, _) => self.listed.ignored.push(to_path(path)),
            (false, true) => self.list_folder(path)?,
            (false, false) => self.listed.unignored.push(to_path(path)),
        }
        Some(())
    }

    fn is_ignored(&self, path: &[u8], is_folder: bool) -> bool {
        let of_folders = self.folder_rules.iter().rev().map(|(skipped, rules)| (*skipped, rules));
        let of_repository = self.repository_rules.iter().map(|rules| (0, rules));
        let decided = of_folders
            .chain(of_repository)
            .find_map(|(skipped, rules)| rules.decide(path.get(skipped..).unwrap_or_default(), is_folder));
        decided.unwrap_or(false)
    }
}

fn to_path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsString::from_vec(bytes.to_vec()).into()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::git::testing::new_repository;
    use crate::git::work_files::exact_files::{ObjectStore, list_files_with_git};

    /// Names of files and folders, and the beginnings of patterns.
    const NAMES: [&str; 9] = ["a", "b", "ab", "a.o", "b.o", "out", "a b", ".h", "{a}"];
    const PATTERNS: [&str; 26] = [
        "a", "*.o", "a*", "?", "*", "/a", "/out/", "out/", "!a", "!*.o", "!out/", "a/b", "/a/*", "!a/b", "**/b",
        "a/**", "a/**/b", "**", "# a", "", "a b ", "out/b", "!out/b", ".h", "{a}", "*b*",
    ];

    #[derive(Debug, Clone)]
    struct Scene {
        files: Vec<Vec<usize>>,
        links: Vec<usize>,
        empty_folders: Vec<Vec<usize>>,
        /// The patterns of the root, of the folders `a` and `out`, and of the repository.
        patterns: [Vec<usize>; 4],
    }

    fn scenes() -> impl Strategy<Value = Scene> {
        let path = || vec(0..NAMES.len(), 1..4);
        let patterns = || vec(0..PATTERNS.len(), 0..5);
        let all_patterns = (patterns(), patterns(), patterns(), patterns());
        (vec(path(), 1..14), vec(0..NAMES.len(), 0..2), vec(path(), 0..3), all_patterns).prop_map(
            |(files, links, empty_folders, (root, a, out, repository))| Scene {
                files,
                links,
                empty_folders,
                patterns: [root, a, out, repository],
            },
        )
    }

    fn to_name(parts: &[usize]) -> String {
        parts.iter().map(|part| NAMES[*part]).collect::<Vec<_>>().join("/")
    }

    impl Scene {
        /// Paths that are in the way of each other are left out.
        fn build(&self) -> (tempfile::TempDir, PathBuf) {
            let (temp, root) = new_repository();
            for folder in &self.empty_folders {
                let _ = fs::create_dir_all(root.join(to_name(folder)));
            }
            for file in &self.files {
                let path = root.join(to_name(file));
                let _ = fs::create_dir_all(path.parent().unwrap());
                let _ = fs::write(path, "");
            }
            for link in &self.links {
                let _ = std::os::unix::fs::symlink("a", root.join(NAMES[*link]));
            }
            let files = [".gitignore", "a/.gitignore", "out/.gitignore", ".git/info/exclude"];
            for (file, patterns) in files.iter().zip(&self.patterns) {
                let lines: Vec<&str> = patterns.iter().map(|pattern| PATTERNS[*pattern]).collect();
                let _ = fs::write(root.join(file), lines.join("\n"));
            }
            (temp, root)
        }
    }

    fn sorted(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
        paths.sort();
        paths
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

        // finding: N42
        #[test]
        fn files_and_ignored_files_are_those_that_git_lists(scene in scenes()) {
            let (_temp, root) = scene.build();
            let exclude = fs::read(root.join(".git/info/exclude")).unwrap();
            let expected = list_files_with_git(&root, &ObjectStore::find(&root).unwrap()).unwrap();
            let listed = list_unignored_files(&root, &exclude).unwrap();
            prop_assert_eq!(sorted(listed.unignored), sorted(expected.unignored));
            prop_assert_eq!(sorted(listed.ignored), sorted(expected.ignored));
        }
    }

    // finding: N42
    #[test]
    fn git_is_asked_about_other_rules_and_about_nested_repositories() {
        let (_temp, root) = new_repository();
        assert!(list_unignored_files(&root, b"").is_some());
        for pattern in ["[ab]", "a\\ ", "a**/b", "a/**/b/**/c", "/", "!", "a//b", "\u{feff}a"] {
            fs::write(root.join(".gitignore"), pattern).unwrap();
            assert!(list_unignored_files(&root, b"").is_none(), "{pattern}");
        }
        fs::remove_file(root.join(".gitignore")).unwrap();
        std::os::unix::fs::symlink("elsewhere", root.join(".gitignore")).unwrap();
        assert!(list_unignored_files(&root, b"").is_none());
        fs::remove_file(root.join(".gitignore")).unwrap();
        fs::create_dir_all(root.join("inner/.git")).unwrap();
        assert!(list_unignored_files(&root, b"").is_none());
    }
}
