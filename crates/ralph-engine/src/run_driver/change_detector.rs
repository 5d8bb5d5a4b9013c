//! Whether an agent changed anything: a look at the work tree before its work, and another one after it.
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::git;
use crate::project::Project;
use ralph_util::digest;

/// Of more files than this nobody says whether they changed.
const MAX_SCANNED_FILES: usize = 100_000;

/// Files of this size and more are taken for changed when they were written.
const MAX_HASHED_BYTES: u64 = 4 << 20;

/// Folders of installed or built things, by their names or by a file in them.
const SKIPPED_FOLDERS: &[&str] = &["node_modules", "__pycache__"];
const SKIPPED_FOLDER_MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files by which agents keep account of their progress: they count although they are ignored.
const PROGRESS_FILES: &[&str] =
    &["implementation_plan.md", "prd.json", "progress.txt", "progress.md", "fix_plan.md", "IMPLEMENTATION_PLAN.md"];

/// Looks at one work tree, again and again.
#[derive(Debug, Clone)]
pub struct ChangeDetector {
    root: PathBuf,
    /// What changes with every run and is no work.
    excluded_paths: Vec<PathBuf>,
    /// The contents of what was written before, by path.
    known_contents: Arc<Mutex<HashMap<PathBuf, String>>>,
}

/// What a look saw; `None`: too much to say.
pub type TreeScan = Option<TreeListing>;

#[derive(Debug, Default)]
pub struct TreeListing {
    files: BTreeMap<PathBuf, FileStat>,
    /// Where each repository stands, that of the root and those inside.
    heads: BTreeMap<PathBuf, Option<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStat {
    kind_and_mode: u32,
    size: u64,
    inode: u64,
    modified: (i64, i64),
}

impl FileStat {
    fn from_metadata(about: &Metadata) -> Self {
        Self {
            kind_and_mode: about.mode(),
            size: about.size(),
            inode: about.ino(),
            modified: (about.mtime(), about.mtime_nsec()),
        }
    }
}

impl ChangeDetector {
    #[must_use]
    pub fn for_project(project: &Project) -> Self {
        let notes = project.notes_file("");
        let moving = [project.state_folder(), project.session_logs_folder()];
        let excluded_paths = moving.into_iter().chain(notes.parent().map(Path::to_path_buf)).collect();
        Self { root: project.root.clone(), excluded_paths, known_contents: Arc::default() }
    }

    /// Looks at everything that is there now.
    #[must_use]
    pub fn scan_tree(&self) -> TreeScan {
        let mut seen = TreeListing::default();
        seen.heads.insert(PathBuf::new(), git::read_head_file(&self.root));
        self.walk_folder(&self.root, &mut seen).ok()?;
        (seen.files.len() <= MAX_SCANNED_FILES).then_some(seen)
    }

    /// Tells whether something has changed since, where that can be told.
    #[must_use]
    pub fn has_changed_since(&self, before: &TreeScan) -> Option<bool> {
        let (before, now) = (before.as_ref()?, self.scan_tree()?);
        if before.heads != now.heads {
            return Some(true);
        }
        let changed = changed_paths(&before.files, &now.files);
        if changed.is_empty() {
            return Some(false);
        }
        let (accounts, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|path| is_progress_file(path));
        let others = if others.is_empty() { others } else { git::exclude_ignored(&self.root, others).ok()? };
        // Every one is looked at, so that all are known the next time.
        let new: Vec<bool> = accounts.iter().chain(&others).map(|path| self.has_new_contents(path)).collect();
        Some(new.contains(&true))
    }

    /// Tells whether a path that was written holds something else than when it was last written.
    fn has_new_contents(&self, path: &Path) -> bool {
        let now = fingerprint_file(&self.root.join(path));
        let mut known = self.known_contents.lock().unwrap_or_else(PoisonError::into_inner);
        match now {
            Some(now) => known.insert(path.to_path_buf(), now.clone()) != Some(now),
            None => {
                known.remove(path);
                true
            }
        }
    }

    fn walk_folder(&self, folder: &Path, listing: &mut TreeListing) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name();
            if self.excluded_paths.contains(&path) || listing.files.len() > MAX_SCANNED_FILES {
                continue;
            }
            if name == ".git" {
                if folder != self.root {
                    listing.heads.insert(self.relative_path(folder), git::read_head_file(folder));
                }
                continue;
            }
            // What is gone again meanwhile was never there.
            let Ok(about) = entry.metadata() else { continue };
            if !about.is_dir() {
                listing.files.insert(self.relative_path(&path), FileStat::from_metadata(&about));
            } else if !SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped)
                && !SKIPPED_FOLDER_MARKERS.iter().any(|mark| path.join(mark).exists())
            {
                // A folder that nobody may read hides what is in it; it did so before.
                let _ = self.walk_folder(&path, listing);
            }
        }
        Ok(())
    }

    fn relative_path(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }
}

