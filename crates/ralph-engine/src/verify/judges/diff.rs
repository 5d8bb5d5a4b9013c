//! Computes the diff of the work tree since the work started, including new files. It changes nothing: git runs with an
//! index, settings and attributes that the agent cannot have changed.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use ralph_core::judge::{DiffTruncator, MAX_DIFF_BYTES};
use ralph_core::redact::StreamRedactor;

use crate::verify::CheckContext;
use crate::verify::program::{self, CheckProgram};
use crate::verify::verification_control::VerificationControl;
use ralph_process::{JobListener, JobSpec, OutputTiming, StdinSource};
use ralph_util::redact;

const DIFF_GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of an error message or a path is read.
const MAX_CAPTURED_BYTES: usize = 4_096;
/// Leaves space for the marks of omitted parts.
const MAX_READ_DIFF_BYTES: usize = MAX_DIFF_BYTES / 8 * 7;

/// Options that override the settings of project and user: they must not start programs or hide changes.
const DIFF_ARGS: &[&str] = &["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];
const ADD_ARGS: &[&str] = &["add", "--intent-to-add", "--all", "."];
const OMITTED_FILES_NOTICE: &str = "[git could not read some files, which are left out; it reported:]";
const SAFE_GIT_OPTIONS: &[&str] = &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// Returns the diff between a commit and the work tree, with secrets redacted.
pub(in crate::verify) async fn diff_worktree(
    context: &CheckContext,
    base: &str,
    control: &mut VerificationControl,
) -> Result<String, String> {
    let folder = context.log_folder.join(format!("{}.git", context.log_prefix));
    let diff = diff_in_folder(context, &folder, base, control).await;
    let _ = std::fs::remove_dir_all(&folder);
    diff
}

/// Computes the diff with a temporary repository in `folder`, which shares the objects of the user's repository.
async fn diff_in_folder(
    context: &CheckContext,
    folder: &Path,
    base: &str,
    control: &mut VerificationControl,
) -> Result<String, String> {
    let user_git = DiffGit { context, env: Vec::new() };
    let objects = user_git.git_path("objects", control).await?;
    let exclude_file = user_git.git_path("info/exclude", control).await?;
    let format = if base.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
    let init = ["init", "--quiet", "--bare", "--template=", format];
    let init = init.iter().map(OsString::from).chain([folder.into()]).collect();
    user_git.run(init, control).await?;
    copy_exclude_file(&exclude_file, folder);
    let temporary_git = DiffGit {
        context,
        env: vec![
            ("GIT_DIR".into(), folder.into()),
            ("GIT_WORK_TREE".into(), context.environment.root.clone().into()),
            ("GIT_INDEX_FILE".into(), folder.join("index").into()),
            ("GIT_OBJECT_DIRECTORY".into(), objects.into()),
            ("GIT_ATTR_SOURCE".into(), base.into()),
        ],
    };
    temporary_git.run_for_diff(&["read-tree", base], control).await?;
    temporary_git.add_committed_files(folder, base, control).await?;
    // An unreadable file, or a repository without a commit, must not hide the other changes.
    let omitted = match temporary_git.run_for_diff(ADD_ARGS, control).await {
        Ok(_) => None,
        Err(_) => temporary_git.run_for_diff(&[ADD_ARGS, &["--ignore-errors"]].concat(), control).await.err(),
    };
    let diff = temporary_git.run_for_diff(&[DIFF_ARGS, &[base, "--"]].concat(), control).await?;
    let omitted = omitted.map(|reason| format!("{OMITTED_FILES_NOTICE}\n{reason}\n")).unwrap_or_default();
    Ok(diff.finish(MAX_READ_DIFF_BYTES) + &omitted)
}

/// Copies the exclude file of the user's repository: files that the user excludes are not shown to the judge.
fn copy_exclude_file(exclude_file: &Path, folder: &Path) {
    if std::fs::metadata(exclude_file).is_ok_and(|found| found.is_file())
        && std::fs::create_dir(folder.join("info")).is_ok()
    {
        let _ = std::fs::copy(exclude_file, folder.join("info/exclude"));
    }
}

/// Runs git without inherited `GIT_*` variables, and with these instead.
struct DiffGit<'a> {
    context: &'a CheckContext,
    env: Vec<(OsString, OsString)>,
}

