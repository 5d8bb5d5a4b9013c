//! What was changed since the work began, new files included. It changes nothing: git gets an index, settings and
//! attributes that whoever did the work could not have changed.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use ralph_core::judge::{DiffTruncator, MAX_DIFF_BYTES};
use ralph_core::redact::StreamRedactor;

use super::CheckContext;
use super::program::{self, CheckProgram};
use super::verification_control::VerificationControl;
use ralph_process::{JobListener, JobSpec, OutputTiming, StdinSource};
use ralph_util::redact;

const DIFF_GIT_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of a complaint, or of a path, is read.
const MAX_CAPTURED_BYTES: usize = 4_096;
/// Room for the marks where something is left out.
const MAX_READ_DIFF_BYTES: usize = MAX_DIFF_BYTES / 8 * 7;

/// Neither the project nor the user's settings decide which programs are started, or what is left out.
const DIFF_ARGS: &[&str] = &["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];
const ADD_ARGS: &[&str] = &["add", "--intent-to-add", "--all", "."];
const OMITTED_FILES_NOTICE: &str = "[what git could not look at is left out, in its words:]";
const SAFE_GIT_OPTIONS: &[&str] = &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// Returns the difference between the work tree and a commit, without its secrets.
pub(super) async fn diff_worktree(
    context: &CheckContext,
    base: &str,
    control: &mut VerificationControl,
) -> Result<String, String> {
    let folder = context.log_folder.join(format!("{}.git", context.log_prefix));
    let told = diff_in_folder(context, (&folder, base), control).await;
    // It was ours alone.
    let _ = std::fs::remove_dir_all(&folder);
    told
}

async fn diff_in_folder(
    context: &CheckContext,
    (folder, base): (&Path, &str),
    control: &mut VerificationControl,
) -> Result<String, String> {
    let outside = DiffGit { context, env: Vec::new() };
    let objects = outside.git_path("objects", control).await?;
    let excluded = outside.git_path("info/exclude", control).await?;
    let format = if base.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
    let init = ["init", "--quiet", "--bare", "--template=", format];
    let init = init.iter().map(OsString::from).chain([folder.into()]).collect();
    outside.run(init, control).await?;
    copy_exclude_file(&excluded, folder);
    let own = DiffGit {
        context,
        env: vec![
            ("GIT_DIR".into(), folder.into()),
            ("GIT_WORK_TREE".into(), context.environment.root.clone().into()),
            ("GIT_INDEX_FILE".into(), folder.join("index").into()),
            ("GIT_OBJECT_DIRECTORY".into(), objects.into()),
            ("GIT_ATTR_SOURCE".into(), base.into()),
        ],
    };
    own.run_for_diff(&["read-tree", base], control).await?;
    own.add_committed_files((folder, base), control).await?;
    // A file that cannot be read, or a repository without a commit, hides no other.
    let left_out = match own.run_for_diff(ADD_ARGS, control).await {
        Ok(_) => None,
        Err(_) => own.run_for_diff(&[ADD_ARGS, &["--ignore-errors"]].concat(), control).await.err(),
    };
    let kept = own.run_for_diff(&[DIFF_ARGS, &[base, "--"]].concat(), control).await?;
    let left_out = left_out.map(|why| format!("{OMITTED_FILES_NOTICE}\n{why}\n")).unwrap_or_default();
    Ok(kept.finish(MAX_READ_DIFF_BYTES) + &left_out)
}

/// What the user does not want git to see is nobody else's business either.
fn copy_exclude_file(excluded: &Path, folder: &Path) {
    if std::fs::metadata(excluded).is_ok_and(|found| found.is_file())
        && std::fs::create_dir(folder.join("info")).is_ok()
    {
        let _ = std::fs::copy(excluded, folder.join("info/exclude"));
    }
}

/// Git with variables of our own, and none of anybody else's.
struct DiffGit<'a> {
    context: &'a CheckContext,
    env: Vec<(OsString, OsString)>,
}

impl DiffGit<'_> {
    /// Lets the index know the files that were committed since, also those that are ignored meanwhile.
    async fn add_committed_files(
        &self,
        (folder, base): (&Path, &str),
        control: &mut VerificationControl,
    ) -> Result<(), String> {
        let outside = DiffGit { context: self.context, env: Vec::new() };
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"].iter().map(OsString::from);
        // Nothing was ever committed.
        let Ok(head) = outside.run(head.collect(), control).await else { return Ok(()) };
        let head = String::from_utf8_lossy(&head.stdout_start).trim().to_owned();
        let list = folder.join("committed");
        let output = format!("--output={}", list.display());
        let new = ["diff", "--no-renames", "--name-only", "--diff-filter=A", "-z", &output, base, &head, "--"];
        self.run_for_diff(&new, control).await?;
        let named = std::fs::read(&list).map_err(|error| error.to_string())?;
        let is_there = |path: &&[u8]| {
            let path = self.context.environment.root.join(OsStr::from_bytes(path));
            path.symlink_metadata().is_ok_and(|found| !found.is_dir())
        };
        let there: Vec<&[u8]> =
            named.split(|byte| *byte == 0).filter(|path| !path.is_empty()).filter(is_there).collect();
        if there.is_empty() {
            return Ok(());
        }
        std::fs::write(&list, there.join(&0)).map_err(|error| error.to_string())?;
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
        let is_of_git = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("GIT_"));
        let mut env: Vec<_> = environment.env.iter().filter(|(name, _)| !is_of_git(name)).cloned().collect();
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
        let mut ear = DiffOutputReader::new();
        let program = CheckProgram { job, input: Vec::new(), timeout: DIFF_GIT_TIMEOUT };
        let ran = program::run_program(&self.context.keeper, program, &mut ear, control).await;
        match ran.ending {
            CheckEnding::Exited { code: 0 } => Ok(ear),
            CheckEnding::NotStarted { why } => Err(why),
            CheckEnding::TimedOut => Err("it took too long".to_owned()),
            CheckEnding::Exited { .. } | CheckEnding::Signalled { .. } => {
                Err(String::from_utf8_lossy(&ear.stderr_start).trim().to_owned())
            }
        }
    }
}

/// Hides secrets before anything is left out: half of one would not be known.
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
        let kept = &mut self.diff;
        self.redactor.finish(&mut |clean| kept.push(clean));
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
        let kept = &mut self.diff;
        self.redactor.push(piece, &mut |clean| kept.push(clean));
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        append_bounded(&mut self.stderr_start, piece);
    }
}
