//! Finds a project, its ralph home and its state, as paths without links. Git runs only if the files leave a doubt,
//! because starting it is slow.
mod git_folder;
mod state_registry;

use std::io;
use std::path::{Path, PathBuf};

use ralph_util::private_files::PrivateFolder;
use ralph_util::user_folders::{self, NoStateFolder};

use crate::git::{self, GitError};

pub use git_folder::HOME_POINTER_FILE;
use state_registry::StateRegistry;
pub use state_registry::{StateFolderError, StateLocation};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The root of the git work tree: the agent works here.
    pub root: PathBuf,
    /// The folder with ralph's files.
    pub home: PathBuf,
    /// Where the database and the raw logs are.
    pub state: StateLocation,
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{} is not inside a git repository", from.display())]
    NoRepository { from: PathBuf, source: GitError },
    #[error("cannot determine the current folder")]
    NoFolder { source: io::Error },
    #[error("{} is part of the repository but links to a path outside it: {}", link.display(), target.display())]
    LinkLeadsOut { link: PathBuf, target: PathBuf },
    #[error("no folder for the state of the project")]
    NoState { source: NoStateFolder },
}

impl Project {
    /// Finds the project that contains the current folder.
    pub fn find_here() -> Result<Self, ProjectError> {
        let from = std::env::current_dir().map_err(|source| ProjectError::NoFolder { source })?;
        Self::find_from(&from)
    }

    /// Finds the project that contains a folder. Its home is the nearest `.ralph` up to the git root, else the root
    /// itself if it contains `prompts/` and `config`, else the `.ralph` that will be created there.
    pub fn find_from(from: &Path) -> Result<Self, ProjectError> {
        let user_state = user_folders::find_state_folder(|name| std::env::var_os(name));
        Self::find_with_user_state(from, &user_state.map_err(|source| ProjectError::NoState { source })?)
    }

    /// Like [`Self::find_from`], with the state folder of the user.
    pub fn find_with_user_state(from: &Path, user_state: &Path) -> Result<Self, ProjectError> {
        let registry = StateRegistry::new(user_state);
        let from = from.canonicalize().map_err(|source| ProjectError::NoFolder { source })?;
        let root = find_git_root(&from)?;
        if let Some(home) = git_folder::home_of_task_worktree(&root) {
            let state = registry.locate_for_task_worktree(&root, &home);
            return Ok(Self { root, home, state });
        }
        let up_to_root = from.ancestors().take_while(|folder| folder.starts_with(&root));
        let mut homes = up_to_root.map(|folder| folder.join(".ralph"));
        let is_home = root.join("prompts").is_dir() && root.join("config").is_file();
        let home = match homes.find(|home| home.is_dir()) {
            Some(home) if home.is_symlink() => resolve_linked_home(&root, home)?,
            Some(home) => home,
            None if is_home => root.clone(),
            None => root.join(".ralph"),
        };
        let state = registry.locate(&root, &home);
        Ok(Self { root, home, state })
    }

    /// Returns this project with another work tree, which ralph created for a task or a run.
    #[must_use]
    pub fn with_root(&self, root: PathBuf) -> Self {
        Self { root, ..self.clone() }
    }

    /// Returns the folder of the database and the raw logs. It does not exist before the first run or task.
    #[must_use]
    pub fn state_folder(&self) -> PathBuf {
        self.state.folder().to_path_buf()
    }

    /// Creates the state folder, and registers it as the one of this project.
    pub fn create_state_folder(&self) -> Result<PrivateFolder, StateFolderError> {
        self.state.create()
    }

