//! Prepares a checkout or work tree for the checks: runs its setup commands and starts to monitor its sealed files.
use ralph_core::criterion::ExternalCheck;
use ralph_core::evidence::{CheckEvidence, EvidenceKind, Verdict};
use ralph_core::seal::{Seal, seal_evidence_after_check};
use ralph_process::JobCommand;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::verify::checkouts::clean_checkout::{CleanCheckout, CleanCheckoutError, CleanCheckoutSpec};
use crate::verify::seals::file_sealer::FileSealer;
use crate::verify::seals::seal_monitor::SealedCheckout;
use crate::verify::verification_control::VerificationControl;
use crate::verify::{CheckContext, CheckEnvironment, SealMonitor, external};

/// Setup commands may download and build packages.
const WORKTREE_SETUP_TIMEOUT_MS: u64 = 30 * 60 * 1_000;

/// Creates a clean checkout, runs its setup commands as checks, and returns the context for checks in it.
pub(in crate::verify) async fn enter_clean_checkout(
    context: CheckContext,
    sealer: FileSealer,
    spec: CleanCheckoutSpec,
    setup: &[String],
    control: &mut VerificationControl,
) -> Result<(CheckContext, CleanCheckout), Box<CheckEvidence>> {
    let seal = spec.seal.clone();
    let created = control.run_blocking(move || {
        let checkout = CleanCheckout::create(&sealer, &spec)?;
        let checkout_sealer = sealer.for_checkout(checkout.path());
        let paths = checkout_sealer.without_programs().hash_sealed_files()?;
        Ok((checkout, sealer, SealedCheckout { sealer: checkout_sealer, paths }))
    });
    let (checkout, sealer, sealed) = created
        .await
        .and_then(|created: Result<_, CleanCheckoutError>| created.map_err(|error| error.to_string()))
        .map_err(|reason| Box::new(could_not_evaluate(EvidenceKind::Commit, "the clean room", reason)))?;
    let environment = CheckEnvironment { root: checkout.path().to_path_buf(), ..context.environment };
    let context = CheckContext { environment, ..context };
    run_checkout_setup(&context, setup, control).await?;
    let seal_monitor = monitor_clean_checkout(sealer, sealed, seal, control).await?;
    Ok((CheckContext { seal_monitor, ..context }, checkout))
}

/// Starts to monitor a checkout after its setup. The setup commands may install programs but must not change other
/// sealed files.
async fn monitor_clean_checkout(
    sealer: FileSealer,
    checkout: SealedCheckout,
    seal: Seal,
    control: &mut VerificationControl,
) -> Result<SealMonitor, Box<CheckEvidence>> {
    let monitor = control.run_blocking(move || {
        let changes = checkout.sealer.without_programs().file_changes_since(&checkout.paths);
        if !changes.is_empty() {
            return Err(changes);
        }
        let paths = checkout.sealer.hash_sealed_files().map_err(|error| vec![error.to_string()])?;
        Ok(SealMonitor::new(sealer, seal, Some(SealedCheckout { paths, ..checkout })))
    });
    let monitor = monitor.await.map_err(|reason| vec![reason]).flatten();
    monitor.map_err(|changes| Box::new(seal_evidence_after_check(&changes)))
}

/// Runs the commands that prepare a checkout for the checks.
pub(in crate::verify) async fn run_checkout_setup(
    context: &CheckContext,
    setup: &[String],
    control: &mut VerificationControl,
) -> Result<(), Box<CheckEvidence>> {
    let commands = setup.iter().map(|command| ExternalCheck::from_shell_text(command));
    run_setup_commands(context, commands, control, || std::future::ready(true)).await
}

/// Runs the commands that prepare a work tree for the agent. They have a longer timeout than checks.
pub async fn run_worktree_setup<C: Future<Output = bool>>(
    context: &CheckContext,
    setup: &[String],
    control: UnboundedReceiver<JobCommand>,
    may_continue: impl Fn() -> C,
) -> Result<(), Box<CheckEvidence>> {
    let to_check = |command: &String| ExternalCheck {
        timeout_ms: WORKTREE_SETUP_TIMEOUT_MS,
        ..ExternalCheck::from_shell_text(command)
    };
    run_setup_commands(context, setup.iter().map(to_check), &mut VerificationControl::new(control), may_continue).await
}

/// Runs commands one after the other and stops at the first that fails.
async fn run_setup_commands<C: Future<Output = bool>>(
    context: &CheckContext,
    commands: impl Iterator<Item = ExternalCheck>,
    control: &mut VerificationControl,
    may_continue: impl Fn() -> C,
) -> Result<(), Box<CheckEvidence>> {
    for (check, number) in commands.zip(1_u32..) {
        let evidence = if may_continue().await {
            let log = format!("{}.setup-{number}.log", context.log_prefix);
            external::run_external_check(context, &check, log, control).await
        } else {
            could_not_evaluate(
                EvidenceKind::External,
                &check.command.to_string(),
                "another process has taken over the work tree".to_owned(),
            )
        };
        if evidence.verdict != Verdict::Accepted {
            let name = Some(format!("setup {}", evidence.display_name()));
            return Err(Box::new(CheckEvidence { name, ..evidence }));
        }
    }
    Ok(())
}

pub(in crate::verify) fn could_not_evaluate(kind: EvidenceKind, command: &str, reason: String) -> CheckEvidence {
    CheckEvidence::without_output(kind, command.to_owned(), Verdict::CouldNotEvaluate, reason)
}
