//! The external checks before any work: each runs once.
use ralph_core::baseline::{BaselineProblem, BaselineTrial};
use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Verdict};

use super::command_files::CommandFiles;
use super::verification_control::VerificationControl;
use super::{CheckContext, external};

/// Runs every external check, those of stages too. One that cannot be evaluated ends it: nothing more needs to be known.
pub(super) async fn run_baseline(
    context: &CheckContext,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> Vec<BaselineTrial> {
    let mut trials = Vec::new();
    for (found, position) in external_checks(criteria).into_iter().zip(1_u32..) {
        let log = format!("{}.check-{position}.log", context.log_prefix);
        let seen = external::run_external_check(context, found.check, log, control).await;
        let lack = baseline_problem(context, found.check, &seen);
        let name = found.name.map(str::to_owned);
        let evidence = CheckEvidence { name, required: found.required, ..seen };
        let is_blind = evidence.verdict == Verdict::CouldNotEvaluate && lack == BaselineProblem::NotFixableByAgent;
        trials.push(BaselineTrial { evidence, lack });
        if is_blind || control.is_stopped() {
            break;
        }
    }
    trials
}

/// Finds out whether a check that could not be evaluated lacks something that the agent may write: a program, a script or
/// the folder to run in.
fn baseline_problem(context: &CheckContext, check: &ExternalCheck, seen: &CheckEvidence) -> BaselineProblem {
    let root = &context.environment.root;
    let folder = check.working_dir.as_ref().map(|named| root.join(named));
    let is_missing =
        CommandFiles::from_check(&context.environment, check).is_missing() || folder.is_some_and(|path| !path.exists());
    match seen.verdict {
        Verdict::CouldNotEvaluate if is_missing => BaselineProblem::MissingFromWorkTree,
        Verdict::CouldNotEvaluate | Verdict::Accepted | Verdict::Rejected => BaselineProblem::NotFixableByAgent,
    }
}
