//! What external checks say before any work is done. One that passes already proves nothing; one that cannot be evaluated
//! would waste everything that is spent on the agent.
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::evidence::{CheckEvidence, Verdict};

/// One external check, run before the first iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    pub evidence: CheckEvidence,
    pub lack: Lack,
}

/// What stood in the way of a check that could not be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// Something inside the work tree is missing: the agent may write it.
    OfTheWork,
    /// The agent cannot be expected to mend it.
    Else,
}

/// What a check is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It fails, as a check of undone work should.
    Fails,
    /// It passes already.
    ProvesNothing,
    CannotRun,
}

/// The result of one check, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineCheck {
    pub standing: Standing,
    #[serde(flatten)]
    pub evidence: CheckEvidence,
}

impl BaselineCheck {
    #[must_use]
    pub fn of(Trial { evidence, lack }: Trial) -> Self {
        let standing = match (evidence.verdict, lack) {
            (Verdict::Accepted, _) => Standing::ProvesNothing,
            (Verdict::Rejected, _) | (Verdict::CouldNotEvaluate, Lack::OfTheWork) => Standing::Fails,
            (Verdict::CouldNotEvaluate, Lack::Else) => Standing::CannotRun,
        };
        Self { standing, evidence }
    }

    /// Returns what people read of it.
    #[must_use]
    pub fn words(&self) -> String {
        let check = self.evidence.called();
        match self.standing {
            Standing::Fails => format!("`{check}` fails before the work: {}", self.evidence.reason),
            Standing::ProvesNothing => format!("`{check}` passes already: this check proves nothing"),
            Standing::CannotRun => format!("`{check}` cannot be evaluated: {}", self.evidence.reason),
        }
    }
}

/// Returns why the work should not begin: a check that must pass can never be evaluated.
#[must_use]
pub fn obstacle(checks: &[BaselineCheck]) -> Option<String> {
    let blind =
        checks.iter().find(|check| check.standing == Standing::CannotRun && check.evidence.required)?;
    Some(format!("before any work, {}", blind.words()))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::evidence::Kind;

    fn trial(verdict: Verdict, lack: Lack) -> BaselineCheck {
        let reason = "Command could not run: exit code 127".to_string();
        BaselineCheck::of(Trial {
            evidence: CheckEvidence::plain(Kind::External, "make test".to_string(), verdict, reason),
            lack,
        })
    }

    // spec: V8
    #[test]
    fn a_check_that_already_passes_proves_nothing_and_stops_nothing() {
        let check = trial(Verdict::Accepted, Lack::Else);
        assert_eq!(check.words(), "`make test` passes already: this check proves nothing");
        assert_eq!(obstacle(&[check]), None);
    }

    // spec: V8
    #[test]
    fn a_check_with_a_name_is_called_by_it_before_the_work_too() {
        let mut check = trial(Verdict::Accepted, Lack::Else);
        check.evidence.name = Some("unit".to_string());
        assert_eq!(check.words(), "`unit` passes already: this check proves nothing");
    }

    // spec: V8
    #[test]
    fn a_missing_program_of_the_work_tree_is_merely_a_failing_check() {
        assert_eq!(trial(Verdict::CouldNotEvaluate, Lack::OfTheWork).standing, Standing::Fails);
        assert_eq!(obstacle(&[trial(Verdict::CouldNotEvaluate, Lack::OfTheWork)]), None);
        assert_eq!(obstacle(&[trial(Verdict::Rejected, Lack::Else)]), None);
    }

    // spec: V8, V7
    #[test]
    fn a_check_that_cannot_be_evaluated_is_an_obstacle_unless_it_is_optional() {
        let blind = trial(Verdict::CouldNotEvaluate, Lack::Else);
        let optional = BaselineCheck {
            evidence: CheckEvidence { required: false, ..blind.evidence.clone() },
            ..blind.clone()
        };
        assert_eq!(obstacle(&[optional]), None);
        let words = obstacle(&[trial(Verdict::Rejected, Lack::Else), blind]).unwrap();
        assert_eq!(
            words,
            "before any work, `make test` cannot be evaluated: Command could not run: exit code 127"
        );
    }
}
