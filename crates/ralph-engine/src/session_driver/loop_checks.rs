//! The checks of a claim, within the time that the host gives. Each is begun only where it can be seen through, and what
//! has passed for the same files is not run again.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::Criterion;
use ralph_core::evidence::{CheckEvidence, Evidence, EvidenceKind, Verdict};
use ralph_core::role_duty::RoleDuty;
use tokio::sync::mpsc;

use super::check_cache_file;
use super::loop_file::LoopFile;
use super::loop_store::{LoopStore, SessionKey};
use crate::git;
use crate::project::Project;
use crate::verify::{
    self, AcceptancePolicy, CheckContext, CheckEnvironment, ClaimVerifier, FileSealer, SealMonitor, SubmittedClaim,
    VerificationControl,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// Checks of a loop that was cancelled are stopped this soon.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What the checks came to.
#[derive(Debug)]
pub enum CheckProgress {
    Complete(Evidence),
    /// So many have passed, and there is no time for the next one.
    OutOfTime {
        done: usize,
        total: usize,
    },
}

/// Where and how long checks run.
pub struct LoopCheckRun<'a> {
    /// Where the loop, its results and their output are kept.
    pub store: &'a LoopStore,
    pub key: &'a SessionKey,
    pub loop_file: &'a LoopFile,
    pub keeper: Keeper,
    pub deadline: Instant,
    /// The agent's message.
    pub claim_text: String,
}

/// Returns what must not change, as it is now.
pub fn build_sealer(root: &Path, acceptance: &AcceptancePolicy, criteria: &[Criterion]) -> Result<FileSealer, String> {
    let project = Project::find_from(root).map_err(|error| error.to_string())?;
    let ground = check_environment(root, String::new());
    FileSealer::new(&project, acceptance, criteria, &ground).map_err(|error| error.to_string())
}

/// Returns where checks run.
fn check_environment(root: &Path, run_id: String) -> CheckEnvironment {
    CheckEnvironment { root: root.to_path_buf(), env: child_environment(), run_id }
}

