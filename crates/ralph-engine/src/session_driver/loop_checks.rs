//! Runs the checks of a claim within the time that the host allows. A check is started only if its timeout fits into
//! the remaining time. The next stop continues with the other checks, if no file was written in between.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::role_duty::RoleDuty;
use tokio::sync::mpsc;

use super::check_cache_file;
use super::file_stamps::hash_file_stamps;
use super::loop_file::LoopFile;
use super::loop_preparation::LoopTerms;
use super::loop_store::{LoopStore, SessionKey};
use crate::git;
use crate::verify::{
    self, CheckContext, CheckEnvironment, ClaimProtection, ClaimRequirements, SealMonitor, SubmittedClaim,
    VerificationControl,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// How often the loop file is polled for a cancellation while a check runs.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How far the checks got.
#[derive(Debug)]
pub enum CheckProgress {
    Complete(Evidence),
    /// `done` checks have passed, and no time is left for the next one.
    OutOfTime {
        done: usize,
        total: usize,
    },
}

/// The checks of one claim.
pub struct LoopCheckRun<'a> {
    pub store: &'a LoopStore,
    pub key: &'a SessionKey,
    pub loop_file: &'a LoopFile,
    pub keeper: Keeper,
    pub deadline: Instant,
    /// The agent's message.
    pub claim_text: String,
}

pub(super) fn check_environment(root: &Path, run_id: String) -> CheckEnvironment {
    CheckEnvironment { root: root.to_path_buf(), env: child_environment(), run_id }
}

