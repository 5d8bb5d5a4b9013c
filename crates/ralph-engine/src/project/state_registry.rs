//! Finds the state of a project in the state folder of the user.
//!
//! Each project has a folder `projects/ID` there, with a record of the work tree that it belongs to. The git folder of
//! the work tree names the ID. Both contain the same random token: a repository that names the state of another project,
//! or that brings its own database, gets a new and empty state. If the ID file is lost, the record still finds its
//! git folder by inode and time of birth.
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ralph_util::digest::sha256_hex;
use ralph_util::private_files::{self, PrivateFolder};

use super::git_folder::{find_git_folder, list_git_folders};

/// The file in the git folder of a work tree that names the state of the project.
const ID_FILE: &str = "ralph-project";

/// The file in the state folder of a project that names its work tree.
const RECORD_FILE: &str = "project";

/// The file that only a state folder in use contains.
const DATABASE_FILE: &str = "ralph.db";

/// The maximum size of a record or of an ID file.
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// The folder for the state of a project, and how it becomes that of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateLocation {
    folder: PathBuf,
    registration: Option<Registration>,
}

/// The record that a project needs in order to own its state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Registration {
    git_folder: PathBuf,
    home: PathBuf,
    /// The name of the ID file: a work tree may contain several homes.
    id_file: String,
    is_complete: bool,
}

impl StateLocation {
    /// Returns a folder that belongs to the project without a registration.
    #[must_use]
    pub fn unregistered(folder: PathBuf) -> Self {
        Self { folder, registration: None }
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether the folder is known to be the state of the project.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        self.registration.as_ref().is_none_or(|registration| registration.is_complete)
    }

    /// Creates the folder, and registers it unless that is done.
    pub(super) fn create(&self) -> Result<PrivateFolder, StateFolderError> {
        let unusable = |source| StateFolderError { path: self.folder.clone(), source };
        let folder = private_files::ensure_folder(&self.folder).map_err(unusable)?;
        if let Some(registration) = self.registration.as_ref().filter(|registration| !registration.is_complete) {
            registration.write(&self.folder)?;
        }
        Ok(folder)
    }
}

/// The state folder of a project cannot be created or registered.
#[derive(Debug, thiserror::Error)]
#[error("cannot create {}", path.display())]
pub struct StateFolderError {
    pub path: PathBuf,
    pub source: io::Error,
}

impl Registration {
    /// Writes the record, then the ID file. A process that is interrupted in between leaves a folder without a database,
    /// which the next one uses.
    fn write(&self, folder: &Path) -> Result<(), StateFolderError> {
        let lock = File::open(folder).map_err(|source| StateFolderError { path: folder.to_path_buf(), source })?;
        // A file system without locks is refused when the lock of the run is taken.
        let _ = lock.lock();
        let token = ProjectRecord::read(folder).map_or_else(new_token, |record| record.token);
        let record = ProjectRecord {
            token: token.clone(),
            git_folder: self.git_folder.clone(),
            git_folder_identity: file_identity(&self.git_folder).unwrap_or_default(),
            home: self.home.clone(),
        };
        replace_file(&folder.join(RECORD_FILE), &record.to_bytes())?;
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let claimed = ClaimedState { id, token };
        replace_file(&self.git_folder.join(&self.id_file), claimed.to_line().as_bytes())
    }
}

/// Replaces a file atomically. The caller holds the lock.
fn replace_file(path: &Path, content: &[u8]) -> Result<(), StateFolderError> {
    let draft = path.with_added_extension("new");
    let written = private_files::open_for_append(&draft).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(content)
    });
    let replaced = written.and_then(|()| std::fs::rename(&draft, path)).inspect_err(|_| {
        let _ = std::fs::remove_file(&draft);
    });
    replaced.map_err(|source| StateFolderError { path: path.to_path_buf(), source })
}

fn new_token() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

/// The record in a state folder.
#[derive(Debug, PartialEq, Eq)]
struct ProjectRecord {
    token: String,
    git_folder: PathBuf,
    /// Empty if the file system does not record when a file was created.
    git_folder_identity: String,
    home: PathBuf,
}

impl ProjectRecord {
    fn read(folder: &Path) -> Option<Self> {
        let bytes = read_bounded_file(&folder.join(RECORD_FILE))?;
        let mut parts = bytes.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        Some(Self {
            token: parts.next()?.into_string().ok()?,
            git_folder: parts.next()?.into(),
            git_folder_identity: parts.next()?.into_string().ok()?,
            home: parts.next()?.into(),
        })
    }

    /// Returns whether the record was written for this very git folder, whatever its ID file says now.
    fn is_of_folder(&self, git_folder: &Path) -> bool {
        self.git_folder == git_folder && self.has_identity_of(git_folder)
    }

    fn has_identity_of(&self, git_folder: &Path) -> bool {
        file_identity(git_folder).is_some_and(|identity| identity == self.git_folder_identity)
    }

