//! What was changed since the work began, new files included. It changes nothing: git gets an index of its own.
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use ralph_core::evidence::CheckEnding;

use super::Verifier;
use super::orders::Orders;
use super::program::{self, Program};
use crate::process::{JobSpec, Listener, Stdin, When};

/// More than this no judge reads.
const MOST: usize = 1 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// Neither the project nor the user's settings decide how the work looks or which programs are started for that.
const DIFF: &[&str] = &[
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
];

/// Returns the difference between the work tree and a commit; where git cannot tell it, why not.
pub(super) async fn diff(verifier: &Verifier, base: &str, orders: &mut Orders) -> String {
    let index = verifier.folder.join(format!("{}.index", verifier.name));
    let new_files = &["-c", "core.fsmonitor=false", "add", "--intent-to-add", "--all", "."];
    let read = ["read-tree", base];
    let told = match git(verifier, &index, &read, orders).await {
        Err(why) => Err(why),
        Ok(_) => {
            // Files that cannot be added are left out of the index; git names them on stderr.
            let _ = git(verifier, &index, new_files, orders).await;
            let args: Vec<&str> = DIFF.iter().copied().chain([base, "--"]).collect();
            git(verifier, &index, &args, orders).await
        }
    };
    // It was ours alone.
    let _ = std::fs::remove_file(&index);
    told.unwrap_or_else(|why| format!("(git could not tell what was changed: {why})"))
}

async fn git(
    verifier: &Verifier,
    index: &Path,
    args: &[&str],
    orders: &mut Orders,
) -> Result<String, String> {
    let ground = &verifier.ground;
    let is_of_git = |name: &OsString| name.to_str().is_some_and(|name| name.starts_with("GIT_"));
    let mut env: Vec<_> = ground.env.iter().filter(|(name, _)| !is_of_git(name)).cloned().collect();
    env.extend([("GIT_INDEX_FILE".into(), index.into()), ("GIT_OPTIONAL_LOCKS".into(), "0".into())]);
    let job = JobSpec {
        program: "git".into(),
        args: args.iter().map(OsString::from).collect(),
        env,
        cwd: ground.root.clone(),
        run_id: ground.run_id.clone(),
        stdin: Stdin::Null,
        linger: JobSpec::LINGER,
        memory: None,
    };
    let mut head = Head::default();
    let program = Program { job, input: Vec::new(), time: PATIENCE };
    let ran = program::run(&verifier.keeper, program, &mut head, orders).await;
    match ran.ending {
        CheckEnding::Exited { code: 0 } => Ok(String::from_utf8_lossy(&head.printed).into_owned()),
        CheckEnding::NotStarted { why } => Err(why),
        CheckEnding::Exited { .. } | CheckEnding::Signalled { .. } | CheckEnding::TimedOut => {
            Err(String::from_utf8_lossy(&head.complained).trim().to_owned())
        }
    }
}

/// Keeps the beginning of what is printed.
#[derive(Default)]
struct Head {
    printed: Vec<u8>,
    complained: Vec<u8>,
}

fn keep(kept: &mut Vec<u8>, piece: &[u8], most: usize) {
    let room = most.saturating_sub(kept.len()).min(piece.len());
    kept.extend_from_slice(piece.get(..room).unwrap_or_default());
}

impl Listener for Head {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        keep(&mut self.printed, piece, MOST);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        keep(&mut self.complained, piece, 1_024);
    }
}
