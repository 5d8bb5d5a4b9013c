//! The verifiers: they check a claim and collect evidence. The core decides what follows from it.
mod acceptance;
mod baseline;
mod cache;
mod check_environment;
mod checkouts;
mod claim_requirements;
mod criteria;
mod external;
mod judges;
mod parallel;
mod plugin;
pub(crate) mod program;
mod protected_tests;
mod seals;
mod semantic;
mod verification_control;

use std::path::PathBuf;

use ralph_core::claim::ClaimReading;
use ralph_core::evidence::CheckEvidence;

use ralph_process::{Keeper, LogBudget};

pub use acceptance::{AcceptancePolicy, PathPatterns, PatternError};
pub use cache::{AcceptedChecks, CheckCache};
pub use check_environment::CheckEnvironment;
pub use checkouts::checkout_setup::run_worktree_setup;
pub use checkouts::clean_checkout::share_paths;
pub use claim_requirements::{
    ClaimProtection, ClaimRequirements, VerificationPreparation, append_allowed_changes, run_checkout_baseline,
    verify_checkout, verify_guard_alone,
};
pub use criteria::verify_next_criterion;
pub use judges::agent_judge::AgentJudge;
pub use judges::claim_judge::{ClaimJudge, JudgeConnection};
pub use protected_tests::protected_base::read_protected_base;
pub use seals::file_sealer::{FileSealer, SealError};
pub use seals::seal_monitor::SealMonitor;
pub use seals::task_seal::{TaskSeal, TaskSealSource, TaskSealTerms};
pub use verification_control::VerificationControl;

/// Everything that the verification of one claim needs.
pub struct CheckContext {
    pub keeper: Keeper,
    pub environment: CheckEnvironment,
    /// Results of checks that accepted earlier in the run.
    pub cache: CheckCache,
    /// Detects changes of sealed files while the checks run.
    pub seal_monitor: SealMonitor,
    /// The folder for the output of the checks.
    pub log_folder: PathBuf,
    /// The prefix of all log file names.
    pub log_prefix: String,
    /// The disk space that logs may use.
    pub log_budget: LogBudget,
    pub plugin_folder: PathBuf,
    pub claim: SubmittedClaim,
    /// The judge for semantic criteria.
    pub judge: Option<ClaimJudge>,
}

/// The claim that is verified.
#[derive(Debug, Clone, Default)]
pub struct SubmittedClaim {
    pub promise: String,
    /// The agent's last message, truncated to a limit.
    pub report: String,
    /// The statement in this message that work is open.
    pub contradiction: Option<String>,
    /// The file with the complete output of the agent.
    pub output_file: PathBuf,
}

impl SubmittedClaim {
    /// Returns the claim that an output contains. An output that cannot be read proves nothing.
    pub fn from_reading(promise: String, reading: Option<ClaimReading>, output_file: PathBuf) -> Self {
        let contradiction = reading.as_ref().and_then(|reading| reading.claim.contradiction());
        Self {
            promise,
            contradiction: contradiction.map(|open| open.sentence.clone()),
            report: reading.map(|reading| reading.final_text).unwrap_or_default(),
            output_file,
        }
    }
}

/// The position of a criterion among the criteria of a claim.
struct CheckPosition<'a> {
    /// The number of the criterion, then `.` and the number of the stage, then `-try-` and the number of the retry.
    label: String,
    /// The evidence of the criteria and stages before it.
    earlier_evidence: &'a [CheckEvidence],
}
