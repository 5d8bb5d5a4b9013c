//! Whether criteria can prove anything: what the receipt of a run would call verified, seen before the run.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{Criterion, Method, SemanticCheck};
use crate::judge::OnError;

/// Says of each criterion why it would come to no more than the agent's own word; nothing where one of them is a proof,
/// because all of them must hold.
#[must_use]
pub fn words_alone(criteria: &[Criterion], on_error: OnError) -> Option<Vec<String>> {
    let why = |criterion: &Criterion| {
        criterion.word_alone(on_error).map(|why| format!("{}: {why}", criterion.called()))
    };
    criteria.iter().map(why).collect()
}

impl Criterion {
    /// Says why it would come to no more than the agent's own word, if so.
    fn word_alone(&self, on_error: OnError) -> Option<String> {
        match &self.method {
            Method::External(_) | Method::Plugin(_) => None,
            Method::StringMatch => Some("it looks at the claim alone".to_string()),
            Method::Semantic(check) => unjudged(check, on_error).map(ToString::to_string),
            Method::MultiStage(staged) => {
                let mut required = staged.stages.iter().filter(|stage| stage.required);
                let is_proof = required.any(|stage| stage.criterion.word_alone(on_error).is_none());
                (!is_proof).then(|| "none of its required stages is more than that".to_string())
            }
        }
    }
}

fn unjudged(check: &SemanticCheck, on_error: OnError) -> Option<&'static str> {
    match (check.check_for.is_empty(), on_error) {
        (true, OnError::Reject | OnError::StringMatch) => Some("the judge is asked nothing"),
        (false, OnError::StringMatch) => {
            Some("the claim counts where the judge fails (on_error: string_match)")
        }
        (false, OnError::Reject) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criterion::{ExternalCheck, PluginCheck, Stage, StagedCheck};

    fn command() -> Method {
        Method::External(ExternalCheck::of_command("make"))
    }

    fn judged(check_for: &[&str]) -> Method {
        let check_for = check_for.iter().map(ToString::to_string).collect();
        Method::Semantic(SemanticCheck { check_for, ..SemanticCheck::default() })
    }

    fn staged(stages: Vec<(bool, Method)>) -> Method {
        let stage = |(required, method)| Stage { required, criterion: Criterion::of(method) };
        let stages = stages.into_iter().map(stage).collect();
        Method::MultiStage(StagedCheck { stages, require_all: true, parallel: false })
    }

    fn is_proof(method: Method, on_error: OnError) -> bool {
        words_alone(&[Criterion::of(method)], on_error).is_none()
    }

    // spec: V14
    // fault: 75
    #[test]
    fn commands_plugins_and_judges_that_are_asked_prove_and_words_do_not() {
        let plugin = PluginCheck { plugin: "p".to_string(), config: "null".to_string(), timeout_ms: 1 };
        for method in [command(), Method::Plugin(plugin), judged(&["fast"])] {
            assert!(is_proof(method.clone(), OnError::Reject), "{method:?}");
        }
        for method in [Method::StringMatch, judged(&[]), staged(Vec::new())] {
            assert!(!is_proof(method.clone(), OnError::Reject), "{method:?}");
        }
        assert!(!is_proof(judged(&["fast"]), OnError::StringMatch), "its failure would be an acceptance");
        assert!(is_proof(command(), OnError::StringMatch));
    }

    // spec: V14, V4
    // fault: 75
    #[test]
    fn of_stages_only_those_count_that_must_hold() {
        let prove = |stages| is_proof(staged(stages), OnError::Reject);
        assert!(prove([(false, Method::StringMatch), (true, command())].into()));
        assert!(!prove([(false, command()), (true, Method::StringMatch)].into()));
        assert!(!prove([(true, staged([(false, command())].into()))].into()));
    }

    // spec: V14
    // fault: 75
    #[test]
    fn one_proof_is_enough_and_nothing_is_none() {
        let word = Criterion { name: Some("done".to_string()), ..Criterion::of(Method::StringMatch) };
        let all = [word.clone(), Criterion::of(judged(&[]))];
        let why = words_alone(&all, OnError::Reject).unwrap();
        assert_eq!(
            why,
            ["done: it looks at the claim alone", "0 judged criteria: the judge is asked nothing"]
        );
        assert_eq!(words_alone(&[word, Criterion::of(command())], OnError::Reject), None);
        assert_eq!(words_alone(&[], OnError::Reject), Some(Vec::new()));
    }
}