    /// The parts are separated by NUL, which no path contains.
    fn to_bytes(&self) -> Vec<u8> {
        let parts = [
            self.token.as_bytes(),
            self.git_folder.as_os_str().as_bytes(),
            self.git_folder_identity.as_bytes(),
            self.home.as_os_str().as_bytes(),
        ];
        parts.join(&0)
    }
}

/// Returns the inode of a file and when it was created; `None` if the file system does not record that.
fn file_identity(path: &Path) -> Option<String> {
    let about = path.metadata().ok()?;
    let created = about.created().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", about.ino(), created.as_nanos()))
}

/// The content of an ID file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ClaimedState {
    id: String,
    token: String,
}

impl ClaimedState {
    fn read(git_folder: &Path, id_file: &str) -> Option<Self> {
        let text = String::from_utf8(read_bounded_file(&git_folder.join(id_file))?).ok()?;
        let (id, token) = text.trim_end().split_once(' ')?;
        let is_safe = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let is_name = !id.is_empty() && id.chars().all(is_safe);
        is_name.then(|| Self { id: id.to_owned(), token: token.to_owned() })
    }

    fn to_line(&self) -> String {
        format!("{} {}\n", self.id, self.token)
    }
}

fn read_bounded_file(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    private_files::open_regular_file(path).ok()?.take(MAX_RECORD_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The states of all projects of the user.
pub(super) struct StateRegistry {
    projects: PathBuf,
}

impl StateRegistry {
    pub(super) fn new(user_state: &Path) -> Self {
        Self { projects: user_state.join("projects") }
    }

    /// Returns the state of the project with that work tree and home. Nothing is written.
    pub(super) fn locate(&self, root: &Path, home: &Path) -> StateLocation {
        let (git_folder, id_file) = (find_git_folder(root), id_file_name(root, home));
        let claimed = self.find_claimed(&git_folder, &id_file);
        let is_complete = claimed.as_ref().is_some_and(|folder| {
            ProjectRecord::read(folder).is_some_and(|record| record.is_of_folder(&git_folder) && record.home == home)
        });
        let folder = claimed.unwrap_or_else(|| self.derive_folder(root, &git_folder, home));
        let registration = Registration { git_folder, home: home.to_path_buf(), id_file, is_complete };
        StateLocation { folder, registration: Some(registration) }
    }

    /// Returns the state of the project for which ralph created a work tree. Nothing is written.
    pub(super) fn locate_for_task_worktree(&self, root: &Path, home: &Path) -> StateLocation {
        let states = list_git_folders(&find_git_folder(root)).into_iter().flat_map(|git_folder| {
            let files = list_id_files(&git_folder);
            files.into_iter().filter_map(move |file| self.find_claimed(&git_folder, &file))
        });
        let of_home =
            |folder: &PathBuf| ProjectRecord::read(folder).is_some_and(|record| record.home.as_path() == home);
        let mut states = states;
        match states.find(of_home) {
            Some(folder) => StateLocation::unregistered(folder),
            None => self.locate(root, home),
        }
    }

    /// Returns the state that an ID file names, if the state agrees.
    fn find_claimed(&self, git_folder: &Path, id_file: &str) -> Option<PathBuf> {
        let claimed = ClaimedState::read(git_folder, id_file)?;
        let folder = self.projects.join(&claimed.id);
        let record = ProjectRecord::read(&folder).filter(|record| record.token == claimed.token)?;
        // A copy of the work tree has the same ID file; the state belongs to the original while that exists. Through a
        // bind mount, the original has another path.
        let is_original = record.git_folder == git_folder || record.has_identity_of(git_folder);
        let is_copy =
            !is_original && ClaimedState::read(&record.git_folder, id_file).is_some_and(|original| original == claimed);
        (!is_copy).then_some(folder)
    }

    /// Returns the folder that was registered for this git folder, or else one that no project uses. It is the same for
    /// every process, so that two of them that start at the same time agree.
    fn derive_folder(&self, root: &Path, git_folder: &Path, home: &Path) -> PathBuf {
        let name = safe_name(root);
        let mut number = 0_u32;
        loop {
            let key = [git_folder.as_os_str().as_bytes(), home.as_os_str().as_bytes(), &number.to_le_bytes()].join(&0);
            let hash = sha256_hex(key);
            let folder = self.projects.join(format!("{name}-{}", hash.get(..12).unwrap_or_default()));
            // Without a record, the user has restored the folder from a backup.
            let is_own = || {
                ProjectRecord::read(&folder).is_none_or(|record| record.is_of_folder(git_folder) && record.home == home)
            };
            if !folder.join(DATABASE_FILE).exists() || is_own() {
                return folder;
            }
            number = number.wrapping_add(1);
        }
    }
}

/// Returns the ID file of a home: homes other than `.ralph` at the root have their own.
fn id_file_name(root: &Path, home: &Path) -> String {
    if home == root.join(".ralph") {
        return ID_FILE.to_owned();
    }
    let below = home.strip_prefix(root).unwrap_or(home);
    let hash = sha256_hex(below.as_os_str().as_bytes());
    format!("{ID_FILE}-{}", hash.get(..8).unwrap_or_default())
}

fn list_id_files(git_folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(git_folder).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(ID_FILE) && !name.contains('.')).collect()
}

/// Returns the name of the project's folder, reduced to letters that are safe everywhere.
fn safe_name(root: &Path) -> String {
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let to_safe = |letter: char| if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' };
    name.chars().take(40).map(to_safe).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::project::Project;

    /// A user with a state folder, and repositories next to it.
    struct UserFolders {
        _temp: tempfile::TempDir,
        folder: PathBuf,
    }

    impl UserFolders {
        fn new() -> Self {
            let temp = tempfile::tempdir().unwrap();
            let folder = temp.path().canonicalize().unwrap();
            Self { _temp: temp, folder }
        }

        fn create_repository(&self, name: &str) -> PathBuf {
            let root = self.folder.join(name);
            fs::create_dir(&root).unwrap();
            crate::git::run_git(&root, &["init", "--quiet"]).unwrap();
            root
        }

        fn find(&self, root: &Path) -> Project {
            Project::find_with_user_state(root, &self.folder.join("state/ralph")).unwrap()
        }

        /// Creates the state of a project with a database in it.
        fn create_state(&self, root: &Path) -> PathBuf {
            let project = self.find(root);
            project.create_state_folder().unwrap();
            fs::write(project.state_folder().join(DATABASE_FILE), root.as_os_str().as_bytes()).unwrap();
            project.state_folder()
        }
    }

    // spec: D1
    #[test]
    fn looking_for_the_state_creates_nothing_and_two_processes_agree_on_it() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let project = user.find(&root);
        assert!(!project.state.is_registered() && !user.folder.join("state").exists());
        assert_eq!(user.find(&root), project);
        let state = user.create_state(&root);
        assert!(state.starts_with(user.folder.join("state/ralph/projects")), "{}", state.display());
        assert!(user.find(&root).state.is_registered());
        assert_eq!(user.find(&root).state_folder(), state);
    }

    // spec: D1
    #[test]
    fn a_moved_project_keeps_its_state_and_a_copied_one_gets_another() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let state = user.create_state(&root);
        let moved = user.folder.join("moved");
        fs::rename(&root, &moved).unwrap();
        assert_eq!(user.find(&moved).state_folder(), state);
        assert!(!user.find(&moved).state.is_registered(), "the record names the old place");
        user.find(&moved).create_state_folder().unwrap();
        assert!(user.find(&moved).state.is_registered());
        let copy = user.folder.join("copy");
        let copied = std::process::Command::new("cp").arg("-a").args([&moved, &copy]).status().unwrap();
        assert!(copied.success());
        assert_ne!(user.find(&copy).state_folder(), state);
        assert_eq!(user.find(&moved).state_folder(), state);
    }

    // spec: D1
    // finding: N39
    #[test]
    fn a_repository_that_names_the_state_of_another_project_gets_a_state_of_its_own() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let state = user.create_state(&root);
        let stranger = user.create_repository("stranger");
        let id = state.file_name().unwrap().to_str().unwrap();
        for claim in [format!("{id} 0123456789abcdef"), format!("{id} "), "../../x y".to_owned(), String::new()] {
            fs::write(stranger.join(".git/ralph-project"), claim).unwrap();
            assert_ne!(user.find(&stranger).state_folder(), state);
        }
        fs::remove_dir_all(&root).unwrap();
        fs::write(stranger.join(".git/ralph-project"), format!("{id} 0123456789abcdef\n")).unwrap();
        assert_ne!(user.find(&stranger).state_folder(), state);
    }

    // spec: D1
    // finding: N43
    #[test]
    fn a_lost_id_file_does_not_lose_the_state() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let state = user.create_state(&root);
        fs::remove_file(root.join(".git/ralph-project")).unwrap();
        assert_eq!(user.find(&root).state_folder(), state);
        user.find(&root).create_state_folder().unwrap();
        assert!(user.find(&root).state.is_registered());
    }

    // spec: D1
    #[test]
    fn a_new_repository_in_the_place_of_an_old_one_does_not_inherit_its_state() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let state = user.create_state(&root);
        fs::rename(&root, user.folder.join("elsewhere")).unwrap();
        let again = user.create_repository("app");
        assert_ne!(user.find(&again).state_folder(), state);
    }

    // spec: D1
    #[test]
    fn every_home_and_every_work_tree_of_the_user_has_a_state_of_its_own() {
        let user = UserFolders::new();
        let root = user.create_repository("app");
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let commit = [&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat();
        crate::git::run_git(&root, &commit).unwrap();
        let linked = user.folder.join("linked");
        crate::git::run_git(&root, &["worktree", "add", "--quiet", linked.to_str().unwrap()]).unwrap();
        fs::create_dir_all(root.join("part/.ralph")).unwrap();
        let states = [root.clone(), root.join("part"), linked].map(|folder| user.create_state(&folder));
        assert!(states[0] != states[1] && states[1] != states[2] && states[0] != states[2]);
    }
}
