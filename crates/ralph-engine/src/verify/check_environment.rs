//! The work tree and the environment variables in which checks run.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use ralph_core::criterion::{CheckCommand, ExternalCheck};

use ralph_process::{JobSpec, StdinSource};

pub struct CheckEnvironment {
    /// The root of the work tree.
    pub root: PathBuf,
    pub env: Vec<(OsString, OsString)>,
    pub run_id: String,
}

/// Why the working directory of a check cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WorkingDirError {
    #[error("its working directory {} leads out of the work tree", folder.display())]
    Outside { folder: PathBuf },
    #[error("its working directory {} cannot be entered", folder.display())]
    Missing { folder: PathBuf, source: io::Error },
}

impl CheckEnvironment {
    /// Returns the job that runs a check.
    pub(super) fn build_job(&self, check: &ExternalCheck) -> Result<JobSpec, WorkingDirError> {
        let (program, args) = match &check.command {
            CheckCommand::Shell(text) => ("/bin/sh".into(), vec!["-c".into(), text.into()]),
            CheckCommand::Argv(words) => {
                let mut words = words.iter();
                let program = words.next().map_or_else(PathBuf::new, |program| self.resolve_program(program));
                (program, words.map(OsString::from).collect())
            }
        };
        let mut env = self.env.clone();
        env.retain(|(name, _)| !check.env.keys().any(|set| name == set.as_str()));
        env.extend(check.env.iter().map(|(name, value)| (name.into(), value.into())));
        Ok(JobSpec {
            program,
            args,
            env,
            cwd: self.resolve_working_dir(check.working_dir.as_deref())?,
            run_id: self.run_id.clone(),
            stdin: StdinSource::Null,
            linger: JobSpec::DEFAULT_LINGER,
            memory_limit: None,
        })
    }

    /// Resolves a program with a slash against the root of the work tree, whatever the working directory of the check
    /// is.
    fn resolve_program(&self, written: &str) -> PathBuf {
        if written.contains('/') { self.root.join(written) } else { written.into() }
    }

    /// Returns the working directory of a check, with links resolved. It must be inside the work tree.
    fn resolve_working_dir(&self, named: Option<&str>) -> Result<PathBuf, WorkingDirError> {
        let Some(named) = named else { return Ok(self.root.clone()) };
        let folder = self.root.join(Path::new(named));
        let missing = |source| WorkingDirError::Missing { folder: PathBuf::from(named), source };
        let real = folder.canonicalize().map_err(missing)?;
        let root = self.root.canonicalize().map_err(missing)?;
        if real.starts_with(&root) { Ok(real) } else { Err(WorkingDirError::Outside { folder: named.into() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_environment(root: &Path) -> CheckEnvironment {
        let env = vec![("A".into(), "ours".into()), ("B".into(), "kept".into())];
        CheckEnvironment { root: root.to_path_buf(), env, run_id: "r".to_owned() }
    }

    // spec: V2
    #[test]
    fn an_argument_list_is_started_without_a_shell_and_its_variables_take_precedence() {
        let temp = tempfile::tempdir().unwrap();
        let words = ["test", "-f", "a b; touch c"].map(str::to_owned);
        let mut check = ExternalCheck::new(CheckCommand::Argv(words.into()));
        check.env.insert("A".to_owned(), "its".to_owned());
        let job = test_environment(temp.path()).build_job(&check).unwrap();
        assert_eq!((job.program.as_path(), job.args.len()), (Path::new("test"), 2));
        assert_eq!(job.args[1], "a b; touch c");
        assert_eq!(job.env, [("B".into(), "kept".into()), ("A".into(), "its".into())]);
    }

    // spec: V2
    #[test]
    fn a_program_with_a_slash_is_relative_to_the_work_tree() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join("sub")).unwrap();
        let program = |written: &str| {
            let command = CheckCommand::Argv(vec![written.to_owned()]);
            let check = ExternalCheck { working_dir: Some("sub".to_owned()), ..ExternalCheck::new(command) };
            test_environment(temp.path()).build_job(&check).unwrap().program
        };
        assert_eq!(program("./check.sh"), temp.path().join("./check.sh"));
        assert_eq!(program("bin/check"), temp.path().join("bin/check"));
        assert_eq!((program("make"), program("/bin/true")), ("make".into(), "/bin/true".into()));
    }

    // spec: V2
    #[test]
    fn a_check_cannot_leave_the_work_tree() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("tree");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::os::unix::fs::symlink("/", root.join("out")).unwrap();
        let cwd = |named: &str| {
            let check = ExternalCheck { working_dir: Some(named.to_owned()), ..ExternalCheck::from_shell_text("true") };
            test_environment(&root).build_job(&check).map(|job| job.cwd)
        };
        assert!(cwd("sub").unwrap().ends_with("tree/sub"));
        for outside in ["..", "/", "out", "out/tmp", "sub/../.."] {
            assert!(matches!(cwd(outside), Err(WorkingDirError::Outside { .. })), "{outside}");
        }
        assert!(matches!(cwd("gone"), Err(WorkingDirError::Missing { .. })));
    }
}