impl LoopCheckRun<'_> {
    pub async fn run(self) -> CheckProgress {
        let state = &self.loop_file.loop_state;
        let (root, acceptance) = (&self.loop_file.root, &self.loop_file.acceptance);
        let sealer = match (LoopTerms { root, acceptance, criteria: &state.criteria }).build_sealer() {
            Ok(sealer) => sealer,
            Err(reason) => return CheckProgress::Complete(could_not_evaluate(reason)),
        };
        let verifier = ClaimRequirements {
            criteria: state.criteria.clone(),
            acceptance: self.loop_file.acceptance.clone(),
            duty: RoleDuty::None,
            task_base: None,
            sealer: Ok(sealer),
        };
        let (commands, receiver) = mpsc::unbounded_channel();
        let mut control = VerificationControl::new(receiver);
        let sealed_claim = match verifier.verify_seal(state.seal.clone(), &mut control).await {
            Ok(sealed_claim) => sealed_claim,
            Err(broken) => return CheckProgress::Complete(broken),
        };
        match self.check_context() {
            Err(reason) => CheckProgress::Complete(could_not_evaluate(reason)),
            Ok(context) => match self.loop_file.acceptance.isolation {
                CheckIsolation::Workspace => {
                    let seal = state.seal.as_ref();
                    let protection =
                        ClaimProtection::compare(&self.loop_file.acceptance, seal, &context, &mut control).await;
                    let checked = self.run_one_by_one(&sealed_claim.monitor_seal(context, &mut control).await).await;
                    self.verify_protected_tests(protection, checked).await
                }
                CheckIsolation::Clean => {
                    let work = sealed_claim.verify_claim(context, None, &mut control);
                    CheckProgress::Complete(
                        self.run_within_deadline(work, commands).await.unwrap_or_else(could_not_evaluate),
                    )
                }
            },
        }
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn check_context(&self) -> Result<CheckContext, String> {
        let folder = self.loop_file.record.logs_folder(&self.loop_file.id);
        let folder = folder.unwrap_or_else(|| self.store.folder().join(format!("{}.checks", self.key.file_stem())));
        private_files::ensure_folder(&folder).map_err(|error| error.to_string())?;
        Ok(CheckContext {
            keeper: self.keeper.clone(),
            environment: check_environment(&self.loop_file.root, self.loop_file.id.clone()),
            seal_monitor: SealMonitor::default(),
            cache: check_cache_file::take_cache(&self.cache_path(), &self.loop_file.id, || self.file_stamps()),
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &folder),
            log_folder: folder,
            log_prefix: format!("iteration-{:03}", self.loop_file.loop_state.current_iteration()),
            plugin_folder: PathBuf::new(),
            claim: SubmittedClaim {
                promise: self.loop_file.loop_state.rules.promise.as_str().to_owned(),
                report: self.claim_text.clone(),
                contradiction: None,
                output_file: PathBuf::new(),
            },
            judge: None,
        })
    }

    /// Runs checks while there is time for them. The first one always runs.
    async fn run_one_by_one(&self, context: &CheckContext) -> CheckProgress {
        let criteria = &self.loop_file.loop_state.criteria;
        if criteria.is_empty() {
            return CheckProgress::Complete(verify::verify_guard_alone(context).await);
        }
        let mut evidence = Evidence::default();
        let mut has_run = false;
        for criterion in criteria {
            let timeout = context.cache.remaining_timeout(&context.environment, criterion);
            if has_run && self.time_left() < timeout {
                check_cache_file::write_cache(
                    &self.cache_path(),
                    &self.loop_file.id,
                    &context.cache,
                    self.file_stamps(),
                );
                return CheckProgress::OutOfTime { done: evidence.checks.len(), total: criteria.len() };
            }
            has_run |= timeout > Duration::ZERO;
            evidence = self.run_next_check(context, criterion, evidence).await;
            if evidence.verdict() != Verdict::Accepted {
                break;
            }
        }
        let (_commands, receiver) = mpsc::unbounded_channel();
        CheckProgress::Complete(
            verify::append_allowed_changes(context, evidence, &mut VerificationControl::new(receiver)).await,
        )
    }

    fn file_stamps(&self) -> Option<String> {
        hash_file_stamps(&self.loop_file.root, self.deadline)
    }

    /// Runs the checks again with the protected tests as they were at the start of the loop, if they have changed.
    async fn verify_protected_tests(&self, protection: ClaimProtection, checked: CheckProgress) -> CheckProgress {
        let CheckProgress::Complete(evidence) = checked else { return checked };
        let (commands, receiver) = mpsc::unbounded_channel();
        let mut control = VerificationControl::new(receiver);
        let work = protection.append_evidence(&self.loop_file.loop_state.criteria, evidence, &mut control);
        CheckProgress::Complete(self.run_within_deadline(work, commands).await.unwrap_or_else(could_not_evaluate))
    }

    fn cache_path(&self) -> PathBuf {
        check_cache_file::cache_path(self.store.folder(), &self.key.file_stem())
    }

    /// Runs checks until the deadline or the end of the loop, then kills them.
    async fn run_within_deadline(
        &self,
        work: impl Future<Output = Evidence>,
        commands: mpsc::UnboundedSender<JobCommand>,
    ) -> Result<Evidence, String> {
        let mut work = std::pin::pin!(work);
        let reason = tokio::select! {
            evidence = &mut work => return Ok(evidence),
            () = tokio::time::sleep(self.time_left()) => {
                "it takes longer than the hook timeout of the session: install ralph in the host again with a longer timeout"
            },
            () = self.wait_for_loop_end() => "the loop was cancelled",
        };
        let _ = commands.send(JobCommand::Kill);
        work.await;
        Err(reason.to_owned())
    }

    /// Waits until the loop is ended or replaced. Read errors are ignored.
    async fn wait_for_loop_end(&self) {
        let is_same_loop = |entry: &LoopFile| entry.id == self.loop_file.id && entry.loop_state.is_active();
        loop {
            tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
            match self.store.find_loop(self.key) {
                Ok(Some(entry)) if is_same_loop(&entry) => {}
                Ok(Some(_) | None) => return,
                Err(_) => {}
            }
        }
    }

    async fn run_next_check(&self, context: &CheckContext, criterion: &Criterion, before: Evidence) -> Evidence {
        let (commands, receiver) = mpsc::unbounded_channel();
        let mut control = VerificationControl::new(receiver);
        let work = verify::verify_next_criterion(context, criterion, before.clone(), &mut control);
        self.run_within_deadline(work, commands).await.unwrap_or_else(|reason| {
            let checks = before.checks.into_iter().chain(could_not_evaluate(reason).checks).collect();
            Evidence { checks }
        })
    }
}

fn could_not_evaluate(reason: String) -> Evidence {
    let check = CheckEvidence::without_output(
        EvidenceKind::External,
        "the checks".to_owned(),
        Verdict::CouldNotEvaluate,
        reason,
    );
    Evidence { checks: vec![check] }
}

/// Variables that differ for each call of a hook. The cache key covers the environment, so they would disable the
/// cache.
const PER_CALL_VARIABLES: [&str; 3] = ["_", "TRACEPARENT", "TRACESTATE"];

/// Returns the environment of this process without variables that make git use another repository.
fn child_environment() -> Vec<(OsString, OsString)> {
    let is_removed =
        |name: &OsString| git::REPOSITORY_VARIABLES.iter().chain(&PER_CALL_VARIABLES).any(|removed| name == removed);
    std::env::vars_os().filter(|(name, _)| !is_removed(name)).collect()
}