impl DiffGit<'_> {
    /// Adds the files to the index that were committed since `base`, including those that are ignored now.
    async fn add_committed_files(
        &self,
        folder: &Path,
        base: &str,
        control: &mut VerificationControl,
    ) -> Result<(), String> {
        let user_git = DiffGit { context: self.context, env: Vec::new() };
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"].iter().map(OsString::from);
        // Without a commit there is nothing to add.
        let Ok(head) = user_git.run(head.collect(), control).await else { return Ok(()) };
        let head = String::from_utf8_lossy(&head.stdout_start).trim().to_owned();
        let list = folder.join("committed");
        let output = format!("--output={}", list.display());
        let new = ["diff", "--no-renames", "--name-only", "--diff-filter=A", "-z", &output, base, &head, "--"];
        self.run_for_diff(&new, control).await?;
        let listed = std::fs::read(&list).map_err(|error| error.to_string())?;
        let exists = |path: &&[u8]| {
            let path = self.context.environment.root.join(OsStr::from_bytes(path));
            path.symlink_metadata().is_ok_and(|found| !found.is_dir())
        };
        let existing: Vec<&[u8]> =
            listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).filter(exists).collect();
        if existing.is_empty() {
            return Ok(());
        }
        std::fs::write(&list, existing.join(&0)).map_err(|error| error.to_string())?;
        let from = format!("--pathspec-from-file={}", list.display());
        let add = [
            "--literal-pathspecs",
            "add",
            "--intent-to-add",
            "--force",
            "--ignore-errors",
            &from,
            "--pathspec-file-nul",
        ];
        self.run_for_diff(&add, control).await.map(drop)
    }

    async fn git_path(&self, name: &str, control: &mut VerificationControl) -> Result<PathBuf, String> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", name];
        let printed = self.run(args.iter().map(OsString::from).collect(), control).await?.stdout_start;
        let path = printed.strip_suffix(b"\n").unwrap_or(&printed);
        Ok(OsString::from_vec(path.to_vec()).into())
    }

    async fn run_for_diff(&self, args: &[&str], control: &mut VerificationControl) -> Result<DiffTruncator, String> {
        let args = SAFE_GIT_OPTIONS.iter().chain(args).map(OsString::from).collect();
        Ok(self.run(args, control).await?.into_diff())
    }

    async fn run(&self, args: Vec<OsString>, control: &mut VerificationControl) -> Result<DiffOutputReader, String> {
        let environment = &self.context.environment;
        let is_git_variable = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("GIT_"));
        let mut env: Vec<_> = environment.env.iter().filter(|(name, _)| !is_git_variable(name)).cloned().collect();
        env.extend(
            [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_REPLACE_OBJECTS", "1")]
                .map(|(name, value)| (name.into(), value.into())),
        );
        env.extend(self.env.iter().cloned());
        let job = JobSpec {
            program: "git".into(),
            args,
            env,
            cwd: environment.root.clone(),
            run_id: environment.run_id.clone(),
            stdin: StdinSource::Null,
            linger: JobSpec::DEFAULT_LINGER,
            memory_limit: None,
        };
        let mut output = DiffOutputReader::new();
        let program = CheckProgram { job, input: Vec::new(), timeout: DIFF_GIT_TIMEOUT };
        let result = program::run_program(&self.context.keeper, program, &mut output, control).await;
        match result.ending {
            CheckEnding::Exited { code: 0 } => Ok(output),
            CheckEnding::NotStarted { why } => Err(why),
            CheckEnding::TimedOut => Err("it timed out".to_owned()),
            CheckEnding::Exited { .. } | CheckEnding::Signalled { .. } => {
                Err(String::from_utf8_lossy(&output.stderr_start).trim().to_owned())
            }
        }
    }
}

/// Redacts secrets before the diff is truncated: a truncated secret would not be recognized.
struct DiffOutputReader {
    redactor: StreamRedactor,
    diff: DiffTruncator,
    stdout_start: Vec<u8>,
    stderr_start: Vec<u8>,
}

impl DiffOutputReader {
    fn new() -> Self {
        Self {
            redactor: redact::new_redactor(),
            diff: DiffTruncator::default(),
            stdout_start: Vec::new(),
            stderr_start: Vec::new(),
        }
    }

    fn into_diff(mut self) -> DiffTruncator {
        let diff = &mut self.diff;
        self.redactor.finish(&mut |clean| diff.push(clean));
        self.diff
    }
}

fn append_bounded(captured: &mut Vec<u8>, piece: &[u8]) {
    let room = MAX_CAPTURED_BYTES.saturating_sub(captured.len()).min(piece.len());
    captured.extend_from_slice(piece.get(..room).unwrap_or_default());
}

impl JobListener for DiffOutputReader {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        append_bounded(&mut self.stdout_start, piece);
        let diff = &mut self.diff;
        self.redactor.push(piece, &mut |clean| diff.push(clean));
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        append_bounded(&mut self.stderr_start, piece);
    }
}