impl LoopCheckRun<'_> {
    /// Runs the checks.
    pub async fn run(self) -> CheckProgress {
        let state = &self.loop_file.loop_state;
        let sealer = match build_sealer(&self.loop_file.root, &self.loop_file.acceptance, &state.criteria) {
            Ok(sealer) => sealer,
            Err(why) => return CheckProgress::Complete(could_not_evaluate(why)),
        };
        let examiner = ClaimVerifier {
            criteria: state.criteria.clone(),
            acceptance: self.loop_file.acceptance.clone(),
            duty: RoleDuty::None,
            task_base: None,
            sealer: Ok(sealer),
        };
        let (tell, received) = mpsc::unbounded_channel();
        let mut orders = VerificationControl::new(received);
        let unbroken = match examiner.verify_seal(state.seal.clone(), &mut orders).await {
            Ok(unbroken) => unbroken,
            Err(broken) => return CheckProgress::Complete(broken),
        };
        match self.check_context() {
            Err(why) => CheckProgress::Complete(could_not_evaluate(why)),
            Ok(verifier) => match self.loop_file.acceptance.isolation {
                CheckIsolation::Workspace => {
                    self.run_one_by_one(&unbroken.monitor_seal(verifier, &mut orders).await).await
                }
                CheckIsolation::Clean => {
                    let work = unbroken.verify_claim(verifier, &mut orders);
                    CheckProgress::Complete(
                        self.run_within_deadline(work, tell).await.unwrap_or_else(could_not_evaluate),
                    )
                }
            },
        }
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    fn check_context(&self) -> Result<CheckContext, String> {
        let folder = self.store.folder().join(format!("{}.checks", self.key.file_stem()));
        private_files::ensure_folder(&folder).map_err(|error| error.to_string())?;
        Ok(CheckContext {
            keeper: self.keeper.clone(),
            environment: check_environment(&self.loop_file.root, self.loop_file.id.clone()),
            seal_monitor: SealMonitor::default(),
            cache: check_cache_file::read_cache(&self.cache_path(), &self.loop_file.id),
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &folder),
            log_folder: folder,
            log_prefix: format!("iteration-{:03}", self.loop_file.loop_state.current_iteration()),
            plugin_folder: PathBuf::new(),
            claim: SubmittedClaim {
                promise: self.loop_file.loop_state.rules.promise.as_str().to_owned(),
                report: self.claim_text.clone(),
                output_file: PathBuf::new(),
            },
            judge: None,
        })
    }

    async fn run_one_by_one(&self, verifier: &CheckContext) -> CheckProgress {
        let criteria = &self.loop_file.loop_state.criteria;
        let mut evidence = Evidence::default();
        let mut has_run = false;
        for criterion in criteria {
            let longest = verifier.cache.remaining_timeout(&verifier.environment, criterion);
            if has_run && self.time_left() < longest {
                return CheckProgress::OutOfTime { done: evidence.checks.len(), total: criteria.len() };
            }
            has_run |= longest > Duration::ZERO;
            evidence = self.run_next_check(verifier, criterion, evidence).await;
            check_cache_file::write_cache(&self.cache_path(), &self.loop_file.id, &verifier.cache);
            if evidence.verdict() != Verdict::Accepted {
                break;
            }
        }
        if evidence.verdict() != Verdict::Accepted && evidence.has_cached_results() {
            verifier.cache.clear();
            check_cache_file::write_cache(&self.cache_path(), &self.loop_file.id, &verifier.cache);
        }
        let (_nobody, received) = mpsc::unbounded_channel();
        CheckProgress::Complete(
            verify::append_allowed_changes(verifier, evidence, &mut VerificationControl::new(received)).await,
        )
    }

    fn cache_path(&self) -> PathBuf {
        check_cache_file::cache_path(self.store.folder(), &self.key.file_stem())
    }

    /// Lets checks run until the time or the loop is over, and kills them then.
    async fn run_within_deadline(
        &self,
        work: impl Future<Output = Evidence>,
        commands: mpsc::UnboundedSender<JobCommand>,
    ) -> Result<Evidence, String> {
        let mut work = std::pin::pin!(work);
        let why = tokio::select! {
            evidence = &mut work => return Ok(evidence),
            () = tokio::time::sleep(self.time_left()) => {
                "it takes longer than the session's program waits for its hook: `ralph install HOST --seconds N` raises that"
            },
            () = self.wait_for_loop_end() => "the loop was cancelled",
        };
        let _ = commands.send(JobCommand::Kill);
        work.await;
        Err(why.to_owned())
    }

    /// Waits until the loop is cancelled or replaced. What cannot be read for a moment goes on.
    async fn wait_for_loop_end(&self) {
        let goes_on = |entry: &LoopFile| entry.id == self.loop_file.id && entry.loop_state.is_active();
        loop {
            tokio::time::sleep(CANCEL_POLL_INTERVAL).await;
            match self.store.find_loop(self.key) {
                Ok(Some(entry)) if goes_on(&entry) => {}
                Ok(Some(_) | None) => return,
                Err(_) => {}
            }
        }
    }

    async fn run_next_check(&self, verifier: &CheckContext, criterion: &Criterion, before: Evidence) -> Evidence {
        let (tell, received) = mpsc::unbounded_channel();
        let mut orders = VerificationControl::new(received);
        let work = verify::verify_next_criterion(verifier, criterion, before.clone(), &mut orders);
        self.run_within_deadline(work, tell).await.unwrap_or_else(|why| {
            let checks = before.checks.into_iter().chain(could_not_evaluate(why).checks).collect();
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

/// Variables that name one call of a hook: what passed for one would never be known to the next.
const PER_CALL_VARIABLES: [&str; 3] = ["_", "TRACEPARENT", "TRACESTATE"];

/// Returns our own environment without what would lead a check's git elsewhere.
fn child_environment() -> Vec<(OsString, OsString)> {
    let is_gone =
        |name: &OsString| git::REPOSITORY_VARIABLES.iter().chain(&PER_CALL_VARIABLES).any(|gone| name == gone);
    std::env::vars_os().filter(|(name, _)| !is_gone(name)).collect()
}
