//! The user's commands that make a tree fit for work. They run once, and again only when others were written.
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

/// The file by which a tree knows that it was set up, in what it has of its own in the repository.
const SETUP_MARKER_FILE: &str = "ralph-setup";

/// What setting up needs.
pub struct WorktreeSetupRequest<'a> {
    pub keeper: Keeper,
    pub commands: &'a [String],
    pub env: Vec<(OsString, OsString)>,
    /// Marks the processes, so that they can be found.
    pub run_id: &'a str,
    /// Where the commands leave their output.
    pub log_folder: PathBuf,
}

/// Runs the commands in a tree, unless they have run there. Before each of them it is asked whether that may still be.
pub async fn run_setup_commands(
    tree: &TaskWorktree,
    request: WorktreeSetupRequest<'_>,
    control: UnboundedReceiver<JobCommand>,
    may_continue: impl AsyncFn() -> bool,
) -> Result<(), WorktreeError> {
    let mark = git::worktree_git_path(&tree.path, SETUP_MARKER_FILE)?;
    let commands = sha256_hex(request.commands.join("\0"));
    if request.commands.is_empty() || fs::read_to_string(&mark).is_ok_and(|done| done == commands) {
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
    let may_go_on = async || {
        failpoints::reach_fail_point(FailPoint::SetupContinued);
        may_continue().await
    };
    verify::run_worktree_setup(&context, request.commands, control, may_go_on).await.map_err(|failed| {
        WorktreeError::SetupFailed {
            command: failed.command.clone(),
            reason: failed.reason.clone(),
            log: request.log_folder.join(&failed.log),
        }
    })?;
    fs::write(&mark, commands).map_err(|source| WorktreeError::Folder { path: mark, source })
}
