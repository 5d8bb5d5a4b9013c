//! Checks that run outside of a loop: in a checkout of their own, until they are through or a signal stops them.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::criterion::Criterion;
use ralph_core::evidence::{CheckEvidence, Evidence};
use ralph_core::outcome::{RunEnd, exit_code};
use tokio::sync::mpsc;

use crate::error::CommandError;
use ralph_engine::git::{self, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, PROJECT_ENV_VAR, wait_for_stop_signal};
use ralph_engine::verify::{
    self, AcceptancePolicy, CheckCache, CheckContext, CheckEnvironment, SealMonitor, SubmittedClaim,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// How long checks that were told to stop may take.
const CHECK_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What is looked at, and where that is told.
pub struct CheckoutVerification<'a> {
    pub project: &'a Project,
    pub checkout: &'a TemporaryCheckout,
    pub acceptance: &'a AcceptancePolicy,
    /// Marks the processes.
    pub run_id: String,
    /// The folder of the logs, and what their names begin with.
    pub logs: (PathBuf, &'a str),
}

pub enum CheckoutVerificationResult {
    Finished(Evidence),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

impl CheckoutVerification<'_> {
    /// Runs checks in the checkout, until somebody asks for a stop.
    pub async fn run_checks(
        self,
        criteria: &[Criterion],
        keeper: Keeper,
        control: &mut ControlInput,
    ) -> Result<CheckoutVerificationResult, CommandError> {
        let (folder, name) = self.logs;
        private_files::ensure_folder(&folder)
            .map_err(|error| CommandError::from_error(exit_code::STATE_UNUSABLE, &error))?;
        let root = self.checkout.path().to_path_buf();
        let verifier = CheckContext {
            cache: CheckCache::default(),
            seal_monitor: SealMonitor::default(),
            keeper,
            environment: CheckEnvironment { root, env: check_environment(self.project), run_id: self.run_id },
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &folder),
            log_folder: folder,
            log_prefix: name.to_owned(),
            plugin_folder: self.project.verifiers_folder(),
            claim: SubmittedClaim::default(),
            judge: None,
        };
        verify::share_paths(&self.project.root, self.checkout.path(), &self.acceptance.share)
            .map_err(|error| CommandError::from_error(exit_code::STATE_UNUSABLE, &error))?;
        run_until_stopped(&verifier, &self.acceptance.setup, criteria, control).await
    }
}

async fn run_until_stopped(
    verifier: &CheckContext,
    setup: &[String],
    criteria: &[Criterion],
    control: &mut ControlInput,
) -> Result<CheckoutVerificationResult, CommandError> {
    let (orders, received) = mpsc::unbounded_channel();
    let mut looking = std::pin::pin!(verify::verify_checkout(verifier, setup, criteria, received));
    tokio::select! {
        looked = &mut looking => {
            looked.map(CheckoutVerificationResult::Finished).map_err(|failed| checkout_setup_error(&failed, &verifier.log_folder))
        }
        signal = wait_for_stop_signal(control, &orders) => {
            let _ = orders.send(JobCommand::Kill);
            let _ = tokio::time::timeout(CHECK_STOP_TIMEOUT, &mut looking).await;
            Ok(CheckoutVerificationResult::Stopped(RunEnd::interrupted_by_signal(signal).exit_code))
        }
    }
}

/// Returns our own environment without what would lead a check's git back to the user's repository.
fn check_environment(project: &Project) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| !git::REPOSITORY_VARIABLES.iter().any(|gone| name == gone));
    let own = (PROJECT_ENV_VAR.into(), project.root.clone().into());
    ours.filter(|(name, _)| name != PROJECT_ENV_VAR).chain([own]).collect()
}

/// Where the checkout cannot be made fit, nothing is known about the work.
fn checkout_setup_error(failed: &CheckEvidence, logs: &Path) -> CommandError {
    let what = format!("the checkout could not be set up: `{}`: {}", failed.command, failed.reason);
    let log = logs.join(&failed.log);
    CommandError::preflight_error(what)
        .with_hint(format!("see {}; what it lacks may be shared: verification.share", log.display()))
}
