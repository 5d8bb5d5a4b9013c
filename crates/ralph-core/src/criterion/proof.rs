//! Decides before a run whether its criteria can verify a claim, or whether they accept the agent's claim alone.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Criterion, SemanticCheck, VerificationMethod};
use crate::judge::JudgeErrorPolicy;

/// Returns for each criterion the reason why it verifies nothing beyond the agent's claim. Returns `None` if at least
/// one criterion does: all criteria must pass, so one is enough.
#[must_use]
pub fn reasons_without_proof(criteria: &[Criterion], on_error: JudgeErrorPolicy) -> Option<Vec<String>> {
    let labelled_reason = |criterion: &Criterion| {
        criterion.reason_without_proof(on_error).map(|reason| format!("{}: {reason}", criterion.display_name()))
    };
    criteria.iter().map(labelled_reason).collect()
}

impl Criterion {
    /// Returns whether it can decide about a claim: a command, a plugin, or a judge that is asked something.
    #[must_use]
    pub fn can_decide(&self) -> bool {
        match &self.method {
            VerificationMethod::External(_) | VerificationMethod::Plugin(_) => true,
            VerificationMethod::StringMatch => false,
            VerificationMethod::Semantic(check) => !check.check_for.is_empty(),
            VerificationMethod::MultiStage(staged) => {
                staged.stages.iter().any(|stage| stage.required && stage.criterion.can_decide())
            }
        }
    }

    /// Returns the reason why it verifies nothing beyond the agent's claim, or `None` if it does verify it.
    fn reason_without_proof(&self, on_error: JudgeErrorPolicy) -> Option<String> {
        match &self.method {
            VerificationMethod::External(_) | VerificationMethod::Plugin(_) => None,
            VerificationMethod::StringMatch => Some("it checks only the claim itself".to_string()),
            VerificationMethod::Semantic(check) => reason_without_judgement(check, on_error).map(ToString::to_string),
            VerificationMethod::MultiStage(staged) => {
                let mut required = staged.stages.iter().filter(|stage| stage.required);
                let verifies_work = required.any(|stage| stage.criterion.reason_without_proof(on_error).is_none());
                (!verifies_work).then(|| "none of its required stages verifies more than the claim".to_string())
            }
        }
    }
}

fn reason_without_judgement(check: &SemanticCheck, on_error: JudgeErrorPolicy) -> Option<&'static str> {
    match (check.check_for.is_empty(), on_error) {
        (true, JudgeErrorPolicy::Reject | JudgeErrorPolicy::StringMatch) => Some("it has no questions for the judge"),
        (false, JudgeErrorPolicy::StringMatch) => {
            Some("the claim is accepted if the judge fails (on_error: string_match)")
        }
        (false, JudgeErrorPolicy::Reject) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{CheckStage, ExternalCheck, PluginCheck, StagedCheck};

    fn external_method() -> VerificationMethod {
        VerificationMethod::External(ExternalCheck::from_shell_text("make"))
    }

    fn semantic_method(check_for: &[&str]) -> VerificationMethod {
        let check_for = check_for.iter().map(ToString::to_string).collect();
        VerificationMethod::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() })
    }

    fn staged_method(stages: Vec<(bool, VerificationMethod)>) -> VerificationMethod {
        let stage = |(required, method)| CheckStage { required, criterion: Criterion::from_method(method) };
        let stages = stages.into_iter().map(stage).collect();
        VerificationMethod::MultiStage(StagedCheck { stages, require_all: true, parallel: false })
    }

    fn is_proven_by(method: VerificationMethod, on_error: JudgeErrorPolicy) -> bool {
        reasons_without_proof(&[Criterion::from_method(method)], on_error).is_none()
    }

    // spec: V14
    // fault: 75
    #[test]
    fn commands_plugins_and_judge_questions_are_proof_and_promises_are_not() {
        let plugin = PluginCheck { plugin: "p".to_string(), config: "null".to_string(), timeout_ms: 1 };
        for method in [external_method(), VerificationMethod::Plugin(plugin), semantic_method(&["fast"])] {
            assert!(is_proven_by(method.clone(), JudgeErrorPolicy::Reject), "{method:?}");
        }
        for method in [VerificationMethod::StringMatch, semantic_method(&[]), staged_method(Vec::new())] {
            assert!(!is_proven_by(method.clone(), JudgeErrorPolicy::Reject), "{method:?}");
        }
        assert!(
            !is_proven_by(semantic_method(&["fast"]), JudgeErrorPolicy::StringMatch),
            "a failing judge would accept the claim"
        );
        assert!(is_proven_by(external_method(), JudgeErrorPolicy::StringMatch));
    }

    // spec: V14, V4
    // fault: 75
    #[test]
    fn only_required_stages_count_as_proof() {
        let prove = |stages| is_proven_by(staged_method(stages), JudgeErrorPolicy::Reject);
        assert!(prove([(false, VerificationMethod::StringMatch), (true, external_method())].into()));
        assert!(!prove([(false, external_method()), (true, VerificationMethod::StringMatch)].into()));
        assert!(!prove([(true, staged_method([(false, external_method())].into()))].into()));
    }

    // spec: S7, V4
    #[test]
    fn a_criterion_can_decide_unless_it_asks_nothing_or_only_optionally() {
        let can_decide = |method| Criterion::from_method(method).can_decide();
        let optional = || staged_method([(false, external_method()), (true, VerificationMethod::StringMatch)].into());
        for method in [external_method(), semantic_method(&["fast"]), staged_method([(true, external_method())].into())]
        {
            assert!(can_decide(method.clone()), "{method:?}");
        }
        for method in [VerificationMethod::StringMatch, semantic_method(&[]), optional()] {
            assert!(!can_decide(method.clone()), "{method:?}");
        }
    }

    // spec: V14
    // fault: 75
    #[test]
    fn one_proof_is_enough_and_an_empty_list_proves_nothing() {
        let promise =
            Criterion { name: Some("done".to_string()), ..Criterion::from_method(VerificationMethod::StringMatch) };
        let all = [promise.clone(), Criterion::from_method(semantic_method(&[]))];
        let reasons = reasons_without_proof(&all, JudgeErrorPolicy::Reject).unwrap();
        assert_eq!(
            reasons,
            ["done: it checks only the claim itself", "0 judged criteria: it has no questions for the judge"]
        );
        assert_eq!(
            reasons_without_proof(&[promise, Criterion::from_method(external_method())], JudgeErrorPolicy::Reject),
            None
        );
        assert_eq!(reasons_without_proof(&[], JudgeErrorPolicy::Reject), Some(Vec::new()));
    }
}