    /// Returns the folder in which earlier versions kept the state. If the root is the home, a folder `state` belongs to
    /// the project.
    #[must_use]
    pub fn old_state_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-state" } else { "state" })
    }

    /// Returns whether earlier versions left a database that was not moved to the state folder yet.
    #[must_use]
    pub fn has_unmoved_old_state(&self) -> bool {
        self.old_state_folder().join("ralph.db").is_file() && !self.state_folder().join("ralph.db").exists()
    }

    /// Returns the project of commands that show runs, outside of a repository: its runs are those of sessions there.
    pub fn outside_repositories(here: PathBuf) -> Result<Self, ProjectError> {
        let user_state = user_folders::find_state_folder(|name| std::env::var_os(name));
        let folder = user_state.map_err(|source| ProjectError::NoState { source })?.join("sessions/outside");
        let home = folder.clone();
        Ok(Self { root: here, home, state: StateLocation::unregistered(folder) })
    }

    /// Like [`Self::find_here`]; outside of a repository, the place of the runs of sessions there if it has any.
    pub fn find_here_or_outside() -> Result<Self, ProjectError> {
        let found = Self::find_here();
        let Err(ProjectError::NoRepository { from, .. }) = &found else { return found };
        let outside = Self::outside_repositories(from.clone())?;
        if outside.state_folder().join("ralph.db").is_file() { Ok(outside) } else { found }
    }

    /// Returns whether the home is the root of the user's work tree, where folders with common names belong to the
    /// project. This also holds if the agent works in a linked work tree.
    #[must_use]
    pub fn is_own_home(&self) -> bool {
        let is_linked = || self.home.join(".git").exists() && self.root.join(".git").is_file();
        self.home == self.root || is_linked()
    }

    /// Returns the folder of the session logs of classic mode.
    #[must_use]
    pub fn session_logs_folder(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// Returns the folder of the verifier plugins.
    #[must_use]
    pub fn verifiers_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-verifiers" } else { "verifiers" })
    }

    /// Returns the folder of the project's check templates.
    #[must_use]
    pub fn templates_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-templates" } else { "templates" })
    }

    /// Returns the file that lists the session logs of one run.
    #[must_use]
    pub fn session_list_file(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("session-logs")
    }

    /// Returns the file in which the agents of one run keep their notes.
    #[must_use]
    pub fn notes_file(&self, run: &str) -> PathBuf {
        let folder = self.home.join(if self.is_own_home() { ".ralph-notes" } else { "notes" });
        folder.join(format!("{run}.md"))
    }

    /// Returns the file into which the agent of one run writes the tasks that it creates.
    #[must_use]
    pub fn generated_tasks_file(&self, run: &str) -> PathBuf {
        self.notes_file(run).with_extension("tasks.yaml")
    }

    /// Returns a folder from which `find_from` finds this home.
    #[must_use]
    pub fn base_folder(&self) -> &Path {
        if self.is_own_home() { &self.home } else { self.home.parent().unwrap_or(&self.root) }
    }

    /// Returns the folder of one run's raw logs.
    #[must_use]
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.state_folder().join("runs").join(run)
    }

    /// Returns the lock that the driver of a run holds.
    #[must_use]
    pub fn run_lock(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("lock")
    }
}

fn find_git_root(from: &Path) -> Result<PathBuf, ProjectError> {
    let root = from.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    match root {
        Some(root) if is_clearly_git_root(root) => Ok(root.to_path_buf()),
        Some(_) | None => git::find_worktree_root(from)
            .map_err(|source| ProjectError::NoRepository { from: from.to_path_buf(), source }),
    }
}

/// Returns whether git would certainly accept `.git` here: it is a repository, or a file that names one.
fn is_clearly_git_root(root: &Path) -> bool {
    let git = root.join(".git");
    if git.is_dir() {
        return git.join("HEAD").is_file() && git.join("objects").is_dir() && git.join("refs").is_dir();
    }
    let Ok(named) = std::fs::read_to_string(&git) else { return false };
    let named = named.strip_prefix("gitdir: ").map(str::trim_end);
    named.is_some_and(|named| !named.is_empty() && root.join(named).join("HEAD").is_file())
}

