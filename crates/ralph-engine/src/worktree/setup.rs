//! Runs the user's commands that prepare a work tree for the agent. They run once, and again only after they were
//! changed.
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

use super::{TaskWorktree, WorktreeError};
use crate::git;
use crate::verify::{self, CheckCache, CheckContext, CheckEnvironment, SealMonitor, SubmittedClaim};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::digest::sha256_hex;
use ralph_util::failpoints::{self, FailPoint};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// The file in the git folder of a work tree that records the commands which have run.
const SETUP_MARKER_FILE: &str = "ralph-setup";

/// The parameters of a setup.
pub struct WorktreeSetupRequest<'a> {
    pub keeper: Keeper,
    pub commands: &'a [String],
    pub env: Vec<(OsString, OsString)>,
    /// Marks the processes of the commands, so that they can be found.
    pub run_id: &'a str,
    /// The folder for the output of the commands.
    pub log_folder: PathBuf,
}

/// Runs the setup commands in a work tree, unless they have run there. `may_continue` is called before each command.
pub async fn run_setup_commands<C: Future<Output = bool>>(
    tree: &TaskWorktree,
    request: WorktreeSetupRequest<'_>,
    control: UnboundedReceiver<JobCommand>,
    may_continue: impl Fn() -> C,
) -> Result<(), WorktreeError> {
    let marker = git::worktree_git_path(&tree.path, SETUP_MARKER_FILE)?;
    let digest = sha256_hex(request.commands.join("\0"));
    if request.commands.is_empty() || fs::read_to_string(&marker).is_ok_and(|done| done == digest) {
        return Ok(());
    }
    private_files::ensure_folder(&request.log_folder)
        .map_err(|source| WorktreeError::Folder { path: request.log_folder.clone(), source })?;
    let context = CheckContext {
        keeper: request.keeper,
        environment: CheckEnvironment { root: tree.path.clone(), env: request.env, run_id: request.run_id.to_owned() },
        cache: CheckCache::default(),
        seal_monitor: SealMonitor::default(),
        log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &request.log_folder),
        log_folder: request.log_folder.clone(),
        log_prefix: format!("tree-{}", tree.task_id),
        plugin_folder: PathBuf::new(),
        claim: SubmittedClaim::default(),
        judge: None,
    };
    let may_continue = || {
        failpoints::reach_fail_point(FailPoint::SetupContinued);
        may_continue()
    };
    verify::run_worktree_setup(&context, request.commands, control, may_continue).await.map_err(|failed| {
        WorktreeError::SetupFailed {
            command: failed.command.clone(),
            reason: failed.reason.clone(),
            log: request.log_folder.join(&failed.log),
        }
    })?;
    fs::write(&marker, digest).map_err(|source| WorktreeError::Folder { path: marker, source })
}
