//! `ralph verify`.
use clap::Args;
use ralph_core::criterion::Criterion;
use ralph_core::fact::Fact;
use ralph_core::outcome::exit_code;
use ralph_core::receipt::{
    CompletedRun, Receipt, ReceiptBuilder, ReceiptCheck, ReceiptDiscrepancy, ReceiptRecheck, find_discrepancies,
    repeatable_criteria,
};

use super::checkout_verification::{CheckoutVerification, CheckoutVerificationResult};
use super::config_args::ConfigArgs;
use super::resume::{HIDDEN_SECRET_HINT, refuse_tracked_state};
use super::run::with_keeper;
use super::verify_report::ReverificationReport;
use super::{out, run_lookup};
use crate::error::CommandError;
use ralph_app::run::FoundRun;
use ralph_app::run::refuse_recursion;
use ralph_app::view::short_id;
use ralph_engine::git::{self, CheckoutError, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, GENERATE_RUN_KIND, RunSpec, RunSpecError};
use ralph_engine::verify::AcceptancePolicy;
use ralph_process::Keeper;
use ralph_store::receipt_file::{self, ReceiptCopy};
use ralph_store::{ReceiptRow, RunRow, Store};
use ralph_util::digest::sha256_hex;
use ralph_util::redact;

/// Runs the checks of a completed run again, on a fresh checkout of the commit that was verified, and compares
///
/// Without RUN, the newest. RUN is the beginning or the end of an id. Your work tree is not touched, and no judge is asked
/// again. Commands of a run that `ralph import` read in are started only with --approve.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit codes: 0 confirmed, 3 not confirmed, 1 cannot be verified again (no receipt, no check that can
be repeated, the work was never committed, its commit is gone, verification.setup fails, or a check cannot run there)"
)]
pub struct VerifyArgs {
    run: Option<String>,
    /// Prints one object: run, confirmed, doubts, commit, tree, checks, not_repeated
    #[arg(long)]
    json: bool,
    /// Starts the commands of a run that was read in from a file
    #[arg(long)]
    approve: bool,
}

pub fn run(args: &VerifyArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_recursion(&project)?;
    refuse_tracked_state(&project)?;
    with_keeper(|keeper| reverify_run(args, project, keeper))
}

/// A receipt that can be looked at again.
struct ReverificationCase {
    run: RunRow,
    stored: ReceiptRow,
    receipt: Receipt,
    /// What can be repeated of its criteria.
    criteria: Vec<Criterion>,
    /// What makes a checkout fit for them, and the hash of all criteria as the run was given them.
    acceptance: AcceptancePolicy,
    criteria_sha256: String,
    /// The commit that holds what was verified.
    commit: String,
}