/// Resolves a home that is a link. A link of the user may lead anywhere, for example to a dotfiles folder. A link that
/// is part of the repository was chosen by its authors and must not lead out of it.
fn resolve_linked_home(root: &Path, link: PathBuf) -> Result<PathBuf, ProjectError> {
    let target = link.canonicalize().map_err(|source| ProjectError::NoFolder { source })?;
    let is_untracked = || git::is_tracked(root, &link).is_ok_and(|tracked| !tracked);
    if target.starts_with(root) || is_untracked() {
        return Ok(target);
    }
    Err(ProjectError::LinkLeadsOut { link, target })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Finds a project with a state folder of the user next to it.
    fn find_project(from: &Path) -> Result<Project, ProjectError> {
        Project::find_with_user_state(from, Path::new("/nonexistent/user-state"))
    }

    fn init_repository() -> (tempfile::TempDir, PathBuf) {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        fs::create_dir(&root).unwrap();
        git::run_git(&root, &["init", "--quiet"]).unwrap();
        (temp, root)
    }

    #[test]
    fn the_nearest_home_up_to_the_git_root_is_used() {
        let (_temp, root) = init_repository();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let project = find_project(&root.join("a/b")).unwrap();
        assert_eq!((project.root.as_path(), project.home), (root.as_path(), root.join(".ralph")));
        fs::create_dir_all(root.join("a/.ralph")).unwrap();
        assert_eq!(find_project(&root.join("a/b")).unwrap().home, root.join("a/.ralph"));
    }

    #[test] // spec: C1
    fn a_root_with_prompts_and_config_is_its_own_home_unless_there_is_another() {
        let (_temp, root) = init_repository();
        fs::create_dir_all(root.join("prompts")).unwrap();
        assert_eq!(find_project(&root).unwrap().home, root.join(".ralph"));
        fs::create_dir_all(root.join("config")).unwrap();
        assert_eq!(find_project(&root).unwrap().home, root.join(".ralph"), "config must be a file");
        fs::remove_dir(root.join("config")).unwrap();
        fs::write(root.join("config"), "").unwrap();
        let project = find_project(&root).unwrap();
        assert_eq!((project.home.as_path(), project.old_state_folder()), (root.as_path(), root.join(".ralph-state")));
        fs::create_dir_all(root.join(".ralph")).unwrap();
        assert_eq!(find_project(&root).unwrap().home, root.join(".ralph"));
    }

    #[test]
    fn a_file_or_folder_that_is_merely_called_git_is_not_a_repository() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        fs::write(&git, "").unwrap();
        assert!(matches!(find_project(temp.path()), Err(ProjectError::NoRepository { .. })));
        fs::remove_file(&git).unwrap();
        fs::create_dir(&git).unwrap();
        assert!(matches!(find_project(temp.path()), Err(ProjectError::NoRepository { .. })));
    }

    #[test]
    fn a_linked_work_tree_is_found_without_running_git() {
        let (_temp, root) = init_repository();
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let commit = [&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat();
        git::run_git(&root, &commit).unwrap();
        let linked = root.with_file_name("linked");
        git::run_git(&root, &["worktree", "add", "--quiet", linked.to_str().unwrap()]).unwrap();
        assert!(is_clearly_git_root(&linked) && is_clearly_git_root(&root));
        assert_eq!(find_project(&linked).unwrap().root, linked);
    }

    #[test]
    fn a_project_is_the_same_through_a_link() {
        let (_temp, root) = init_repository();
        let link = root.with_file_name("link");
        symlink(&root, &link).unwrap();
        assert_eq!(find_project(&link).unwrap(), find_project(&root).unwrap());
    }

    // spec: P6
    #[test]
    fn a_task_work_tree_uses_the_notes_of_its_project() {
        let (_temp, root) = init_repository();
        let linked = root.with_file_name("linked");
        fs::create_dir(&linked).unwrap();
        fs::write(linked.join(".git"), "gitdir: /nowhere\n").unwrap();
        for home in [root.clone(), root.join(".ralph")] {
            let state = StateLocation::unregistered(root.join("state"));
            let here = Project { root: root.clone(), home: home.clone(), state: state.clone() };
            let there = Project { root: linked.clone(), home, state };
            assert_eq!(here.notes_file("r"), there.notes_file("r"));
            assert_eq!(here.base_folder(), there.base_folder());
        }
    }

    // fault: 62
    #[test]
    fn a_home_linked_by_the_user_is_used_and_one_linked_by_the_repository_is_not() {
        let (_temp, root) = init_repository();
        let elsewhere = root.with_file_name("dotfiles");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.join(".ralph")).unwrap();
        assert_eq!(find_project(&root).unwrap().home, elsewhere);
        git::run_git(&root, &["add", ".ralph"]).unwrap();
        let error = find_project(&root).unwrap_err();
        assert!(matches!(&error, ProjectError::LinkLeadsOut { target, .. } if *target == elsewhere), "{error}");
    }

    // fault: 62
    #[test]
    fn a_linked_home_inside_the_project_is_used_wherever_it_comes_from() {
        let (_temp, root) = init_repository();
        fs::create_dir_all(root.join("tools/ralph")).unwrap();
        symlink("tools/ralph", root.join(".ralph")).unwrap();
        git::run_git(&root, &["add", ".ralph"]).unwrap();
        assert_eq!(find_project(&root).unwrap().home, root.join("tools/ralph"));
    }
}
