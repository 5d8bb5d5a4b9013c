//! The external checks before any work: each runs once.
use ralph_core::baseline::{Lack, Trial};
use ralph_core::criterion::{Criterion, ExternalCheck, externals};
use ralph_core::evidence::{CheckEvidence, Verdict};

use super::named::Named;
use super::orders::Orders;
use super::{Verifier, external};

/// Runs every external check, those of stages too. One that cannot be evaluated ends it: nothing more needs to be known.
pub(super) async fn try_out(verifier: &Verifier, criteria: &[Criterion], orders: &mut Orders) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (found, position) in externals(criteria).into_iter().zip(1_u32..) {
        let log = format!("{}.check-{position}.log", verifier.name);
        let seen = external::check(verifier, found.check, log, orders).await;
        let lack = lack(verifier, found.check, &seen);
        let name = found.name.map(str::to_owned);
        let evidence = CheckEvidence { name, required: found.required, ..seen };
        let is_blind = evidence.verdict == Verdict::CouldNotEvaluate && lack == Lack::Else;
        trials.push(Trial { evidence, lack });
        if is_blind || orders.is_stopped() {
            break;
        }
    }
    trials
}

/// Finds out whether a check that could not be evaluated lacks something that the agent may write: a program, a script or
/// the folder to run in.
fn lack(verifier: &Verifier, check: &ExternalCheck, seen: &CheckEvidence) -> Lack {
    let root = &verifier.ground.root;
    let folder = check.working_dir.as_ref().map(|named| root.join(named));
    let is_missing =
        Named::of(&verifier.ground, check).is_missing() || folder.is_some_and(|path| !path.exists());
    match seen.verdict {
        Verdict::CouldNotEvaluate if is_missing => Lack::OfTheWork,
        Verdict::CouldNotEvaluate | Verdict::Accepted | Verdict::Rejected => Lack::Else,
    }
}
