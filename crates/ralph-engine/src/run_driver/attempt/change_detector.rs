//! Detects whether an agent changed anything, by scans of the work tree before and after the attempt.
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::git;
use crate::project::Project;
use ralph_process::{is_cancelled, with_cancel_flag};
use ralph_util::digest;

/// Larger work trees are not scanned.
const MAX_SCANNED_FILES: usize = 100_000;

/// Files of this size or more count as changed when they were written; their contents are not compared.
const MAX_HASHED_BYTES: u64 = 4 << 20;

/// Folders with dependencies or build output, by name or by a file in them.
const SKIPPED_FOLDERS: &[&str] = &["node_modules", "__pycache__"];
const SKIPPED_FOLDER_MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files in which agents track their progress. They count even if git ignores them.
const PROGRESS_FILES: &[&str] =
    &["implementation_plan.md", "prd.json", "progress.txt", "progress.md", "fix_plan.md", "IMPLEMENTATION_PLAN.md"];

/// Scans one work tree before and after each attempt.
#[derive(Debug, Clone)]
pub struct ChangeDetector {
    root: PathBuf,
    /// Files that ralph itself changes in every run.
    excluded_paths: Vec<PathBuf>,
    /// Fingerprints of the files that earlier attempts wrote.
    known_contents: Arc<Mutex<HashMap<PathBuf, String>>>,
}

/// The result of a scan, or `None` if the tree is too large or cannot be read.
pub type TreeScan = Option<TreeListing>;

#[derive(Debug, Default)]
pub struct TreeListing {
    files: BTreeMap<PathBuf, FileStat>,
    /// The HEAD of each repository: that of the root and nested ones.
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
    fn from_metadata(metadata: &Metadata) -> Self {
        Self {
            kind_and_mode: metadata.mode(),
            size: metadata.size(),
            inode: metadata.ino(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }
}

impl ChangeDetector {
    #[must_use]
    pub fn for_project(project: &Project) -> Self {
        let notes = project.notes_file("");
        let state_folders = [project.state_folder(), project.session_logs_folder()];
        let excluded_paths = state_folders.into_iter().chain(notes.parent().map(Path::to_path_buf)).collect();
        Self { root: project.root.clone(), excluded_paths, known_contents: Arc::default() }
    }

    /// Lists all files with their metadata.
    #[must_use]
    pub fn scan_tree(&self) -> TreeScan {
        let mut listing = TreeListing::default();
        listing.heads.insert(PathBuf::new(), git::read_head_file(&self.root));
        self.walk_folder(&self.root, &mut listing).ok()?;
        (listing.files.len() <= MAX_SCANNED_FILES).then_some(listing)
    }

    /// Returns whether something has changed since that scan, or `None` if that is unknown.
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
        let (progress_files, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|path| is_progress_file(path));
        let others = if others.is_empty() { others } else { git::exclude_ignored(&self.root, others).ok()? };
        // All of them are fingerprinted, without a short circuit, so that the next scan knows their contents.
        let new: Vec<bool> = progress_files.iter().chain(&others).map(|path| self.has_new_contents(path)).collect();
        Some(new.contains(&true))
    }

    /// Returns whether a file that was written has other contents than after its last write.
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
            if is_cancelled() {
                return Err(io::Error::other("the scan was stopped"));
            }
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
            // The file was removed during the scan.
            let Ok(metadata) = entry.metadata() else { continue };
            if !metadata.is_dir() {
                listing.files.insert(self.relative_path(&path), FileStat::from_metadata(&metadata));
            } else if !SKIPPED_FOLDERS.iter().any(|skipped| name == *skipped)
                && !SKIPPED_FOLDER_MARKERS.iter().any(|mark| path.join(mark).exists())
            {
                // An unreadable folder is skipped in both scans.
                let walked = self.walk_folder(&path, listing);
                if is_cancelled() {
                    return walked;
                }
            }
        }
        Ok(())
    }

    fn relative_path(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }
}

/// Scans again after the attempt, on a blocking thread.
pub async fn detect_change(
    detector: Option<ChangeDetector>,
    before: TreeScan,
    cancel_flag: Arc<AtomicBool>,
) -> Option<bool> {
    let detector = detector?;
    let scan = move || with_cancel_flag(cancel_flag, || detector.has_changed_since(&before));
    tokio::task::spawn_blocking(scan).await.ok().flatten()
}

