//! Runs checks outside of a loop: in a temporary checkout, until they end or a signal stops them.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ralph_core::baseline::BaselineTrial;
use ralph_core::criterion::Criterion;
use ralph_core::event::StopSignal;
use ralph_core::evidence::{CheckEvidence, Evidence};
use tokio::sync::mpsc;

use crate::error::{AppError, AppResult, ErrorKind};
use ralph_engine::git::{self, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, PROJECT_ENV_VAR, wait_for_stop_signal};
use ralph_engine::verify::{
    self, AcceptancePolicy, CheckCache, CheckContext, CheckEnvironment, SealMonitor, SubmittedClaim,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// How long checks may take to stop.
const CHECK_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks of one checkout.
pub struct CheckoutVerification<'a> {
    pub project: &'a Project,
    pub checkout: &'a TemporaryCheckout,
    pub acceptance: &'a AcceptancePolicy,
    /// The run id of the processes.
    pub run_id: String,
    pub log_folder: PathBuf,
    /// The names of the logs start with it.
    pub log_prefix: String,
}

#[derive(Debug)]
pub enum CheckoutVerificationResult<T = Evidence> {
    Finished(T),
    Stopped(StopSignal),
}

impl CheckoutVerification<'_> {
    /// Runs the checks until they end or a stop is requested.
    pub async fn run_checks(
        self,
        criteria: &[Criterion],
        keeper: Keeper,
        control: &mut ControlInput,
    ) -> AppResult<CheckoutVerificationResult> {
        let verifier = self.prepare_context(keeper)?;
        let (commands, received) = mpsc::unbounded_channel();
        let verifying = verify::verify_checkout(&verifier, &self.acceptance.setup, criteria, received);
        match run_until_stopped(verifying, commands, control).await {
            CheckoutVerificationResult::Finished(Ok(evidence)) => Ok(CheckoutVerificationResult::Finished(evidence)),
            CheckoutVerificationResult::Finished(Err(failed)) => {
                Err(checkout_setup_error(&failed, &verifier.log_folder))
            }
            CheckoutVerificationResult::Stopped(signal) => Ok(CheckoutVerificationResult::Stopped(signal)),
        }
    }

    /// Runs the baseline until it ends or a stop is requested. Returns the evidence of a failed setup command as the inner
    /// error.
    pub(super) async fn run_baseline(
        self,
        criteria: &[Criterion],
        keeper: Keeper,
        control: &mut ControlInput,
    ) -> AppResult<CheckoutVerificationResult<Result<Vec<BaselineTrial>, Box<CheckEvidence>>>> {
        let verifier = self.prepare_context(keeper)?;
        let (commands, received) = mpsc::unbounded_channel();
        let running = verify::run_checkout_baseline(&verifier, &self.acceptance.setup, criteria, received);
        Ok(run_until_stopped(running, commands, control).await)
    }

    /// Links the shared folders into the checkout, and returns the context of its checks.
    fn prepare_context(&self, keeper: Keeper) -> AppResult<CheckContext> {
        private_files::ensure_folder(&self.log_folder)
            .map_err(|error| AppError::from_error(ErrorKind::StateUnusable, &error))?;
        verify::share_paths(&self.project.root, self.checkout.path(), &self.acceptance.share)
            .map_err(|error| AppError::from_error(ErrorKind::StateUnusable, &error))?;
        let root = self.checkout.path().to_path_buf();
        let env = check_environment(self.project);
        Ok(CheckContext {
            cache: CheckCache::default(),
            seal_monitor: SealMonitor::default(),
            keeper,
            environment: CheckEnvironment { root, env, run_id: self.run_id.clone() },
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &self.log_folder),
            log_folder: self.log_folder.clone(),
            log_prefix: self.log_prefix.clone(),
            plugin_folder: self.project.verifiers_folder(),
            claim: SubmittedClaim::default(),
            judge: None,
        })
    }
}

async fn run_until_stopped<T>(
    checks: impl Future<Output = T>,
    commands: mpsc::UnboundedSender<JobCommand>,
    control: &mut ControlInput,
) -> CheckoutVerificationResult<T> {
    let mut checks = std::pin::pin!(checks);
    tokio::select! {
        finished = &mut checks => CheckoutVerificationResult::Finished(finished),
        signal = wait_for_stop_signal(control, &commands) => {
            let _ = commands.send(JobCommand::Kill);
            let _ = tokio::time::timeout(CHECK_STOP_TIMEOUT, &mut checks).await;
            CheckoutVerificationResult::Stopped(signal)
        }
    }
}

/// Returns the environment of this process without the variables by which a check's git would find the user's repository.
fn check_environment(project: &Project) -> Vec<(OsString, OsString)> {
    let ours = std::env::vars_os().filter(|(name, _)| !git::REPOSITORY_VARIABLES.iter().any(|gone| name == gone));
    let own = (PROJECT_ENV_VAR.into(), project.root.clone().into());
    ours.filter(|(name, _)| name != PROJECT_ENV_VAR).chain([own]).collect()
}

/// Without a set-up checkout nothing is known about the work.
fn checkout_setup_error(failed: &CheckEvidence, logs: &Path) -> AppError {
    let what = format!("the checkout could not be set up: `{}`: {}", failed.command, failed.reason);
    let log = logs.join(&failed.log);
    AppError::preflight(what)
        .with_advice(format!("see {}; missing folders can be shared: verification.share", log.display()))
}
