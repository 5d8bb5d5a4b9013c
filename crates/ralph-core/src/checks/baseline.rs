//! The results of the external checks before any work is done. A check that already passes proves nothing; one that
//! cannot be evaluated would waste the money spent on the agent.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Verdict};

/// One external check, run before the first iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineTrial {
    pub evidence: CheckEvidence,
    pub lack: BaselineProblem,
}

/// Why a check could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineProblem {
    /// A file of the work tree is missing. The agent may create it.
    MissingFromWorkTree,
    /// The agent cannot be expected to fix it.
    NotFixableByAgent,
}

/// The status of a check before the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineStatus {
    /// It fails, as it should before the work is done.
    Fails,
    /// It already passes.
    ProvesNothing,
    CannotRun,
}

/// The result of one check, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    pub standing: BaselineStatus,
    /// Why it could not be evaluated, or what its failure lacked; `None` if there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<BaselineProblem>,
    #[serde(flatten)]
    pub evidence: CheckEvidence,
}

impl BaselineCheck {
    #[must_use]
    pub fn from_trial(BaselineTrial { evidence, lack }: BaselineTrial) -> Self {
        let standing = match (evidence.verdict, lack) {
            (Verdict::Accepted, _) => BaselineStatus::ProvesNothing,
            (Verdict::Rejected, _) | (Verdict::CouldNotEvaluate, BaselineProblem::MissingFromWorkTree) => {
                BaselineStatus::Fails
            }
            (Verdict::CouldNotEvaluate, BaselineProblem::NotFixableByAgent) => BaselineStatus::CannotRun,
        };
        let problem = match (evidence.verdict, lack) {
            (Verdict::CouldNotEvaluate, problem) => Some(problem),
            (Verdict::Rejected, BaselineProblem::MissingFromWorkTree) => Some(BaselineProblem::MissingFromWorkTree),
            (Verdict::Rejected, BaselineProblem::NotFixableByAgent) | (Verdict::Accepted, _) => None,
        };
        Self { standing, problem, evidence }
    }

    /// Returns the line that reports print.
    #[must_use]
    pub fn describe(&self) -> String {
        let check = self.evidence.display_name();
        match self.standing {
            BaselineStatus::Fails if self.problem == Some(BaselineProblem::MissingFromWorkTree) => {
                format!("`{check}` runs a file that does not exist yet: {}", self.evidence.reason)
            }
            BaselineStatus::Fails => format!("`{check}` fails before the work: {}", self.evidence.reason),
            BaselineStatus::ProvesNothing => format!("`{check}` passes already: this check proves nothing"),
            BaselineStatus::CannotRun => format!("`{check}` cannot be evaluated: {}", self.evidence.reason),
        }
    }
}

/// Returns the trials of checks that were evaluated, or that run a file which the agent may create. The others say nothing
/// about the work.
#[must_use]
pub fn evaluated_trials(trials: Vec<BaselineTrial>) -> Vec<BaselineTrial> {
    let is_evaluated = |trial: &BaselineTrial| match (trial.evidence.verdict, trial.lack) {
        (Verdict::CouldNotEvaluate, BaselineProblem::NotFixableByAgent) => false,
        (Verdict::CouldNotEvaluate, BaselineProblem::MissingFromWorkTree)
        | (Verdict::Accepted | Verdict::Rejected, _) => true,
    };
    trials.into_iter().filter(is_evaluated).collect()
}

/// Returns why the run must not start: a required check cannot be evaluated.
#[must_use]
pub fn blocking_reason(checks: &[BaselineCheck]) -> Option<String> {
    let check = checks.iter().find(|check| check.standing == BaselineStatus::CannotRun && check.evidence.required)?;
    Some(format!("before any work, {}", check.describe()))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::evidence::EvidenceKind;

    fn baseline_check(verdict: Verdict, lack: BaselineProblem) -> BaselineCheck {
        let reason = "Command could not run: exit code 127".to_string();
        BaselineCheck::from_trial(BaselineTrial {
            evidence: CheckEvidence::without_output(EvidenceKind::External, "make test".to_string(), verdict, reason),
            lack,
        })
    }

    // spec: V8
    #[test]
    fn a_check_that_already_passes_proves_nothing_and_does_not_block_the_run() {
        let check = baseline_check(Verdict::Accepted, BaselineProblem::NotFixableByAgent);
        assert_eq!(check.describe(), "`make test` passes already: this check proves nothing");
        assert_eq!(blocking_reason(&[check]), None);
    }

    // spec: V8
    #[test]
    fn a_baseline_check_is_reported_by_its_name() {
        let mut check = baseline_check(Verdict::Accepted, BaselineProblem::NotFixableByAgent);
        check.evidence.name = Some("unit".to_string());
        assert_eq!(check.describe(), "`unit` passes already: this check proves nothing");
    }

    // spec: V8
    #[test]
    fn a_program_missing_from_the_work_tree_makes_the_check_fail() {
        assert_eq!(
            baseline_check(Verdict::CouldNotEvaluate, BaselineProblem::MissingFromWorkTree).standing,
            BaselineStatus::Fails
        );
        assert_eq!(
            blocking_reason(&[baseline_check(Verdict::CouldNotEvaluate, BaselineProblem::MissingFromWorkTree)]),
            None
        );
        assert_eq!(blocking_reason(&[baseline_check(Verdict::Rejected, BaselineProblem::NotFixableByAgent)]), None);
    }

    // spec: V8, V7
    #[test]
    fn a_check_that_cannot_be_evaluated_blocks_the_run_unless_it_is_optional() {
        let unevaluated = baseline_check(Verdict::CouldNotEvaluate, BaselineProblem::NotFixableByAgent);
        let optional = BaselineCheck {
            evidence: CheckEvidence { required: false, ..unevaluated.evidence.clone() },
            ..unevaluated.clone()
        };
        assert_eq!(blocking_reason(&[optional]), None);
        let reason =
            blocking_reason(&[baseline_check(Verdict::Rejected, BaselineProblem::NotFixableByAgent), unevaluated])
                .unwrap();
        assert_eq!(reason, "before any work, `make test` cannot be evaluated: Command could not run: exit code 127");
    }
}
