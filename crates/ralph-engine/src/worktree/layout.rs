//! The folder of the task work trees of a project. It is in the state folder, outside the project, because programs that
//! search parent folders for files must not find those of the user's work tree.
use std::ffi::OsString;
use std::io::Read;
#[cfg(test)]
use std::os::unix::ffi::OsStrExt;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::WorktreeError;
use crate::project::Project;
use ralph_util::private_files;

/// The file in which earlier versions recorded the folder of the work trees.
const FOLDER_RECORD_FILE: &str = "tree-folder";

/// The maximum size of the recorded path.
const MAX_PATH_BYTES: u64 = 16 * 1024;

/// The paths of a project that its work trees need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeLayout {
    /// The user's work tree.
    pub root: PathBuf,
    /// The folder of the work trees.
    pub(super) folder: PathBuf,
    /// Distinguishes the work trees of this project from those of others in the same repository.
    pub(super) key: String,
    pub(super) state: PathBuf,
    /// The ralph home of the project.
    pub(super) home: PathBuf,
}

impl WorktreeLayout {
    /// Finds the folder of the work trees of a project. Nothing is written.
    pub fn for_project(project: &Project) -> Result<Self, WorktreeError> {
        let state = project.state_folder();
        let recorded = read_recorded_folder(&state)?;
        let key = folder_name(recorded.as_deref().unwrap_or(&state));
        let folder = recorded.unwrap_or_else(|| state.join("trees"));
        Ok(Self { root: project.root.clone(), folder, key, state, home: project.home.clone() })
    }

    #[must_use]
    pub fn state_folder(&self) -> &Path {
        &self.state
    }

    /// Returns the key that distinguishes the work trees of this project from those of others in the same repository.
    #[must_use]
    pub fn project_key(&self) -> &str {
        &self.key
    }

    /// Returns the path of the work tree of a task.
    #[must_use]
    pub fn task_path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Creates the folder.
    pub(super) fn create_folder(&self) -> Result<(), WorktreeError> {
        let unusable = |source| WorktreeError::Folder { path: self.folder.clone(), source };
        private_files::ensure_folder(&self.folder).map(drop).map_err(unusable)
    }
}

fn folder_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::StateLocation;

    // spec: P6
    // spec: D1
    #[test]
    fn the_work_trees_are_beside_the_database_and_those_of_an_earlier_version_stay_in_their_folder() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        let state = root.join("projects/app-0123456789ab");
        let home = root.join("app/.ralph");
        let project = Project { root: root.join("app"), home, state: StateLocation::unregistered(state.clone()) };
        let layout = WorktreeLayout::for_project(&project).unwrap();
        assert_eq!((layout.task_path("T-1"), layout.project_key()), (state.join("trees/T-1"), "app-0123456789ab"));
        let old_folder = root.join("trees/app-12345678");
        std::fs::create_dir_all(&state).unwrap();
        std::fs::write(state.join(FOLDER_RECORD_FILE), old_folder.as_os_str().as_bytes()).unwrap();
        let layout = WorktreeLayout::for_project(&project).unwrap();
        assert_eq!((layout.task_path("T-1"), layout.project_key()), (old_folder.join("T-1"), "app-12345678"));
    }
}
