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
const MOST_FILES: usize = 100_000;

/// Files of this size and more are taken for changed when they were written.
const MOST_BYTES: u64 = 4 << 20;

/// Folders of installed or built things, by their names or by a file in them.
const SKIPPED: &[&str] = &["node_modules", "__pycache__"];
const MARKS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

/// Files by which agents keep account of their progress: they count although they are ignored.
const ACCOUNTS: &[&str] = &[
    "implementation_plan.md",
    "prd.json",
    "progress.txt",
    "progress.md",
    "fix_plan.md",
    "IMPLEMENTATION_PLAN.md",
];

/// Looks at one work tree, again and again.
#[derive(Debug, Clone)]
pub struct Movement {
    root: PathBuf,
    /// What changes with every run and is no work.
    moving: Vec<PathBuf>,
    /// The contents of what was written before, by path.
    known: Arc<Mutex<HashMap<PathBuf, String>>>,
}

/// What a look saw; `None`: too much to say.
pub type Look = Option<Seen>;

#[derive(Debug, Default)]
pub struct Seen {
    files: BTreeMap<PathBuf, Stat>,
    /// Where each repository stands, that of the root and those inside.
    heads: BTreeMap<PathBuf, Option<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    kind_and_mode: u32,
    size: u64,
    inode: u64,
    written: (i64, i64),
}

impl Stat {
    fn of(about: &Metadata) -> Self {
        Self {
            kind_and_mode: about.mode(),
            size: about.size(),
            inode: about.ino(),
            written: (about.mtime(), about.mtime_nsec()),
        }
    }
}

impl Movement {
    #[must_use]
    pub fn of(project: &Project) -> Self {
        let notes = project.notes("");
        let moving = [project.state(), project.session_logs()];
        let moving = moving.into_iter().chain(notes.parent().map(Path::to_path_buf)).collect();
        Self { root: project.root.clone(), moving, known: Arc::default() }
    }

    /// Looks at everything that is there now.
    #[must_use]
    pub fn look(&self) -> Look {
        let mut seen = Seen::default();
        seen.heads.insert(PathBuf::new(), git::peek_at_head(&self.root));
        self.walk(&self.root, &mut seen).ok()?;
        (seen.files.len() <= MOST_FILES).then_some(seen)
    }

    /// Tells whether something has changed since, where that can be told.
    #[must_use]
    pub fn since(&self, before: &Look) -> Option<bool> {
        let (before, now) = (before.as_ref()?, self.look()?);
        if before.heads != now.heads {
            return Some(true);
        }
        let changed = changed(&before.files, &now.files);
        if changed.is_empty() {
            return Some(false);
        }
        let (accounts, others): (Vec<_>, Vec<_>) = changed.into_iter().partition(|path| is_account(path));
        let others = if others.is_empty() { others } else { git::not_ignored(&self.root, others).ok()? };
        // Every one is looked at, so that all are known the next time.
        let new: Vec<bool> = accounts.iter().chain(&others).map(|path| self.is_new(path)).collect();
        Some(new.contains(&true))
    }

    /// Tells whether a path that was written holds something else than when it was last written.
    fn is_new(&self, path: &Path) -> bool {
        let now = contents(&self.root.join(path));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match now {
            Some(now) => known.insert(path.to_path_buf(), now.clone()) != Some(now),
            None => {
                known.remove(path);
                true
            }
        }
    }

    fn walk(&self, folder: &Path, seen: &mut Seen) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            let name = entry.file_name();
            if self.moving.contains(&path) || seen.files.len() > MOST_FILES {
                continue;
            }
            if name == ".git" {
                if folder != self.root {
                    seen.heads.insert(self.below_root(folder), git::peek_at_head(folder));
                }
                continue;
            }
            // What is gone again meanwhile was never there.
            let Ok(about) = entry.metadata() else { continue };
            if !about.is_dir() {
                seen.files.insert(self.below_root(&path), Stat::of(&about));
            } else if !SKIPPED.iter().any(|skipped| name == *skipped)
                && !MARKS.iter().any(|mark| path.join(mark).exists())
            {
                // A folder that nobody may read hides what is in it; it did so before.
                let _ = self.walk(&path, seen);
            }
        }
        Ok(())
    }

    fn below_root(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root).unwrap_or(path).to_path_buf()
    }
}

