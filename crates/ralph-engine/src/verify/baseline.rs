//! The baseline: runs every external check once before the work starts.
use ralph_core::baseline::{BaselineProblem, BaselineTrial};
use ralph_core::criterion::{Criterion, ExternalCheck, external_checks};
use ralph_core::evidence::{CheckEvidence, Verdict};

use super::verification_control::VerificationControl;
use super::{CheckContext, external};
use crate::verify::seals::command_files::CommandFiles;

/// Runs every external check, including those in stages. Stops at the first check that cannot be evaluated and that the
/// agent cannot fix: the other results are not needed then.
pub(super) async fn run_baseline(
    context: &CheckContext,
    criteria: &[Criterion],
    control: &mut VerificationControl,
) -> Vec<BaselineTrial> {
    let mut trials = Vec::new();
    for (found, position) in external_checks(criteria).into_iter().zip(1_u32..) {
        let log = format!("{}.check-{position}.log", context.log_prefix);
        let stamps = context.seal_monitor.read_stamps(control).await;
        let evidence = external::run_external_check(context, found.check, log, control).await;
        context.seal_monitor.check_seal(stamps, control).await;
        let lack = baseline_problem(context, found.check, &evidence);
        let name = found.name.map(str::to_owned);
        let evidence = CheckEvidence { name, required: found.required, ..evidence };
        let is_unusable = evidence.verdict == Verdict::CouldNotEvaluate && lack == BaselineProblem::NotFixableByAgent;
        trials.push(BaselineTrial { evidence, lack });
        if is_unusable || control.is_stopped() {
            break;
        }
    }
    trials
}

/// Returns whether a check that could not be evaluated, or that failed, lacks something that the agent may still write: a program, a
/// script or its working directory.
fn baseline_problem(context: &CheckContext, check: &ExternalCheck, evidence: &CheckEvidence) -> BaselineProblem {
    let root = &context.environment.root;
    let folder = check.working_dir.as_ref().map(|named| root.join(named));
    let is_missing =
        CommandFiles::from_check(&context.environment, check).is_missing() || folder.is_some_and(|path| !path.exists());
    match evidence.verdict {
        Verdict::CouldNotEvaluate | Verdict::Rejected if is_missing => BaselineProblem::MissingFromWorkTree,
        Verdict::CouldNotEvaluate | Verdict::Accepted | Verdict::Rejected => BaselineProblem::NotFixableByAgent,
    }
}
