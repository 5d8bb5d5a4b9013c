//! Checks that run outside of a loop: in a checkout of their own, until they are through or a signal stops them.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::criterion::Criterion;
use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::outcome::{Ended, exit_code};
use tokio::sync::mpsc;

use crate::error::Failure;
use ralph_engine::engine::{Asks, PROJECT_VARIABLE, stop_for_commands};
use ralph_engine::git::{self, Checkout};
use ralph_engine::project::Project;
use ralph_engine::verify::{self, Acceptance, Cache, Claimed, Ground, Verifier, Watch};
use ralph_process::{Keeper, LogBudget, Order};
use ralph_util::memory_size::MemorySize;
use ralph_util::private;

/// How long checks that were told to stop may take.
const PUT_DOWN: Duration = Duration::from_secs(10);

/// What is looked at, and where that is told.
pub struct Looking<'a> {
    pub project: &'a Project,
    pub checkout: &'a Checkout,
    pub acceptance: &'a Acceptance,
    /// Marks the processes.
    pub run: String,
    /// The folder of the logs, and what their names begin with.
    pub logs: (PathBuf, &'a str),
}

pub enum Looked {
    Through(Evidence),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

impl Looking<'_> {
    /// Runs checks in the checkout, until somebody asks for a stop.
    pub async fn look(
        self,
        criteria: &[Criterion],
        keeper: Keeper,
        asks: &mut Asks,
    ) -> Result<Looked, Failure> {
        let (folder, name) = self.logs;
        private::folder(&folder).map_err(|error| Failure::new(exit_code::STATE, &error))?;
        let root = self.checkout.path().to_path_buf();
        let verifier = Verifier {
            cache: Cache::default(),
            watch: Watch::default(),
            keeper,
            ground: Ground { root, env: environment(self.project), run_id: self.run },
            logs: LogBudget::new(MemorySize::GIGABYTE.bytes(), &folder),
            folder,
            name: name.to_owned(),
            verifiers: self.project.verifiers(),
            claim: Claimed::default(),
            judge: None,
        };
        verify::lend(&self.project.root, self.checkout.path(), &self.acceptance.share)
            .map_err(|error| Failure::new(exit_code::STATE, &error))?;
        until_stopped(&verifier, &self.acceptance.setup, criteria, asks).await
    }
}

async fn until_stopped(
    verifier: &Verifier,
    setup: &[String],
    criteria: &[Criterion],
    asks: &mut Asks,
) -> Result<Looked, Failure> {
    let (orders, received) = mpsc::unbounded_channel();
    let mut looking = std::pin::pin!(verify::again(verifier, setup, criteria, received));
    tokio::select! {
        looked = &mut looking => {
            looked.map(Looked::Through).map_err(|failed| unfit(&failed, &verifier.folder))
        }
        signal = stop_for_commands(asks, &orders) => {
            let _ = orders.send(Order::Kill);
            let _ = tokio::time::timeout(PUT_DOWN, &mut looking).await;
            Ok(Looked::Stopped(Ended::interrupted(signal).exit_code))
        }
    }
}

/// Returns our own environment without what would lead a check's git back to the user's repository.
fn environment(project: &Project) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| !git::ELSEWHERE.iter().any(|gone| name == gone));
    let own = (PROJECT_VARIABLE.into(), project.root.clone().into());
    ours.filter(|(name, _)| name != PROJECT_VARIABLE).chain([own]).collect()
}

/// Where the checkout cannot be made fit, nothing is known about the work.
fn unfit(failed: &CheckEvidence, logs: &Path) -> Failure {
    let what = format!("the checkout could not be set up: `{}`: {}", failed.command, failed.reason);
    let log = logs.join(&failed.log);
    Failure::preflight(what)
        .hint(format!("see {}; what it lacks may be shared: verification.share", log.display()))
}
