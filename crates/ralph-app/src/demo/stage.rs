//! The repository in which the demo plays.
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use ralph_engine::git::{GitError, git};

/// The task of the demo.
pub const TASK: &str = "\
slugify.sh turns a title into a slug for a web address. It does not handle capitals and punctuation yet.
Make `sh test.sh` pass, and commit your work.";

/// The check that decides.
pub const CHECK: &str = "sh test.sh";

pub(super) const SCRIPT: &str = "slugify.sh";

const UNFINISHED: &str = "\
#!/bin/sh
# Prints the slug of a title.
printf '%s\\n' \"$1\" | tr ' ' '-'
";

pub(super) const FINISHED: &str = "\
#!/bin/sh
# Prints the slug of a title.
printf '%s\\n' \"$1\" | tr 'A-Z' 'a-z' | sed -e 's/[^a-z0-9][^a-z0-9]*/-/g' -e 's/^-//' -e 's/-$//'
";

const TEST: &str = "\
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
pub enum StageError {
    #[error("the demo's folder {} cannot be made", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the demo's repository cannot be made")]
    Git(#[from] GitError),
}

/// The demo's repository. It is kept, so that people can look at it.
pub struct Stage {
    pub root: PathBuf,
}

impl Stage {
    /// Makes a new repository in the folder for temporary files.
    pub fn build() -> Result<Self, StageError> {
        let root = std::env::temp_dir().join(format!("ralph-demo-{}", uuid::Uuid::new_v4().simple()));
        let failed = |source| StageError::Folder { path: root.clone(), source };
        std::fs::DirBuilder::new().mode(0o700).create(&root).map_err(failed)?;
        for (name, text) in [(SCRIPT, UNFINISHED), ("test.sh", TEST)] {
            std::fs::write(root.join(name), text).map_err(failed)?;
        }
        git(&root, &["init", "--quiet"])?;
        commit(&root, "slugify: first version")?;
        Ok(Self { root })
    }

    /// Returns the commit that the agent made and what it changed, a line each; `None` where it was stopped before.
    pub fn work(&self) -> Result<Option<(String, String)>, StageError> {
        let line = |args: &[&str]| git(&self.root, args).map(|said| said.trim().to_owned());
        if line(&["rev-list", "--count", "HEAD"])? == "1" {
            return Ok(None);
        }
        let commit = line(&["log", "-1", "--format=%h %s"])?;
        Ok(Some((commit, line(&["diff", "--shortstat", "HEAD~1", "HEAD"])?)))
    }
}

/// Commits everything, also on a machine where git knows no name yet.
pub(super) fn commit(root: &Path, message: &str) -> Result<(), GitError> {
    git(root, &["add", "--all"])?;
    record(root, &["-m", message])
}

/// Commits these files and nothing else that may lie around in a repository of the user's.
pub(super) fn commit_only(root: &Path, paths: &[&Path], message: &str) -> Result<(), GitError> {
    let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
    let paths = paths.iter().map(AsRef::as_ref);
    git(root, &["add", "--"].into_iter().chain(paths.clone()).collect::<Vec<_>>())?;
    record(root, &["-m", message, "--only", "--"].into_iter().chain(paths).collect::<Vec<_>>())
}

fn record(root: &Path, args: &[&str]) -> Result<(), GitError> {
    let identity =
        ["-c", "user.name=ralph demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"];
    let args: Vec<&str> =
        identity.into_iter().chain(["commit", "--quiet"]).chain(args.iter().copied()).collect();
    git(root, &args).map(drop)
}
