//! What was changed since the work began, new files included. It changes nothing: git gets an index, settings and
//! attributes that whoever did the work could not have changed.
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::evidence::CheckEnding;
use ralph_core::judge::{DIFF_BYTES, DiffKeeper};
use ralph_core::redact::Redactor;

use super::Verifier;
use super::orders::Orders;
use super::program::{self, Program};
use ralph_process::{JobSpec, Listener, Stdin, When};
use ralph_util::redact;

const PATIENCE: Duration = Duration::from_secs(60);
/// How much of a complaint, or of a path, is read.
const FEW: usize = 4_096;
/// Room for the marks where something is left out.
const SHOWN: usize = DIFF_BYTES / 8 * 7;

/// Neither the project nor the user's settings decide which programs are started, or what is left out.
const DIFF: &[&str] = &["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"];
const ADD: &[&str] = &["add", "--intent-to-add", "--all", "."];
const LEFT_OUT: &str = "[what git could not look at is left out, in its words:]";
const USUAL: &[&str] = &["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// Returns the difference between the work tree and a commit, without its secrets.
pub(super) async fn diff(verifier: &Verifier, base: &str, orders: &mut Orders) -> Result<String, String> {
    let folder = verifier.folder.join(format!("{}.git", verifier.name));
    let told = in_folder(verifier, (&folder, base), orders).await;
    // It was ours alone.
    let _ = std::fs::remove_dir_all(&folder);
    told
}

async fn in_folder(
    verifier: &Verifier,
    (folder, base): (&Path, &str),
    orders: &mut Orders,
) -> Result<String, String> {
    let outside = Git { verifier, env: Vec::new() };
    let objects = outside.path("objects", orders).await?;
    let excluded = outside.path("info/exclude", orders).await?;
    let format = if base.len() == 64 { "--object-format=sha256" } else { "--object-format=sha1" };
    let init = ["init", "--quiet", "--bare", "--template=", format];
    let init = init.iter().map(OsString::from).chain([folder.into()]).collect();
    outside.run(init, orders).await?;
    copy_what_is_ignored(&excluded, folder);
    let own = Git {
        verifier,
        env: vec![
            ("GIT_DIR".into(), folder.into()),
            ("GIT_WORK_TREE".into(), verifier.ground.root.clone().into()),
            ("GIT_INDEX_FILE".into(), folder.join("index").into()),
            ("GIT_OBJECT_DIRECTORY".into(), objects.into()),
            ("GIT_ATTR_SOURCE".into(), base.into()),
        ],
    };
    own.words(&["read-tree", base], orders).await?;
    own.add_what_is_committed((folder, base), orders).await?;
    // A file that cannot be read, or a repository without a commit, hides no other.
    let left_out = match own.words(ADD, orders).await {
        Ok(_) => None,
        Err(_) => own.words(&[ADD, &["--ignore-errors"]].concat(), orders).await.err(),
    };
    let kept = own.words(&[DIFF, &[base, "--"]].concat(), orders).await?;
    let left_out = left_out.map(|why| format!("{LEFT_OUT}\n{why}\n")).unwrap_or_default();
    Ok(kept.finish(SHOWN) + &left_out)
}

/// What the user does not want git to see is nobody else's business either.
fn copy_what_is_ignored(excluded: &Path, folder: &Path) {
    if std::fs::metadata(excluded).is_ok_and(|found| found.is_file())
        && std::fs::create_dir(folder.join("info")).is_ok()
    {
        let _ = std::fs::copy(excluded, folder.join("info/exclude"));
    }
}

/// Git with variables of our own, and none of anybody else's.
struct Git<'a> {
    verifier: &'a Verifier,
    env: Vec<(OsString, OsString)>,
}

