//! Where a project and its ralph home are: real paths, without links in them. Git is asked only where its
//! answer is not plain to see, because asking takes as long as starting an agent.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::git::{self, GitError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// The root of the git work tree: the agent works here.
    pub root: PathBuf,
    /// The folder with ralph's own files.
    pub home: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error("{} is not inside a git repository", from.display())]
    NoRepository { from: PathBuf, source: GitError },
    #[error("the current folder cannot be found out")]
    NoFolder { source: std::io::Error },
    #[error("{} came with the repository and leads out of it, to {}", link.display(), target.display())]
    LinkLeadsOut { link: PathBuf, target: PathBuf },
}

impl Project {
    /// Finds the project around the current folder.
    pub fn find_here() -> Result<Self, ProjectError> {
        let from = std::env::current_dir().map_err(|source| ProjectError::NoFolder { source })?;
        Self::find_from(&from)
    }

    /// Finds the project around a folder. Its home is the nearest `.ralph` up to the git root, else the root
    /// itself if it holds `prompts/` and `config`, else the `.ralph` that will be made there.
    pub fn find_from(from: &Path) -> Result<Self, ProjectError> {
        let from = from.canonicalize().map_err(|source| ProjectError::NoFolder { source })?;
        let root = find_git_root(&from)?;
        if let Some(home) = home_of_worktree(&root) {
            return Ok(Self { root, home });
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
        Ok(Self { root, home })
    }

    /// Returns the folder of the database and the raw logs. A root that is the home may have a `state` of its
    /// own that is none of our business.
    #[must_use]
    pub fn state_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-state" } else { "state" })
    }

    /// Tells whether the home is the root of a project, where folders with common names are the project's own. The root of the
    /// user's work tree is meant, also where the agent works in a linked one.
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

    /// Returns the folder of the plugins that verify.
    #[must_use]
    pub fn verifiers_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-verifiers" } else { "verifiers" })
    }

    /// Returns the folder of the project's own templates of checks.
    #[must_use]
    pub fn templates_folder(&self) -> PathBuf {
        self.home.join(if self.is_own_home() { ".ralph-templates" } else { "templates" })
    }

    /// Returns the file that names the session logs of one run.
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

    /// Returns the file into which the agent of one run writes the tasks that it makes.
    #[must_use]
    pub fn generated_tasks_file(&self, run: &str) -> PathBuf {
        self.notes_file(run).with_extension("tasks.yaml")
    }

    /// Returns the folder from which this home is found again.
    #[must_use]
    pub fn base_folder(&self) -> &Path {
        if self.is_own_home() { &self.home } else { self.home.parent().unwrap_or(&self.root) }
    }

    /// Returns the folder of one run's raw logs.
    #[must_use]
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.state_folder().join("runs").join(run)
    }

    /// Returns the lock that whoever drives a run has.
    #[must_use]
    pub fn run_lock(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("lock")
    }
}

/// The file by which a work tree of ralph's own knows the home of its project. It lies in what git has for that tree alone.
pub const HOME_POINTER_FILE: &str = "ralph-home";

/// Returns the home of the project that a work tree of ralph's own belongs to.
fn home_of_worktree(root: &Path) -> Option<PathBuf> {
    let named = std::fs::read(root.join(".git")).ok()?;
    let named = named.strip_prefix(b"gitdir: ")?;
    let folder = root.join(OsStr::from_bytes(named.trim_ascii_end()));
    let home = PathBuf::from(OsString::from_vec(std::fs::read(folder.join(HOME_POINTER_FILE)).ok()?));
    (home.is_absolute() && home.is_dir()).then_some(home)
}

fn find_git_root(from: &Path) -> Result<PathBuf, ProjectError> {
    let root = from.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
    match root {
        Some(root) if is_clearly_git_root(root) => Ok(root.to_path_buf()),
        Some(_) | None => git::find_worktree_root(from)
            .map_err(|source| ProjectError::NoRepository { from: from.to_path_buf(), source }),
    }
}

/// Tells whether git would accept `.git` here without a doubt: a repository, or a file that names one.
fn is_clearly_git_root(root: &Path) -> bool {
    let git = root.join(".git");
    if git.is_dir() {
        return git.join("HEAD").is_file() && git.join("objects").is_dir() && git.join("refs").is_dir();
    }
    let Ok(named) = std::fs::read_to_string(&git) else { return false };
    let named = named.strip_prefix("gitdir: ").map(str::trim_end);
    named.is_some_and(|named| !named.is_empty() && root.join(named).join("HEAD").is_file())
}

