//! Prepares a new loop: runs its checks once before the work, within the time that the host allows, and seals the files
//! that must not change.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ralph_core::baseline::BaselineTrial;
use ralph_core::criterion::Criterion;
use ralph_core::policy::BaselineMode;
use ralph_core::protected::TestProtection;
use ralph_core::role_duty::RoleDuty;
use ralph_core::seal::{Seal, SealingResult};
use tokio::sync::mpsc;

use super::loop_checks::check_environment;
use crate::git;
use crate::project::Project;
use crate::verify::{
    self, AcceptancePolicy, CheckCache, CheckContext, ClaimRequirements, FileSealer, SealMonitor, SubmittedClaim,
    VerificationPreparation,
};
use ralph_process::{JobCommand, Keeper, LogBudget};
use ralph_util::memory_size::MemorySize;
use ralph_util::private_files;

/// Time that is reserved for the reply after the checks.
const HOOK_TIME_MARGIN: Duration = Duration::from_secs(15);

/// Returns the time at which the checks of a hook must be finished.
#[must_use]
pub fn hook_deadline(started: Instant, time_limit: Duration) -> Instant {
    started + time_limit.saturating_sub(HOOK_TIME_MARGIN.min(time_limit / 4))
}

/// The checks of a new loop.
#[derive(Clone, Copy)]
pub struct LoopTerms<'a> {
    /// The folder in which its checks run.
    pub root: &'a Path,
    pub acceptance: &'a AcceptancePolicy,
    pub criteria: &'a [Criterion],
}

/// The seal of a new loop, and the results of its checks before the work.
#[derive(Debug, Default)]
pub struct PreparedLoop {
    /// `None` for a loop whose claims are not verified.
    pub sealing: Option<SealingResult>,
    pub baseline: Vec<BaselineTrial>,
}

/// The baseline of a new loop.
pub struct LoopBaseline {
    pub keeper: Keeper,
    /// The id of the loop.
    pub id: String,
    /// The folder for the output of the checks.
    pub log_folder: PathBuf,
    /// When the checks must be finished. Those that are not are killed, and have no result.
    pub deadline: Instant,
}

impl LoopTerms<'_> {
    /// Returns the sealer of the loop.
    pub fn build_sealer(&self) -> Result<FileSealer, String> {
        let project = Project::find_from(self.root).map_err(|error| error.to_string())?;
        let environment = check_environment(self.root, String::new());
        FileSealer::new(&project, self.acceptance, self.criteria, &environment).map_err(|error| error.to_string())
    }

    /// Seals the files of the loop, and records the protected tests as they are now.
    #[must_use]
    pub fn seal_files(&self) -> SealingResult {
        match self.build_sealer().and_then(|sealer| sealer.seal().map_err(|error| error.to_string())) {
            Err(why) => SealingResult::Impossible { why },
            Ok(seal) => SealingResult::Done { seal: Box::new(self.with_protected_tests(seal)) },
        }
    }

    fn with_protected_tests(&self, seal: Seal) -> Seal {
        let is_protected = self.acceptance.tests != TestProtection::Off;
        // A claim is compared with these files, so git must keep them even if they are not committed.
        let tree = is_protected.then(|| git::write_worktree_tree(self.root).ok()).flatten();
        Seal { protected: tree.map(|tree| verify::read_protected_base(self.root, tree)), ..seal }
    }

    /// Runs the checks before the work and seals the files. If the checks cannot run, the files are sealed all the same.
    #[must_use]
    pub fn prepare(&self, baseline: LoopBaseline) -> PreparedLoop {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let prepared = runtime.ok().and_then(|runtime| runtime.block_on(self.run_baseline(baseline)).ok());
        let Some(VerificationPreparation { sealing, baseline }) = prepared else {
            return PreparedLoop { sealing: Some(self.seal_files()), baseline: Vec::new() };
        };
        let sealing = match sealing {
            SealingResult::Done { seal } => SealingResult::Done { seal: Box::new(self.with_protected_tests(*seal)) },
            // It may be impossible only because the time was over.
            SealingResult::Impossible { .. } => self.seal_files(),
        };
        PreparedLoop { sealing: Some(sealing), baseline }
    }

    async fn run_baseline(&self, baseline: LoopBaseline) -> Result<VerificationPreparation, String> {
        let requirements = ClaimRequirements {
            criteria: self.criteria.to_vec(),
            acceptance: self.acceptance.clone(),
            duty: RoleDuty::None,
            task_base: None,
            sealer: Ok(self.build_sealer()?),
        };
        let time_left = baseline.deadline.saturating_duration_since(Instant::now());
        let (commands, receiver) = mpsc::unbounded_channel();
        let work = requirements.prepare(self.baseline_context(baseline)?, BaselineMode::Run, receiver);
        let mut work = std::pin::pin!(work);
        tokio::select! {
            prepared = &mut work => return Ok(prepared),
            () = tokio::time::sleep(time_left) => {}
        }
        let _ = commands.send(JobCommand::Kill);
        Ok(work.await)
    }

    fn baseline_context(&self, baseline: LoopBaseline) -> Result<CheckContext, String> {
        let LoopBaseline { keeper, id, log_folder, .. } = baseline;
        private_files::ensure_folder(&log_folder).map_err(|error| error.to_string())?;
        Ok(CheckContext {
            keeper,
            environment: check_environment(self.root, id),
            seal_monitor: SealMonitor::default(),
            cache: CheckCache::default(),
            log_budget: LogBudget::new(MemorySize::GIGABYTE.as_byte_count(), &log_folder),
            log_folder,
            log_prefix: "baseline".to_owned(),
            plugin_folder: PathBuf::new(),
            claim: SubmittedClaim::default(),
            judge: None,
        })
    }
}
