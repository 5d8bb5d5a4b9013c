//! The verifiers: they look at what was claimed and bring evidence. They never decide what follows from it.
mod acceptance;
mod agent_judge;
mod api_judge;
mod baseline;
mod cache;
mod check_environment;
mod claim_verifier;
mod clean_checkout;
mod command_files;
mod criteria;
mod diff;
mod dns;
mod external;
mod file_sealer;
mod judge;
mod parallel;
mod plugin;
mod program;
mod pycache;
mod seal_monitor;
mod semantic;
mod verification_control;

use std::path::PathBuf;

use ralph_core::evidence::CheckEvidence;

use ralph_process::{Keeper, LogBudget};

pub use acceptance::{AcceptancePolicy, PathPatterns, PatternError};
pub use agent_judge::AgentJudge;
pub use cache::{AcceptedChecks, CheckCache};
pub use check_environment::CheckEnvironment;
pub use claim_verifier::{
    ClaimVerifier, VerificationPreparation, append_allowed_changes, run_worktree_setup, verify_checkout,
};
pub use clean_checkout::share_paths;
pub use criteria::verify_next_criterion;
pub use file_sealer::{FileSealer, SealError};
pub use judge::{ClaimJudge, JudgeConnection};
pub use seal_monitor::SealMonitor;
pub use verification_control::VerificationControl;

/// All that a verification of one claim needs.
pub struct CheckContext {
    pub keeper: Keeper,
    pub environment: CheckEnvironment,
    /// What is known already.
    pub cache: CheckCache,
    /// What must stay as it is while the checks run.
    pub seal_monitor: SealMonitor,
    /// Where the checks leave their output.
    pub log_folder: PathBuf,
    /// The name that the logs begin with.
    pub log_prefix: String,
    /// The room for them.
    pub log_budget: LogBudget,
    /// The folder of the plugins.
    pub plugin_folder: PathBuf,
    pub claim: SubmittedClaim,
    /// Who judges, where a criterion asks for a judge.
    pub judge: Option<ClaimJudge>,
}

/// The claim that is verified.
#[derive(Debug, Clone, Default)]
pub struct SubmittedClaim {
    pub promise: String,
    /// The agent's last message, bounded.
    pub report: String,
    /// The file with all that the agent printed.
    pub output_file: PathBuf,
}

/// Which criterion is looked at.
struct CheckPosition<'a> {
    /// Its number; stages have theirs after a dot, further tries after that.
    label: String,
    /// What was seen before it.
    earlier_evidence: &'a [CheckEvidence],
}
