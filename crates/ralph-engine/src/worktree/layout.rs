//! The folder of the task work trees of a project. It is outside the project, because programs that search parent
//! folders for files must not find those of the user's work tree.
use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::WorktreeError;
use crate::project::Project;
use ralph_util::digest::sha256_hex;
use ralph_util::private_files;

/// The file in the state folder that records the folder of the work trees: they stay there if the project is moved.
const FOLDER_RECORD_FILE: &str = "tree-folder";

/// The maximum size of the recorded path.
const MAX_PATH_BYTES: u64 = 16 * 1024;

/// The paths of a project that its work trees need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeLayout {
    /// The user's work tree.
    pub root: PathBuf,
    /// The folder of the work trees. Its name is the key of the project.
    pub(super) folder: PathBuf,
    pub(super) state: PathBuf,
    /// The ralph home of the project.
    pub(super) home: PathBuf,
}

impl WorktreeLayout {
    /// Finds the folder of the work trees of a project. Nothing is written.
    pub fn for_project(project: &Project) -> Result<Self, WorktreeError> {
        let state = project.state_folder();
        let folder = match read_recorded_folder(&state)? {
            Some(folder) => folder,
            None => default_parent_folder(&state).join(derive_project_key(project)),
        };
        Ok(Self { root: project.root.clone(), folder, state, home: project.home.clone() })
    }

    #[must_use]
    pub fn state_folder(&self) -> &Path {
        &self.state
    }

    /// Returns the key that distinguishes the work trees of this project from those of others in the same repository.
    #[must_use]
    pub fn project_key(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the path of the work tree of a task.
    #[must_use]
    pub fn task_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Creates the folder and records its path.
    pub(super) fn create_folder(&self) -> Result<(), WorktreeError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WorktreeError::Folder { path, source }
        };
        private_files::ensure_folder(&self.folder).map_err(failed(&self.folder))?;
        let state = private_files::ensure_folder(&self.state).map_err(failed(&self.state))?;
        if state.stat_own_file(FOLDER_RECORD_FILE).map_err(failed(&self.state))?.is_some_and(|found| found.st_size > 0)
        {
            return Ok(());
        }
        let written = state.open_for_append(FOLDER_RECORD_FILE).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(self.folder.as_os_str().as_bytes())
        });
        written.map_err(failed(&self.state.join(FOLDER_RECORD_FILE)))
    }
}

fn read_recorded_folder(state: &Path) -> Result<Option<PathBuf>, WorktreeError> {
    let path = state.join(FOLDER_RECORD_FILE);
    if path.symlink_metadata().is_err() {
        return Ok(None);
    }
    let mut text = Vec::new();
    let read = private_files::open_regular_file(&path)
        .and_then(|file| file.take(MAX_PATH_BYTES).read_to_end(&mut text))
        .map(drop);
    read.map_err(|source| WorktreeError::Folder { path, source })?;
    let folder = PathBuf::from(OsString::from_vec(text));
    Ok(folder.is_absolute().then_some(folder))
}

/// Returns the parent of the folders of all projects: in the state folder of the user, else in that of the project.
fn default_parent_folder(state: &Path) -> PathBuf {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let user = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")));
    match user {
        Some(user) => private_files::resolve_links(&user).join("ralph/trees"),
        None => state.join("trees"),
    }
}

/// Returns a recognizable and unique name for a project.
fn derive_project_key(project: &Project) -> String {
    let name = project.root.file_name().unwrap_or_default().to_string_lossy();
    let to_safe = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' };
    let name: String = name.chars().take(40).map(to_safe).collect();
    let hash = sha256_hex(project.home.as_os_str().as_bytes());
    format!("{name}-{}", hash.get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_project(root: &Path) -> Project {
        Project { root: root.to_path_buf(), home: root.join(".ralph") }
    }

    // spec: P6
    #[test]
    fn every_project_has_a_unique_ascii_key() {
        let one = derive_project_key(&test_project(Path::new("/a/my project\n.lock")));
        assert!(one.starts_with("my-project--lock-") && one.len() == "my-project--lock-".len() + 8, "{one}");
        assert_ne!(one, derive_project_key(&test_project(Path::new("/b/my project\n.lock"))));
        let odd = OsString::from_vec(b"/a/\xff\xfe".to_vec());
        assert!(derive_project_key(&test_project(Path::new(&odd))).is_ascii());
    }

    // spec: P6
    #[test]
    fn the_work_trees_stay_in_their_folder_when_the_project_is_moved() {
        let temp = tempfile::tempdir().unwrap();
        let (old, new) = (temp.path().join("old"), temp.path().join("new"));
        let folder = temp.path().canonicalize().unwrap().join("trees/old-12345678");
        std::fs::create_dir_all(old.join(".ralph")).unwrap();
        let old_project = test_project(&old.canonicalize().unwrap());
        let layout = WorktreeLayout { folder: folder.clone(), ..WorktreeLayout::for_project(&old_project).unwrap() };
        layout.create_folder().unwrap();
        layout.create_folder().unwrap();
        std::fs::rename(&old, &new).unwrap();
        let moved = WorktreeLayout::for_project(&test_project(&new.canonicalize().unwrap())).unwrap();
        assert_eq!((moved.folder, moved.root), (folder, new.canonicalize().unwrap()));
    }
}
