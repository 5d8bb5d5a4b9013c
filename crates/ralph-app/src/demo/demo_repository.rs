//! Creates the repository of the demo.
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_engine::git::{GitError, run_git};
use ralph_util::{private_files, user_folders};

/// The task of the demo.
pub const DEMO_TASK: &str = "\
slugify.sh turns a title into a slug for a web address. It does not handle capitals and punctuation yet.
Make `sh test.sh` pass, and commit your work.";

/// The check that verifies the claim.
pub const DEMO_CHECK: &str = "sh test.sh";

const FOLDER_PREFIX: &str = "ralph-demo-";
/// How long the folder of a demo is kept, so that it can be inspected.
const KEEP_DEMO_FOLDERS: Duration = Duration::from_secs(7 * 24 * 3_600);

pub(super) const SCRIPT_FILE: &str = "slugify.sh";

const UNFINISHED_SCRIPT: &str = "\
#!/bin/sh
# Prints the slug of a title.
printf '%s\\n' \"$1\" | tr ' ' '-'
";

pub(super) const FINISHED_SCRIPT: &str = "\
#!/bin/sh
# Prints the slug of a title.
printf '%s\\n' \"$1\" | tr 'A-Z' 'a-z' | sed -e 's/[^a-z0-9][^a-z0-9]*/-/g' -e 's/^-//' -e 's/-$//'
";

const TEST_SCRIPT: &str = "\
#!/bin/sh
# Fails unless every title has the right slug.
failed=0
expect() {
    got=$(sh slugify.sh \"$1\")
    if [ \"$got\" = \"$2\" ]; then
        echo \"ok      $1\"
    else
        echo \"FAILED  $1: expected $2, got $got\"
        failed=1
    fi
}
expect 'plain title' 'plain-title'
expect 'Hello, World!' 'hello-world'
expect '  Already -- proven?  ' 'already-proven'
exit $failed
";

#[derive(Debug, thiserror::Error)]
pub enum DemoRepositoryError {
    #[error("cannot create the demo folder {}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot create the demo repository")]
    Git(#[from] GitError),
}

/// The demo repository. The user can inspect it; a later demo removes it after a week.
pub struct DemoRepository {
    pub root: PathBuf,
}

impl DemoRepository {
    /// Creates a new repository in the temporary folder.
    pub fn create() -> Result<Self, DemoRepositoryError> {
        let files = [(SCRIPT_FILE, UNFINISHED_SCRIPT), ("test.sh", TEST_SCRIPT)];
        Self::create_with_files(&files, "slugify: first version")
    }

    /// Creates a new repository with these files in its first commit. Nothing is left if that fails.
    pub(super) fn create_with_files(files: &[(&str, &str)], message: &str) -> Result<Self, DemoRepositoryError> {
        remove_old_demo_folders(&std::env::temp_dir());
        ensure_user_state_folder()?;
        let root = std::env::temp_dir().join(format!("{FOLDER_PREFIX}{}", uuid::Uuid::new_v4().simple()));
        let failed = |source| DemoRepositoryError::Folder { path: root.clone(), source };
        std::fs::DirBuilder::new().mode(0o700).create(&root).map_err(failed)?;
        let repository = Self { root };
        let filled = repository.commit_files(files, message);
        if filled.is_err() {
            // The error says why the repository could not be created; its folder has no use.
            let _ = std::fs::remove_dir_all(&repository.root);
        }
        filled.map(|()| repository)
    }

    fn commit_files(&self, files: &[(&str, &str)], message: &str) -> Result<(), DemoRepositoryError> {
        for (name, text) in files {
            let path = self.root.join(name);
            let failed = |source| DemoRepositoryError::Folder { path: self.root.clone(), source };
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
            std::fs::write(path, text).map_err(failed)?;
        }
        run_git(&self.root, &["init", "--quiet"])?;
        Ok(commit_everything(&self.root, message)?)
    }

    /// Returns the agent's commit and a summary of its changes, one line each; `None` if it was stopped before it
    /// committed.
    pub fn agent_commit(&self) -> Result<Option<(String, String)>, DemoRepositoryError> {
        let line = |args: &[&str]| run_git(&self.root, args).map(|output| output.trim().to_owned());
        if line(&["rev-list", "--count", "HEAD"])? == "1" {
            return Ok(None);
        }
        let commit = line(&["log", "-1", "--format=%h %s"])?;
        Ok(Some((commit, line(&["diff", "--shortstat", "HEAD~1", "HEAD"])?)))
    }
}

/// Creates the folder for the state of the user. If that is impossible, no demo can run, and none leaves a folder.
fn ensure_user_state_folder() -> Result<(), DemoRepositoryError> {
    let Ok(path) = user_folders::find_state_folder(|name| std::env::var_os(name)) else { return Ok(()) };
    match private_files::ensure_folder(&path) {
        Ok(_) => Ok(()),
        Err(source) => Err(DemoRepositoryError::Folder { path, source }),
    }
}

/// Removes the folders of earlier demos of this user. A folder that cannot be removed stays.
fn remove_old_demo_folders(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_demo_folder = entry.file_name().to_str().is_some_and(is_demo_folder_name);
        // Does not follow links.
        let metadata = entry.metadata().ok().filter(|found| is_demo_folder && found.is_dir());
        let is_own = |found: &Metadata| found.uid() == rustix::process::getuid().as_raw();
        let is_old =
            |found: &Metadata| found.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEEP_DEMO_FOLDERS));
        if metadata.is_some_and(|found| is_own(&found) && is_old(&found)) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_demo_folder_name(name: &str) -> bool {
    name.strip_prefix(FOLDER_PREFIX).is_some_and(|id| uuid::Uuid::try_parse(id).is_ok())
}

/// Commits all files. Works without a configured git identity.
pub(super) fn commit_everything(root: &Path, message: &str) -> Result<(), GitError> {
    run_git(root, &["add", "--all"])?;
    run_commit(root, &["-m", message])
}

/// Commits only these files, because other changes in the repository belong to the user.
pub(super) fn commit_only(root: &Path, paths: &[&Path], message: &str) -> Result<(), GitError> {
    let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    let paths = paths.iter().map(AsRef::as_ref);
    run_git(root, &["add", "--"].into_iter().chain(paths.clone()).collect::<Vec<_>>())?;
    run_commit(root, &["-m", message, "--only", "--"].into_iter().chain(paths).collect::<Vec<_>>())
}

fn run_commit(root: &Path, args: &[&str]) -> Result<(), GitError> {
    let identity = ["-c", "user.name=ralph demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
    let args: Vec<&str> = identity.into_iter().chain(["commit", "--quiet"]).chain(args.iter().copied()).collect();
    run_git(root, &args).map(drop)
}
