//! Selects the criteria that can be verified again later: those that depend only on files. The findings of a judge and
//! the claim of the agent cannot be repeated.
use alloc::vec::Vec;

use crate::criterion::{CheckStage, Criterion, StagedCheck, VerificationMethod};

/// Returns the repeatable criteria, in the same order.
#[must_use]
pub fn repeatable_criteria(criteria: &[Criterion]) -> Vec<Criterion> {
    let is_command = |method: &VerificationMethod| match method {
        VerificationMethod::External(_) => true,
        VerificationMethod::MultiStage(_)
        | VerificationMethod::StringMatch
        | VerificationMethod::Semantic(_)
        | VerificationMethod::Plugin(_) => false,
    };
    criteria.iter().filter_map(|criterion| select_part(criterion, is_command)).collect()
}

/// Returns the criteria that start a program, in the same order: commands and plugins. Of a criterion with stages, only these
/// stages are kept.
#[must_use]
pub fn program_criteria(criteria: &[Criterion]) -> Vec<Criterion> {
    let starts_program = |method: &VerificationMethod| match method {
        VerificationMethod::External(_) | VerificationMethod::Plugin(_) => true,
        VerificationMethod::MultiStage(_) | VerificationMethod::StringMatch | VerificationMethod::Semantic(_) => false,
    };
    criteria.iter().filter_map(|criterion| select_part(criterion, starts_program)).collect()
}

/// Returns a criterion with those of its stages whose method is selected; `None` if nothing is.
fn select_part(criterion: &Criterion, is_selected: fn(&VerificationMethod) -> bool) -> Option<Criterion> {
    let VerificationMethod::MultiStage(staged) = &criterion.method else {
        return is_selected(&criterion.method).then(|| criterion.clone());
    };
    let select_stage = |stage: &CheckStage| {
        Some(CheckStage { criterion: select_part(&stage.criterion, is_selected)?, ..stage.clone() })
    };
    let stages: Vec<CheckStage> = staged.stages.iter().filter_map(select_stage).collect();
    let staged = StagedCheck { stages, ..staged.clone() };
    (!staged.stages.is_empty())
        .then(|| Criterion { method: VerificationMethod::MultiStage(staged), ..criterion.clone() })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::criterion::{ExternalCheck, SemanticCheck};

    // spec: V14, V15
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
        assert_eq!(program_criteria(&all), [command(), staged(vec![command()])]);
    }
}