/// A link that the user made is the user's wish: those who keep their dotfiles elsewhere work like this. One
/// that came with the repository is the wish of whoever wrote that, and may not lead out of it.
fn resolve_linked_home(root: &Path, link: PathBuf) -> Result<PathBuf, ProjectError> {
    let target = link.canonicalize().map_err(|source| ProjectError::NoFolder { source })?;
    let is_the_users = || git::is_tracked(root, &link).is_ok_and(|tracked| !tracked);
    if target.starts_with(root) || is_the_users() {
        return Ok(target);
    }
    Err(ProjectError::LinkLeadsOut { link, target })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

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
        let project = Project::find_from(&root.join("a/b")).unwrap();
        assert_eq!((project.root.as_path(), project.home), (root.as_path(), root.join(".ralph")));
        fs::create_dir_all(root.join("a/.ralph")).unwrap();
        assert_eq!(Project::find_from(&root.join("a/b")).unwrap().home, root.join("a/.ralph"));
    }

    #[test] // spec: C1
    fn a_root_with_prompts_and_config_is_its_own_home_unless_there_is_another() {
        let (_temp, root) = init_repository();
        fs::create_dir_all(root.join("prompts")).unwrap();
        assert_eq!(Project::find_from(&root).unwrap().home, root.join(".ralph"));
        fs::create_dir_all(root.join("config")).unwrap();
        assert_eq!(Project::find_from(&root).unwrap().home, root.join(".ralph"), "a folder is no config");
        fs::remove_dir(root.join("config")).unwrap();
        fs::write(root.join("config"), "").unwrap();
        let project = Project::find_from(&root).unwrap();
        assert_eq!((project.home.as_path(), project.state_folder()), (root.as_path(), root.join(".ralph-state")));
        fs::create_dir_all(root.join(".ralph")).unwrap();
        assert_eq!(Project::find_from(&root).unwrap().home, root.join(".ralph"));
    }

    #[test]
    fn a_file_or_folder_that_is_merely_called_git_is_no_repository() {
        let temp = tempfile::tempdir().unwrap();
        let git = temp.path().join(".git");
        fs::write(&git, "").unwrap();
        assert!(matches!(Project::find_from(temp.path()), Err(ProjectError::NoRepository { .. })));
        fs::remove_file(&git).unwrap();
        fs::create_dir(&git).unwrap();
        assert!(matches!(Project::find_from(temp.path()), Err(ProjectError::NoRepository { .. })));
    }

    #[test]
    fn a_work_tree_beside_its_repository_is_found_without_asking_git() {
        let (_temp, root) = init_repository();
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
        let commit = [&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat();
        git::run_git(&root, &commit).unwrap();
        let beside = root.with_file_name("beside");
        git::run_git(&root, &["worktree", "add", "--quiet", beside.to_str().unwrap()]).unwrap();
        assert!(is_clearly_git_root(&beside) && is_clearly_git_root(&root));
        assert_eq!(Project::find_from(&beside).unwrap().root, beside);
    }

    #[test]
    fn a_link_in_the_way_to_a_project_does_not_make_it_another() {
        let (_temp, root) = init_repository();
        let link = root.with_file_name("link");
        symlink(&root, &link).unwrap();
        assert_eq!(Project::find_from(&link).unwrap(), Project::find_from(&root).unwrap());
    }

    #[test] // spec: P6
    fn the_state_of_a_project_is_the_same_seen_from_a_work_tree_of_ralphs_own() {
        let (_temp, root) = init_repository();
        let beside = root.with_file_name("beside");
        fs::create_dir(&beside).unwrap();
        fs::write(beside.join(".git"), "gitdir: /nowhere\n").unwrap();
        for home in [root.clone(), root.join(".ralph")] {
            let here = Project { root: root.clone(), home: home.clone() };
            let there = Project { root: beside.clone(), home };
            assert_eq!((here.state_folder(), here.notes_file("r")), (there.state_folder(), there.notes_file("r")));
            assert_eq!(here.base_folder(), there.base_folder());
        }
    }

    // fault: 62
    #[test]
    fn a_home_that_the_user_linked_is_used_and_one_that_came_with_the_repository_is_not() {
        let (_temp, root) = init_repository();
        let elsewhere = root.with_file_name("dotfiles");
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.join(".ralph")).unwrap();
        assert_eq!(Project::find_from(&root).unwrap().home, elsewhere);
        git::run_git(&root, &["add", ".ralph"]).unwrap();
        let error = Project::find_from(&root).unwrap_err();
        assert!(matches!(&error, ProjectError::LinkLeadsOut { target, .. } if *target == elsewhere), "{error}");
    }

    // fault: 62
    #[test]
    fn a_linked_home_inside_the_project_is_used_wherever_it_comes_from() {
        let (_temp, root) = init_repository();
        fs::create_dir_all(root.join("tools/ralph")).unwrap();
        symlink("tools/ralph", root.join(".ralph")).unwrap();
        git::run_git(&root, &["add", ".ralph"]).unwrap();
        assert_eq!(Project::find_from(&root).unwrap().home, root.join("tools/ralph"));
    }
}