/// Returns the paths that were created, removed or changed.
fn changed_paths(before: &BTreeMap<PathBuf, FileStat>, now: &BTreeMap<PathBuf, FileStat>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let other = now.iter().filter(|(path, stat)| before.get(*path) != Some(stat)).map(|(path, _)| path);
    gone.chain(other).cloned().collect()
}

fn is_progress_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| PROGRESS_FILES.iter().any(|file| name == *file))
}

/// Returns a fingerprint of a file's contents and mode, or `None` if it is missing, too large or not a regular file.
fn fingerprint_file(path: &Path) -> Option<String> {
    let metadata = path.symlink_metadata().ok()?;
    if metadata.is_symlink() {
        return Some(format!("link {}", fs::read_link(path).ok()?.display()));
    }
    if !metadata.is_file() || metadata.len() >= MAX_HASHED_BYTES {
        return None;
    }
    Some(format!("{:o} {}", metadata.mode(), digest::sha256_hex(fs::read(path).ok()?)))
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
        let project = Project::find_with_user_state(&root, &temp.path().join("user-state")).unwrap();
        let detector = ChangeDetector::for_project(&project);
        ChangeFixture { _temp: temp, root, detector }
    }

    fn detects_change(fixture: &ChangeFixture, work: impl FnOnce(&Path)) -> Option<bool> {
        let before = fixture.detector.scan_tree();
        work(&fixture.root);
        fixture.detector.has_changed_since(&before)
    }

    // spec: L9
    #[test]
    fn files_commits_and_progress_files_are_changes() {
        let fixture = change_fixture();
        assert_eq!(detects_change(&fixture, |_| {}), Some(false));
        assert_eq!(detects_change(&fixture, |root| fs::write(root.join("new"), "1").unwrap()), Some(true));
        assert_eq!(detects_change(&fixture, |root| drop(commit_all(root))), Some(true), "a commit alone is a change");
        assert_eq!(detects_change(&fixture, |root| fs::remove_file(root.join("new")).unwrap()), Some(true));
        assert_eq!(detects_change(&fixture, |root| fs::write(root.join("prd.json"), "{}").unwrap()), Some(true));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn build_output_and_the_state_of_ralph_are_not_changes() {
        let fixture = change_fixture();
        assert_eq!(detects_change(&fixture, |root| write_file(root, "out/cache", "1")), Some(false));
        assert_eq!(detects_change(&fixture, |root| write_file(root, ".ralph/state/runs/a/log", "1")), Some(false));
        assert_eq!(detects_change(&fixture, |root| write_file(root, "node_modules/a/index.js", "1")), Some(false));
        write_file(&fixture.root, "built/CACHEDIR.TAG", "1");
        assert_eq!(detects_change(&fixture, |root| write_file(root, "built/object", "1")), Some(false));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn a_file_rewritten_with_the_same_contents_is_not_a_change() {
        let fixture = change_fixture();
        assert_eq!(detects_change(&fixture, |root| write_file(root, "report", "same")), Some(true));
        for _ in 0..3 {
            assert_eq!(detects_change(&fixture, |root| rewrite_file(root, "report", "same")), Some(false));
        }
        assert_eq!(detects_change(&fixture, |root| rewrite_file(root, "report", "else")), Some(true));
    }

    // spec: L9
    #[test]
    fn a_commit_in_a_nested_repository_is_a_change() {
        let fixture = change_fixture();
        let (_inner, inner) = new_repository();
        fs::create_dir(fixture.root.join("sub")).unwrap();
        let sub = fixture.root.join("sub/repo");
        fs::rename(&inner, &sub).unwrap();
        assert_eq!(detects_change(&fixture, |_| drop(commit_all(&sub))), Some(true));
        assert_eq!(detects_change(&fixture, |_| {}), Some(false));
    }

    fn write_file(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a file, so that its modification time and inode change.
    fn rewrite_file(root: &Path, name: &str, text: &str) {
        fs::write(root.join("temporary"), text).unwrap();
        fs::rename(root.join("temporary"), root.join(name)).unwrap();
    }
}