impl Git<'_> {
    /// Lets the index know the files that were committed since, also those that are ignored meanwhile.
    async fn add_what_is_committed(
        &self,
        (folder, base): (&Path, &str),
        orders: &mut Orders,
    ) -> Result<(), String> {
        let outside = Git { verifier: self.verifier, env: Vec::new() };
        let head = ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"].iter().map(OsString::from);
        // Nothing was ever committed.
        let Ok(head) = outside.run(head.collect(), orders).await else { return Ok(()) };
        let head = String::from_utf8_lossy(&head.first).trim().to_owned();
        let list = folder.join("committed");
        let output = format!("--output={}", list.display());
        let new =
            ["diff", "--no-renames", "--name-only", "--diff-filter=A", "-z", &output, base, &head, "--"];
        self.words(&new, orders).await?;
        let named = std::fs::read(&list).map_err(|error| error.to_string())?;
        let is_there = |path: &&[u8]| {
            let path = self.verifier.ground.root.join(OsStr::from_bytes(path));
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
        self.words(&add, orders).await.map(drop)
    }

    async fn path(&self, name: &str, orders: &mut Orders) -> Result<PathBuf, String> {
        let args = ["rev-parse", "--path-format=absolute", "--git-path", name];
        let printed = self.run(args.iter().map(OsString::from).collect(), orders).await?.first;
        let path = printed.strip_suffix(b"\n").unwrap_or(&printed);
        Ok(OsString::from_vec(path.to_vec()).into())
    }

    async fn words(&self, args: &[&str], orders: &mut Orders) -> Result<DiffKeeper, String> {
        let args = USUAL.iter().chain(args).map(OsString::from).collect();
        Ok(self.run(args, orders).await?.told())
    }

    async fn run(&self, args: Vec<OsString>, orders: &mut Orders) -> Result<Ear, String> {
        let ground = &self.verifier.ground;
        let is_of_git = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("GIT_"));
        let mut env: Vec<_> = ground.env.iter().filter(|(name, _)| !is_of_git(name)).cloned().collect();
        env.extend(
            [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_REPLACE_OBJECTS", "1")]
                .map(|(name, value)| (name.into(), value.into())),
        );
        env.extend(self.env.iter().cloned());
        let job = JobSpec {
            program: "git".into(),
            args,
            env,
            cwd: ground.root.clone(),
            run_id: ground.run_id.clone(),
            stdin: Stdin::Null,
            linger: JobSpec::LINGER,
            memory: None,
        };
        let mut ear = Ear::new();
        let program = Program { job, input: Vec::new(), time: PATIENCE };
        let ran = program::run(&self.verifier.keeper, program, &mut ear, orders).await;
        match ran.ending {
            CheckEnding::Exited { code: 0 } => Ok(ear),
            CheckEnding::NotStarted { why } => Err(why),
            CheckEnding::TimedOut => Err("it took too long".to_owned()),
            CheckEnding::Exited { .. } | CheckEnding::Signalled { .. } => {
                Err(String::from_utf8_lossy(&ear.complained).trim().to_owned())
            }
        }
    }
}

/// Hides secrets before anything is left out: half of one would not be known.
struct Ear {
    redactor: Redactor,
    kept: DiffKeeper,
    first: Vec<u8>,
    complained: Vec<u8>,
}

impl Ear {
    fn new() -> Self {
        Self {
            redactor: redact::stream(),
            kept: DiffKeeper::default(),
            first: Vec::new(),
            complained: Vec::new(),
        }
    }

    fn told(mut self) -> DiffKeeper {
        let kept = &mut self.kept;
        self.redactor.finish(&mut |clean| kept.push(clean));
        self.kept
    }
}

fn keep(kept: &mut Vec<u8>, piece: &[u8]) {
    let room = FEW.saturating_sub(kept.len()).min(piece.len());
    kept.extend_from_slice(piece.get(..room).unwrap_or_default());
}

impl Listener for Ear {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        keep(&mut self.first, piece);
        let kept = &mut self.kept;
        self.redactor.push(piece, &mut |clean| kept.push(clean));
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        keep(&mut self.complained, piece);
    }
}
