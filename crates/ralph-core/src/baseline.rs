//! What external checks say before any work is done. One that passes already proves nothing; one that cannot be evaluated
//! would waste everything that is spent on the agent.
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Verdict};

/// One external check, run before the first iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineTrial {
    pub evidence: CheckEvidence,
    pub lack: BaselineProblem,
}

/// What stood in the way of a check that could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineProblem {
    /// Something inside the work tree is missing: the agent may write it.
    MissingFromWorkTree,
    /// The agent cannot be expected to mend it.
    NotFixableByAgent,
}

/// What a check is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineStatus {
    /// It fails, as a check of undone work should.
    Fails,
    /// It passes already.
    ProvesNothing,
    CannotRun,
}

/// The result of one check, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    pub standing: BaselineStatus,
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
        Self { standing, evidence }
    }

    /// Returns what people read of it.
    #[must_use]
    pub fn describe(&self) -> String {
        let check = self.evidence.display_name();
        match self.standing {
            BaselineStatus::Fails => format!("`{check}` fails before the work: {}", self.evidence.reason),
            BaselineStatus::ProvesNothing => format!("`{check}` passes already: this check proves nothing"),
            BaselineStatus::CannotRun => format!("`{check}` cannot be evaluated: {}", self.evidence.reason),
        }
    }
}

/// Returns why the work should not begin: a check that must pass can never be evaluated.
#[must_use]
pub fn blocking_reason(checks: &[BaselineCheck]) -> Option<String> {
    let blind = checks.iter().find(|check| check.standing == BaselineStatus::CannotRun && check.evidence.required)?;
    Some(format!("before any work, {}", blind.describe()))
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
    fn a_check_that_already_passes_proves_nothing_and_stops_nothing() {
        let check = baseline_check(Verdict::Accepted, BaselineProblem::NotFixableByAgent);
        assert_eq!(check.describe(), "`make test` passes already: this check proves nothing");
        assert_eq!(blocking_reason(&[check]), None);
    }

    // spec: V8
    #[test]
    fn a_check_with_a_name_is_called_by_it_before_the_work_too() {
        let mut check = baseline_check(Verdict::Accepted, BaselineProblem::NotFixableByAgent);
        check.evidence.name = Some("unit".to_string());
        assert_eq!(check.describe(), "`unit` passes already: this check proves nothing");
    }

    // spec: V8
    #[test]
    fn a_missing_program_of_the_work_tree_is_merely_a_failing_check() {
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
    fn a_check_that_cannot_be_evaluated_is_an_obstacle_unless_it_is_optional() {
        let blind = baseline_check(Verdict::CouldNotEvaluate, BaselineProblem::NotFixableByAgent);
        let optional =
            BaselineCheck { evidence: CheckEvidence { required: false, ..blind.evidence.clone() }, ..blind.clone() };
        assert_eq!(blocking_reason(&[optional]), None);
        let words =
            blocking_reason(&[baseline_check(Verdict::Rejected, BaselineProblem::NotFixableByAgent), blind]).unwrap();
        assert_eq!(words, "before any work, `make test` cannot be evaluated: Command could not run: exit code 127");
    }
}