/// Looks again after an agent's work, without holding up the loop.
pub async fn detect_change(detector: Option<ChangeDetector>, before: TreeScan) -> Option<bool> {
    let detector = detector?;
    tokio::task::spawn_blocking(move || detector.has_changed_since(&before)).await.ok().flatten()
}

/// Returns the paths that are new, gone, or not as they were.
fn changed_paths(before: &BTreeMap<PathBuf, FileStat>, now: &BTreeMap<PathBuf, FileStat>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let other = now.iter().filter(|(path, stat)| before.get(*path) != Some(stat)).map(|(path, _)| path);
    gone.chain(other).cloned().collect()
}

fn is_progress_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PROGRESS_FILES.iter().any(|account| name == *account))
}

/// Returns what a file holds and how, in short; `None` where it is gone, too large or no file.
fn fingerprint_file(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    if about.is_symlink() {
        return Some(format!("link {}", fs::read_link(path).ok()?.display()));
    }
    if !about.is_file() || about.len() >= MAX_HASHED_BYTES {
        return None;
    }
    Some(format!("{:o} {}", about.mode(), digest::sha256_hex(fs::read(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, new_repository};

    struct ChangeFixture {
        _temp: tempfile::TempDir,
        root: PathBuf,
        detector: ChangeDetector,
    }

    fn change_fixture() -> ChangeFixture {
        let (temp, root) = new_repository();
        fs::write(root.join(".gitignore"), "out/\nprd.json\n.ralph/state/\n").unwrap();
        commit_all(&root);
        let root = root.canonicalize().unwrap();
        let movement = ChangeDetector::for_project(&Project::find_from(&root).unwrap());
        ChangeFixture { _temp: temp, root, detector: movement }
    }

    fn detects_change(fixture: &ChangeFixture, work: impl FnOnce(&Path)) -> Option<bool> {
        let before = fixture.detector.scan_tree();
        work(&fixture.root);
        fixture.detector.has_changed_since(&before)
    }

    // spec: L9
    #[test]
    fn files_commits_and_progress_files_are_changes() {
        let ground = change_fixture();
        assert_eq!(detects_change(&ground, |_| {}), Some(false));
        assert_eq!(detects_change(&ground, |root| fs::write(root.join("new"), "1").unwrap()), Some(true));
        assert_eq!(
            detects_change(&ground, |root| drop(commit_all(root))),
            Some(true),
            "what was written before is committed"
        );
        assert_eq!(detects_change(&ground, |root| fs::remove_file(root.join("new")).unwrap()), Some(true));
        assert_eq!(detects_change(&ground, |root| fs::write(root.join("prd.json"), "{}").unwrap()), Some(true));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn by_products_and_our_own_state_are_not_changes() {
        let ground = change_fixture();
        assert_eq!(detects_change(&ground, |root| write_file(root, "out/cache", "1")), Some(false));
        assert_eq!(detects_change(&ground, |root| write_file(root, ".ralph/state/runs/a/log", "1")), Some(false));
        assert_eq!(detects_change(&ground, |root| write_file(root, "node_modules/a/index.js", "1")), Some(false));
        write_file(&ground.root, "built/CACHEDIR.TAG", "1");
        assert_eq!(detects_change(&ground, |root| write_file(root, "built/object", "1")), Some(false));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn a_file_rewritten_with_the_same_contents_is_not_a_change() {
        let ground = change_fixture();
        assert_eq!(detects_change(&ground, |root| write_file(root, "report", "same")), Some(true));
        for _ in 0..3 {
            assert_eq!(detects_change(&ground, |root| rewrite_file(root, "report", "same")), Some(false));
        }
        assert_eq!(detects_change(&ground, |root| rewrite_file(root, "report", "else")), Some(true));
    }

    // spec: L9
    #[test]
    fn a_commit_in_a_nested_repository_is_a_change() {
        let ground = change_fixture();
        let (_inner, inner) = new_repository();
        fs::create_dir(ground.root.join("sub")).unwrap();
        let sub = ground.root.join("sub/repo");
        fs::rename(&inner, &sub).unwrap();
        assert_eq!(detects_change(&ground, |_| drop(commit_all(&sub))), Some(true));
        assert_eq!(detects_change(&ground, |_| {}), Some(false));
    }

    fn write_file(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file anew, so that its time and its place on the disk are others.
    fn rewrite_file(root: &Path, name: &str, text: &str) {
        fs::write(root.join("temporary"), text).unwrap();
        fs::rename(root.join("temporary"), root.join(name)).unwrap();
    }
}
