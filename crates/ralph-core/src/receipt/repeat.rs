//! Which criteria can be verified again later: those that look at files alone. A judge's opinion and the agent's words
//! cannot be had a second time.
use alloc::vec::Vec;

use crate::criterion::{Criterion, Method, Stage, StagedCheck};

/// Returns what can be repeated of some criteria, in their order.
#[must_use]
pub fn repeatable(criteria: &[Criterion]) -> Vec<Criterion> {
    criteria.iter().filter_map(part_of).collect()
}

fn part_of(criterion: &Criterion) -> Option<Criterion> {
    match &criterion.method {
        Method::External(_) => Some(criterion.clone()),
        Method::MultiStage(staged) => {
            let stages: Vec<Stage> = staged
                .stages
                .iter()
                .filter_map(|stage| Some(Stage { criterion: part_of(&stage.criterion)?, ..stage.clone() }))
                .collect();
            let staged = StagedCheck { stages, ..staged.clone() };
            (!staged.stages.is_empty())
                .then(|| Criterion { method: Method::MultiStage(staged), ..criterion.clone() })
        }
        Method::StringMatch | Method::Semantic(_) | Method::Plugin(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::criterion::{ExternalCheck, SemanticCheck};

    // spec: V14
    #[test]
    fn commands_are_repeated_and_opinions_are_not() {
        let command = || Criterion::from(ExternalCheck::of_command("make"));
        let opinion = || Criterion::of(Method::Semantic(SemanticCheck::default()));
        let staged = |stages: Vec<Criterion>| {
            let stages = stages.into_iter().map(|criterion| Stage { required: true, criterion }).collect();
            Criterion::of(Method::MultiStage(StagedCheck { stages, require_all: true, parallel: false }))
        };
        let all = [command(), opinion(), staged(vec![opinion(), command()]), staged(vec![opinion()])];
        assert_eq!(repeatable(&all), [command(), staged(vec![command()])]);
    }
}