/// Looks again after an agent's work, without holding up the loop.
pub async fn has_moved(movement: Option<Movement>, before: Look) -> Option<bool> {
    let movement = movement?;
    tokio::task::spawn_blocking(move || movement.since(&before)).await.ok().flatten()
}

/// Returns the paths that are new, gone, or not as they were.
fn changed(before: &BTreeMap<PathBuf, Stat>, now: &BTreeMap<PathBuf, Stat>) -> Vec<PathBuf> {
    let gone = before.keys().filter(|path| !now.contains_key(*path));
    let other = now.iter().filter(|(path, stat)| before.get(*path) != Some(stat)).map(|(path, _)| path);
    gone.chain(other).cloned().collect()
}

fn is_account(path: &Path) -> bool {
    path.file_name().is_some_and(|name| ACCOUNTS.iter().any(|account| name == *account))
}

/// Returns what a file holds and how, in short; `None` where it is gone, too large or no file.
fn contents(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    if about.is_symlink() {
        return Some(format!("link {}", fs::read_link(path).ok()?.display()));
    }
    if !about.is_file() || about.len() >= MOST_BYTES {
        return None;
    }
    Some(format!("{:o} {}", about.mode(), digest::sha256(fs::read(path).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::testing::{commit_all, repository};

    struct Ground {
        _temp: tempfile::TempDir,
        root: PathBuf,
        movement: Movement,
    }

    fn ground() -> Ground {
        let (temp, root) = repository();
        fs::write(root.join(".gitignore"), "out/\nprd.json\n.ralph/state/\n").unwrap();
        commit_all(&root);
        let root = root.canonicalize().unwrap();
        let movement = Movement::of(&Project::around(&root).unwrap());
        Ground { _temp: temp, root, movement }
    }

    fn moved(ground: &Ground, work: impl FnOnce(&Path)) -> Option<bool> {
        let before = ground.movement.look();
        work(&ground.root);
        ground.movement.since(&before)
    }

    // spec: L9
    #[test]
    fn files_commits_and_accounts_are_movement() {
        let ground = ground();
        assert_eq!(moved(&ground, |_| {}), Some(false));
        assert_eq!(moved(&ground, |root| fs::write(root.join("new"), "1").unwrap()), Some(true));
        assert_eq!(
            moved(&ground, |root| drop(commit_all(root))),
            Some(true),
            "what was written before is committed"
        );
        assert_eq!(moved(&ground, |root| fs::remove_file(root.join("new")).unwrap()), Some(true));
        assert_eq!(moved(&ground, |root| fs::write(root.join("prd.json"), "{}").unwrap()), Some(true));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn by_products_and_our_own_state_are_no_movement() {
        let ground = ground();
        assert_eq!(moved(&ground, |root| write(root, "out/cache", "1")), Some(false));
        assert_eq!(moved(&ground, |root| write(root, ".ralph/state/runs/a/log", "1")), Some(false));
        assert_eq!(moved(&ground, |root| write(root, "node_modules/a/index.js", "1")), Some(false));
        write(&ground.root, "built/CACHEDIR.TAG", "1");
        assert_eq!(moved(&ground, |root| write(root, "built/object", "1")), Some(false));
    }

    // spec: L9
    // fault: 90
    #[test]
    fn a_file_that_is_written_again_with_the_same_words_is_no_movement() {
        let ground = ground();
        assert_eq!(moved(&ground, |root| write(root, "report", "same")), Some(true));
        for _ in 0..3 {
            assert_eq!(moved(&ground, |root| again(root, "report", "same")), Some(false));
        }
        assert_eq!(moved(&ground, |root| again(root, "report", "else")), Some(true));
    }

    // spec: L9
    #[test]
    fn a_commit_in_a_repository_inside_is_movement() {
        let ground = ground();
        let (_inner, inner) = repository();
        fs::create_dir(ground.root.join("sub")).unwrap();
        let sub = ground.root.join("sub/repo");
        fs::rename(&inner, &sub).unwrap();
        assert_eq!(moved(&ground, |_| drop(commit_all(&sub))), Some(true));
        assert_eq!(moved(&ground, |_| {}), Some(false));
    }

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes a file anew, so that its time and its place on the disk are others.
    fn again(root: &Path, name: &str, text: &str) {
        fs::write(root.join("temporary"), text).unwrap();
        fs::rename(root.join("temporary"), root.join(name)).unwrap();
    }
}
