//! Where a project and its ralph home are. It finds folders; it never asks git.
use std::path::{Path, PathBuf};

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
    NoRepository { from: PathBuf },
    #[error("the current folder cannot be found out")]
    NoFolder { source: std::io::Error },
}

impl Project {
    /// Finds the project around the current folder.
    pub fn here() -> Result<Self, ProjectError> {
        let from = std::env::current_dir().map_err(|source| ProjectError::NoFolder { source })?;
        Self::around(&from)
    }

    /// Finds the project around a folder. Its home is the nearest `.ralph` up to the git root, else the root
    /// itself if it holds `prompts/` and `config`, else the `.ralph` that will be made there.
    pub fn around(from: &Path) -> Result<Self, ProjectError> {
        let root = from.ancestors().find(|folder| folder.join(".git").exists());
        let Some(root) = root else { return Err(ProjectError::NoRepository { from: from.to_path_buf() }) };
        let up_to_root = from.ancestors().take_while(|folder| folder.starts_with(root));
        let mut homes = up_to_root.map(|folder| folder.join(".ralph"));
        let is_home = root.join("prompts").is_dir() && root.join("config").is_file();
        let home = match homes.find(|home| home.is_dir()) {
            Some(home) => home,
            None if is_home => root.to_path_buf(),
            None => root.join(".ralph"),
        };
        Ok(Self { root: root.to_path_buf(), home })
    }

    /// Returns the folder of the database and the raw logs. A root that is the home may have a `state` of its
    /// own that is none of our business.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.home.join(if self.home == self.root { ".ralph-state" } else { "state" })
    }

    /// Returns the folder of the session logs of classic mode.
    #[must_use]
    pub fn session_logs(&self) -> PathBuf {
        self.home.join("logs")
    }

    /// Returns the file in which the agents of one run keep their notes.
    #[must_use]
    pub fn notes(&self, run: &str) -> PathBuf {
        let folder = self.home.join(if self.home == self.root { ".ralph-notes" } else { "notes" });
        folder.join(format!("{run}.md"))
    }

    /// Returns the folder of one run's raw logs.
    #[must_use]
    pub fn run_folder(&self, run: &str) -> PathBuf {
        self.state().join("runs").join(run)
    }

    /// Returns the lock that whoever drives a run has.
    #[must_use]
    pub fn run_lock(&self, run: &str) -> PathBuf {
        self.run_folder(run).join("lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_home_up_to_the_git_root_is_used() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let project = Project::around(&root.join("a/b")).unwrap();
        assert_eq!((project.root.as_path(), project.home), (root, root.join(".ralph")));
        std::fs::create_dir_all(root.join("a/.ralph")).unwrap();
        assert_eq!(Project::around(&root.join("a/b")).unwrap().home, root.join("a/.ralph"));
    }

    #[test] // spec: C1
    fn a_root_with_prompts_and_config_is_its_own_home_unless_there_is_another() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::create_dir_all(root.join("prompts")).unwrap();
        assert_eq!(Project::around(root).unwrap().home, root.join(".ralph"));
        std::fs::create_dir_all(root.join("config")).unwrap();
        assert_eq!(Project::around(root).unwrap().home, root.join(".ralph"), "a folder is no config");
        std::fs::remove_dir(root.join("config")).unwrap();
        std::fs::write(root.join("config"), "").unwrap();
        let project = Project::around(root).unwrap();
        assert_eq!((project.home.as_path(), project.state()), (root, root.join(".ralph-state")));
        std::fs::create_dir_all(root.join(".ralph")).unwrap();
        assert_eq!(Project::around(root).unwrap().home, root.join(".ralph"));
    }
}
