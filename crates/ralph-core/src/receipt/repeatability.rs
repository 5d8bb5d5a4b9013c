//! Selects the criteria that can be verified again later: those that depend only on files. The findings of a judge and
//! the claim of the agent cannot be repeated.
use alloc::vec::Vec;

use crate::criterion::{CheckStage, Criterion, StagedCheck, VerificationMethod};

/// Returns the repeatable criteria, in the same order.
#[must_use]
pub fn repeatable_criteria(criteria: &[Criterion]) -> Vec<Criterion> {
    criteria.iter().filter_map(repeatable_part).collect()
}

fn repeatable_part(criterion: &Criterion) -> Option<Criterion> {
    match &criterion.method {
        VerificationMethod::External(_) => Some(criterion.clone()),
        VerificationMethod::MultiStage(staged) => {
            let stages: Vec<CheckStage> = staged
                .stages
                .iter()
                .filter_map(|stage| Some(CheckStage { criterion: repeatable_part(&stage.criterion)?, ..stage.clone() }))
                .collect();
            let staged = StagedCheck { stages, ..staged.clone() };
            (!staged.stages.is_empty())
                .then(|| Criterion { method: VerificationMethod::MultiStage(staged), ..criterion.clone() })
        }
        VerificationMethod::StringMatch | VerificationMethod::Semantic(_) | VerificationMethod::Plugin(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::criterion::{ExternalCheck, SemanticCheck};

    // spec: V14
    #[test]
    fn commands_are_repeated_and_judgements_are_not() {
        let command = || Criterion::from(ExternalCheck::from_shell_text("make"));
        let judgement = || Criterion::from_method(VerificationMethod::Semantic(SemanticCheck::default()));
        let staged = |stages: Vec<Criterion>| {
            let stages = stages.into_iter().map(|criterion| CheckStage { required: true, criterion }).collect();
            Criterion::from_method(VerificationMethod::MultiStage(StagedCheck {
                stages,
                require_all: true,
                parallel: false,
            }))
        };
        let all = [command(), judgement(), staged(vec![judgement(), command()]), staged(vec![judgement()])];
        assert_eq!(repeatable_criteria(&all), [command(), staged(vec![command()])]);
    }
}
