//! The user's commands that make a tree fit for work. They run once, and again only when others were written.
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use tokio::sync::mpsc::UnboundedReceiver;

use super::{Tree, TreeError};
use crate::git;
use crate::verify::{self, Cache, Claimed, Ground, Verifier, Watch};
use ralph_process::{Keeper, LogBudget, Order};
use ralph_util::digest::sha256;
use ralph_util::fail::{self, Point};
use ralph_util::memory_size::MemorySize;
use ralph_util::private;

/// The file by which a tree knows that it was set up, in what it has of its own in the repository.
const MARK: &str = "ralph-setup";

/// What setting up needs.
pub struct SetUp<'a> {
    pub keeper: Keeper,
    pub commands: &'a [String],
    pub env: Vec<(OsString, OsString)>,
    /// Marks the processes, so that they can be found.
    pub run_id: &'a str,
    /// Where the commands leave their output.
    pub logs: PathBuf,
}

/// Runs the commands in a tree, unless they have run there. Before each of them it is asked whether that may still be.
pub async fn set_up(
    tree: &Tree,
    with: SetUp<'_>,
    orders: UnboundedReceiver<Order>,
    may_go_on: impl AsyncFn() -> bool,
) -> Result<(), TreeError> {
    let mark = git::own_file(&tree.path, MARK)?;
    let commands = sha256(with.commands.join("\0"));
    if with.commands.is_empty() || fs::read_to_string(&mark).is_ok_and(|done| done == commands) {
        return Ok(());
    }
    private::folder(&with.logs).map_err(|source| TreeError::Folder { path: with.logs.clone(), source })?;
    let verifier = Verifier {
        keeper: with.keeper,
        ground: Ground { root: tree.path.clone(), env: with.env, run_id: with.run_id.to_owned() },
        cache: Cache::default(),
        watch: Watch::default(),
        logs: LogBudget::new(MemorySize::GIGABYTE.bytes(), &with.logs),
        folder: with.logs.clone(),
        name: format!("tree-{}", tree.name),
        verifiers: PathBuf::new(),
        claim: Claimed::default(),
        judge: None,
    };
    let may_go_on = async || {
        fail::point(Point::SetUpGoesOn);
        may_go_on().await
    };
    verify::set_up_tree(&verifier, with.commands, orders, may_go_on).await.map_err(|failed| {
        TreeError::SetUp {
            command: failed.command.clone(),
            reason: failed.reason.clone(),
            log: with.logs.join(&failed.log),
        }
    })?;
    fs::write(&mark, commands).map_err(|source| TreeError::Folder { path: mark, source })
}