async fn reverify_run(args: &VerifyArgs, project: Project, keeper: Keeper) -> Result<u8, CommandError> {
    let FoundRun { store, run } = run_lookup::find_run(args.run.as_deref()).await?;
    let case = ReverificationCase::load(&store, &project, run).await?;
    case.refuse_foreign_commands(&store, args).await?;
    let checkout =
        TemporaryCheckout::create(&project.root, &case.commit).map_err(|error| missing_commit_error(&error))?;
    let tree = git::take_snapshot(checkout.path())
        .map_err(|error| CommandError::from_error(exit_code::GIT_FAILED, &error))?
        .tree;
    let name = format!("verify-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
    let looking = CheckoutVerification {
        project: &project,
        checkout: &checkout,
        acceptance: &case.acceptance,
        run_id: case.run.id.clone(),
        logs: (project.run_folder(&case.run.id), &name),
    };
    let mut control =
        ControlInput::from_signals().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let evidence = match looking.run_checks(&case.criteria, keeper, &mut control).await? {
        CheckoutVerificationResult::Finished(evidence) => evidence,
        CheckoutVerificationResult::Stopped(code) => return Ok(code),
    };
    let checks: Vec<ReceiptCheck> = evidence.checks.iter().map(ReceiptCheck::from).collect();
    let again = ReceiptRecheck {
        is_hash_valid: sha256_hex(&case.stored.body) == case.stored.sha256,
        matches_journal: matches_journal(&store, &case).await?,
        is_copy_identical: receipt_file::compare_receipt_copy(&project.run_folder(&case.run.id), &case.receipt)
            != ReceiptCopy::Differs,
        criteria_sha256: case.criteria_sha256.clone(),
        tree,
        checks,
    };
    let found = ReverificationReport {
        doubts: find_discrepancies(&case.receipt, &again),
        receipt: &case.receipt,
        commit: &case.commit,
        rerun: again,
        evidence,
    };
    if args.json {
        out::print_line(&found.to_json().to_string());
    } else {
        out::print_data(&found.to_text(&project.run_folder(&case.run.id)));
    }
    match found.doubts.as_slice() {
        [] => Ok(exit_code::COMPLETED),
        doubts if doubts.iter().all(ReceiptDiscrepancy::is_inconclusive) => Err(inconclusive_error(doubts)),
        [..] => Ok(exit_code::NOT_COMPLETE),
    }
}

/// Nothing speaks against the receipt: nobody could look.
fn inconclusive_error(doubts: &[ReceiptDiscrepancy]) -> CommandError {
    let failure = CommandError::preflight_error(
        "it cannot be verified again: what it was checked with does not run in a fresh checkout",
    );
    doubts.iter().fold(failure, |failure, doubt| failure.with_cause(doubt.to_string())).with_hint(
        "what is not committed is not there: verification.share links folders such as node_modules, verification.setup \
         has commands that make a checkout fit",
    )
}

impl ReverificationCase {
    async fn load(store: &Store, project: &Project, run: RunRow) -> Result<Self, CommandError> {
        if run.kind == GENERATE_RUN_KIND {
            return Err(CommandError::preflight_error(format!("run {} made tasks", short_id(&run.id)))
                .with_cause("its check was their import, which cannot be repeated")
                .with_hint("`ralph task list` lists them"));
        }
        let Some(stored) = store.receipt_of_run(&run.id).await? else {
            return Err(no_receipt_error(project, &run));
        };
        let receipt: Receipt = serde_json::from_str(&stored.body).map_err(|error| {
            CommandError::from_message(exit_code::STATE_UNUSABLE, "the stored receipt cannot be read").with_cause(error)
        })?;
        let criteria = repeatable_criteria(&original_criteria(project, &run, &receipt)?);
        if criteria.is_empty() {
            return Err(nothing_to_repeat_error(&receipt));
        }
        let commit = find_verified_commit(project, &receipt)?;
        let settings = RunSpec::parse(&run.settings)
            .map_err(|error| CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error))?;
        let criteria_sha256 = receipt_file::hash_criteria(settings.criteria())
            .map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        let acceptance = settings.acceptance().clone();
        Ok(Self { run, stored, receipt, criteria, acceptance, criteria_sha256, commit })
    }

    /// Somebody else's commands are not started unasked.
    async fn refuse_foreign_commands(&self, store: &Store, args: &VerifyArgs) -> Result<(), CommandError> {
        if args.approve || store.load_run(&self.run.id).await?.fence > 0 {
            return Ok(());
        }
        let what =
            format!("run {} was read in from a file, and its commands are somebody else's", short_id(&self.run.id));
        let setup = self.acceptance.setup.iter().cloned();
        let commands = setup.chain(self.criteria.iter().map(Criterion::summary_line));
        let failure = commands.fold(CommandError::preflight_error(what), CommandError::with_cause);
        Err(failure.with_hint("look at the commands, then start them with --approve"))
    }
}

