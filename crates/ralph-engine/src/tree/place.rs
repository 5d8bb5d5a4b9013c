//! Where the trees of a project lie: outside of it, because programs that look for files in the folders above theirs must not
//! find those of the user's work tree.
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::TreeError;
use crate::project::Project;
use ralph_util::digest::sha256;
use ralph_util::private;

/// The file in the state of a project that remembers the folder: the project may be moved, and its trees stay.
const REMEMBERED: &str = "tree-folder";

/// No path is longer.
const LONGEST: u64 = 16 * 1024;

/// A project, as far as its trees need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// The user's work tree.
    pub root: PathBuf,
    /// The folder of the trees. Its name is the key of the project.
    pub(super) folder: PathBuf,
    pub(super) state: PathBuf,
    /// Ralph's own files of the project.
    pub(super) home: PathBuf,
}

impl Site {
    /// Finds out where the trees of a project lie. Nothing is written.
    pub fn of(project: &Project) -> Result<Self, TreeError> {
        let state = project.state();
        let folder = match remembered(&state)? {
            Some(folder) => folder,
            None => above(&state).join(key(project)),
        };
        Ok(Self { root: project.root.clone(), folder, state, home: project.home.clone() })
    }

    /// Returns the folder of the project's state.
    #[must_use]
    pub fn root_state(&self) -> &Path {
        &self.state
    }

    /// Tells the trees of this project from those of others that share the repository.
    #[must_use]
    pub fn key(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns where the tree of a task lies.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the folder, and remembers it.
    pub(super) fn prepare(&self) -> Result<(), TreeError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| TreeError::Folder { path, source }
        };
        private::folder(&self.folder).map_err(failed(&self.folder))?;
        let state = private::folder(&self.state).map_err(failed(&self.state))?;
        if state.look(REMEMBERED).map_err(failed(&self.state))?.is_some_and(|found| found.st_size > 0) {
            return Ok(());
        }
        let written = state.file(REMEMBERED).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(self.folder.as_os_str().as_bytes())
        });
        written.map_err(failed(&self.state.join(REMEMBERED)))
    }
}

fn remembered(state: &Path) -> Result<Option<PathBuf>, TreeError> {
    let path = state.join(REMEMBERED);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read =
        private::regular_file(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut text)).map(drop);
    read.map_err(|source| TreeError::Folder { path, source })?;
    let folder = PathBuf::from(OsString::from_vec(text));
    Ok(folder.is_absolute().then_some(folder))
}

/// Returns the folder above those of all projects: the user's, or else the project's own.
fn above(state: &Path) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    match user {
        Some(user) => private::real_path(&user).join("ralph/trees"),
        None => state.join("trees"),
    }
}

/// Returns a name for a project that people recognise and no other project has.
fn key(project: &Project) -> String {
    let name = project.root.file_name().unwrap_or_default().to_string_lossy();
    let plain =
        |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' };
    let name: String = name.chars().take(40).map(plain).collect();
    let hash = sha256(project.home.as_os_str().as_bytes());
    format!("{name}-{}", hash.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> Project {
        Project { root: root.to_path_buf(), home: root.join(".ralph") }
    }

    // spec: P6
    #[test]
    fn a_project_has_a_key_of_its_own_whatever_its_name_is() {
        let one = key(&project(Path::new("/a/my project\n.lock")));
        assert!(one.starts_with("my-project--lock-") && one.len() == "my-project--lock-".len() + 8, "{one}");
        assert_ne!(one, key(&project(Path::new("/b/my project\n.lock"))));
        let odd = OsString::from_vec(b"/a/\xff\xfe".to_vec());
        assert!(key(&project(Path::new(&odd))).is_ascii());
    }

    // spec: P6
    #[test]
    fn the_trees_stay_where_they_are_when_the_project_is_moved() {
        let temp = tempfile::tempdir().unwrap();
        let (old, new) = (temp.path().join("old"), temp.path().join("new"));
        let folder = temp.path().canonicalize().unwrap().join("trees/old-12345678");
        std::fs::create_dir_all(old.join(".ralph")).unwrap();
        let old_project = project(&old.canonicalize().unwrap());
        let site = Site { folder: folder.clone(), ..Site::of(&old_project).unwrap() };
        site.prepare().unwrap();
        site.prepare().unwrap();
        std::fs::rename(&old, &new).unwrap();
        let moved = Site::of(&project(&new.canonicalize().unwrap())).unwrap();
        assert_eq!((moved.folder, moved.root), (folder, new.canonicalize().unwrap()));
    }
}