/// Returns the criteria of a receipt. A mark in place of a secret is never started as a command: the secret is read again
/// from its variable, or nothing is started.
fn original_criteria(project: &Project, run: &RunRow, receipt: &Receipt) -> Result<Vec<Criterion>, CommandError> {
    let internal = |error: serde_json::Error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error);
    let criteria = &receipt.input.criteria;
    if !redact::has_redaction_mark(&serde_json::to_string(criteria).map_err(internal)?) {
        return Ok(criteria.clone());
    }
    // What the configuration gives to agents and prompts is known from now on.
    drop(ConfigArgs::default().load_settings(Some(project)));
    let cannot = |error: RunSpecError| {
        let hint = match error {
            RunSpecError::UnsetVariables { .. } => "set it again as it was, then verify",
            RunSpecError::SecretNotStored
            | RunSpecError::Format { .. }
            | RunSpecError::Newer { .. }
            | RunSpecError::UnknownKind { .. }
            | RunSpecError::UnknownAgent { .. } => HIDDEN_SECRET_HINT,
        };
        CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error)
            .with_cause("a check held it: it was not started")
            .with_hint(hint)
    };
    let settings = RunSpec::parse(&run.settings).map_err(cannot)?;
    if receipt_file::hash_criteria(settings.criteria()).map_err(internal)? != receipt.input.criteria_sha256 {
        return Err(cannot(RunSpecError::SecretNotStored));
    }
    Ok(settings.criteria().to_vec())
}

/// Tells whether the receipt says what the journal says.
async fn matches_journal(store: &Store, case: &ReverificationCase) -> Result<bool, CommandError> {
    let mut tally = ReceiptBuilder::default();
    let mut last_seq = 0;
    loop {
        let rows = store.events_after(&case.run.id, last_seq, EVENTS_PER_PAGE).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        last_seq = last.seq;
        for row in rows {
            let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return Ok(false) };
            if let Some(end) = CompletedRun::from_fact(&fact) {
                return Ok(tally.matches_receipt(&end, &case.receipt) && case.receipt.input.run == case.run.id);
            }
            tally.observe_fact(&fact);
        }
    }
}

const EVENTS_PER_PAGE: u32 = 1_000;

/// Finds the commit that holds what was verified: the one that it stood on, or one that was made of it later.
fn find_verified_commit(project: &Project, receipt: &Receipt) -> Result<String, CommandError> {
    let cannot = |what: &str| CommandError::preflight_error(what.to_owned());
    let Some(seen) = &receipt.input.repository else {
        return Err(cannot("the receipt does not say which files were verified: git could not tell then"));
    };
    if let (true, Some(commit)) = (seen.is_committed, &seen.commit) {
        return Ok(commit.clone());
    }
    let later = git::find_commit_with_tree(&project.root, &seen.tree);
    if let Some(commit) = later.unwrap_or_default() {
        return Ok(commit);
    }
    let here = git::take_snapshot(&project.root).is_ok_and(|now| now.tree == seen.tree);
    let failure = cannot("the work was not committed when it was verified, and no commit holds it")
        .with_cause(format!("the files that were verified have the tree {}", seen.tree));
    Err(if here {
        failure.with_hint("your work tree holds exactly these files: commit them, and verify again")
    } else {
        failure.with_hint("your work tree holds other files now: what was verified is gone")
    })
}

fn no_receipt_error(project: &Project, run: &RunRow) -> CommandError {
    let failure = CommandError::preflight_error(format!("run {} has no receipt", short_id(&run.id)));
    let failure = match run.status.as_str() {
        "completed" => failure.with_cause("it was completed by a ralph that wrote none"),
        status => failure.with_cause(format!("only a completed run has one, and this one is {status}")),
    };
    if project.run_folder(&run.id).join(receipt_file::RECEIPT_FILE_NAME).exists() {
        return failure.with_cause("the receipt.json in its folder is forged: ralph never wrote it");
    }
    failure
}

fn nothing_to_repeat_error(receipt: &Receipt) -> CommandError {
    if receipt.findings.checks.is_empty() {
        return CommandError::preflight_error(
            "nothing was verified: only the agent's word stands behind this completion",
        )
        .with_hint("give a run its proof with --check");
    }
    CommandError::preflight_error("none of the criteria can be verified again")
        .with_cause("only commands can be repeated: a judge's opinion and the agent's words cannot be had again")
}

fn missing_commit_error(error: &CheckoutError) -> CommandError {
    CommandError::from_error(exit_code::PREFLIGHT_FAILED, error)
        .with_hint("fetch it from where it was pushed to, and verify again")
}
