//! Verifies completed work again: runs the checks of a receipt on a fresh checkout of its commit and of the commit from
//! which the work started, and compares.
mod baseline;
mod checkout;

use std::path::PathBuf;

use ralph_core::criterion::Criterion;
use ralph_core::event::StopSignal;
use ralph_core::evidence::Evidence;
use ralph_core::fact::Fact;
use ralph_core::receipt::{
    BaselineRecheck, CompletedRun, Proof, Receipt, ReceiptBuilder, ReceiptCheck, ReceiptDiscrepancy, ReceiptRecheck,
    find_discrepancies, repeatable_criteria,
};
use ralph_core::seal::Seal;
use ralph_engine::git::{self, CheckoutError, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{ControlInput, EngineError, GENERATE_RUN_KIND, RunSpec, RunSpecError};
use ralph_engine::verify::AcceptancePolicy;
use ralph_process::Keeper;
use ralph_store::receipt_file::{self, ReceiptCopy};
use ralph_store::{ReceiptRow, RunRow, Store};
use ralph_util::digest::sha256_hex;
use ralph_util::redact;

use crate::advice::Advice;
use crate::config::ConfigSource;
use crate::error::{AppError, AppResult, ErrorKind};
use crate::run::{FoundRun, find_run, refuse_recursion, refuse_session_run};
use crate::view::short_id;
use baseline::{BaselineRepetition, BaselineSource};
pub use checkout::{CheckoutVerification, CheckoutVerificationResult};

const EVENTS_PER_PAGE: u32 = 1_000;

/// Whether the commands of an imported run may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportedCommands {
    Refuse,
    Approved,
}

/// The result of verifying a run again.
#[derive(Debug)]
pub enum Reverification {
    Finished(Box<ReverificationReport>),
    Stopped(StopSignal),
}

/// The findings of a second verification.
#[derive(Debug)]
pub struct ReverificationReport {
    pub receipt: Receipt,
    pub commit: String,
    /// The commit on which the baseline was repeated.
    pub base_commit: Option<String>,
    pub rerun: ReceiptRecheck,
    pub evidence: Evidence,
    /// The proof level that the repeated baseline and checks support.
    pub repeated_proof: Proof,
    pub discrepancies: Vec<ReceiptDiscrepancy>,
    /// The folder with the output of the checks.
    pub log_folder: PathBuf,
}

impl ReverificationReport {
    /// Returns the error if the checks could not be evaluated and nothing speaks against the receipt.
    #[must_use]
    pub fn inconclusive_error(&self) -> Option<AppError> {
        let is_inconclusive =
            !self.discrepancies.is_empty() && self.discrepancies.iter().all(ReceiptDiscrepancy::is_inconclusive);
        is_inconclusive.then(|| {
            let failure =
                AppError::preflight("the run cannot be verified again: its checks do not run in a fresh checkout");
            self.discrepancies.iter().fold(failure, |failure, doubt| failure.with_cause(doubt.to_string())).with_advice(
                "uncommitted files are not in it: verification.share links folders such as node_modules, \
                 verification.setup has commands that prepare a checkout",
            )
        })
    }
}

/// Runs the checks of a completed run again on a fresh checkout of the verified commit. `part` is the start or end of its
/// id; without it, the newest run.
pub async fn reverify_run(
    project: &Project,
    part: Option<&str>,
    imported: ImportedCommands,
    keeper: Keeper,
) -> AppResult<Reverification> {
    refuse_recursion(project)?;
    let FoundRun { store, run } = find_run(project, part).await?;
    let case = ReverificationCase::load(&store, project, run).await?;
    case.refuse_imported_commands(&store, imported).await?;
    let checkout =
        TemporaryCheckout::create(&project.root, &case.commit).map_err(|error| missing_commit_error(&error))?;
    let tree = git::take_snapshot(checkout.path())?.tree;
    let log_folder = project.run_folder(&case.run.id);
    let verification = CheckoutVerification {
        project,
        checkout: &checkout,
        acceptance: &case.acceptance,
        run_id: case.run.id.clone(),
        log_folder: log_folder.clone(),
        log_prefix: case.log_prefix.clone(),
    };
    let mut control = ControlInput::from_signals().map_err(|source| EngineError::Signals { source })?;
    let evidence = match verification.run_checks(&case.criteria, keeper.clone(), &mut control).await? {
        CheckoutVerificationResult::Finished(evidence) => evidence,
        CheckoutVerificationResult::Stopped(signal) => return Ok(Reverification::Stopped(signal)),
    };
    let journal = JournalComparison::read(&store, &case).await?;
    let source = BaselineSource::find(&store, &case.run, &case.receipt, journal.seal).await?;
    let baseline = match case.repeat_baseline(project, &source, keeper, &mut control).await? {
        CheckoutVerificationResult::Finished(baseline) => baseline,
        CheckoutVerificationResult::Stopped(signal) => return Ok(Reverification::Stopped(signal)),
    };
    let repeated_proof = baseline.repeated_proof(&case.receipt, &evidence);
    let rerun = ReceiptRecheck {
        is_hash_valid: sha256_hex(&case.stored.body) == case.stored.sha256,
        matches_journal: journal.is_equal,
        is_copy_identical: receipt_file::compare_receipt_copy(&log_folder, &case.receipt) != ReceiptCopy::Differs,
        criteria_sha256: case.criteria_sha256,
        tree,
        checks: evidence.checks.iter().map(ReceiptCheck::from).collect(),
        baseline,
    };
    Ok(Reverification::Finished(Box::new(ReverificationReport {
        discrepancies: find_discrepancies(&case.receipt, &rerun),
        receipt: case.receipt,
        commit: case.commit,
        base_commit: source.ok().map(|source| source.commit),
        rerun,
        evidence,
        repeated_proof,
        log_folder,
    })))
}

/// A receipt that can be verified again.
struct ReverificationCase {
    run: RunRow,
    stored: ReceiptRow,
    receipt: Receipt,
    /// Those of its criteria that can be repeated.
    criteria: Vec<Criterion>,
    /// How a checkout is prepared for them.
    acceptance: AcceptancePolicy,
    /// The hash of all criteria as the run was given them.
    criteria_sha256: String,
    /// The commit with the verified files.
    commit: String,
    /// The names of the logs start with it.
    log_prefix: String,
}

impl ReverificationCase {
    async fn load(store: &Store, project: &Project, run: RunRow) -> AppResult<Self> {
        if run.kind == GENERATE_RUN_KIND {
            return Err(AppError::preflight(format!("run {} generated tasks", short_id(&run.id)))
                .with_cause("its only check was the import of these tasks, which cannot be repeated")
                .with_advice(Advice::ListTasks));
        }
        refuse_session_run(&run, "verified again")?;
        let Some(stored) = store.receipt_of_run(&run.id).await? else {
            return Err(no_receipt_error(project, &run));
        };
        let receipt: Receipt = serde_json::from_str(&stored.body).map_err(|error| {
            AppError::from_message(ErrorKind::StateUnusable, "the stored receipt cannot be read").with_cause(error)
        })?;
        let criteria = repeatable_criteria(&original_criteria(project, &run, &receipt)?);
        if criteria.is_empty() {
            return Err(nothing_to_repeat_error(&receipt));
        }
        let commit = find_verified_commit(project, &receipt)?;
        let spec = RunSpec::parse(&run.settings).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))?;
        let criteria_sha256 =
            receipt_file::hash_criteria(&spec.criteria).map_err(|error| AppError::internal(&error))?;
        let acceptance = spec.acceptance.clone();
        let log_prefix = format!("verify-{}", jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ"));
        Ok(Self { run, stored, receipt, criteria, acceptance, criteria_sha256, commit, log_prefix })
    }

    /// Runs the commands on the files before the work.
    async fn repeat_baseline(
        &self,
        project: &Project,
        source: &Result<BaselineSource, String>,
        keeper: Keeper,
        control: &mut ControlInput,
    ) -> AppResult<CheckoutVerificationResult<BaselineRecheck>> {
        let source = match source {
            Ok(source) => source.clone().for_isolation(self.acceptance.isolation),
            Err(reason) => {
                let not_repeated = BaselineRecheck::NotRepeated { reason: reason.clone() };
                return Ok(CheckoutVerificationResult::Finished(not_repeated));
            }
        };
        let (acceptance, run_id) = (&self.acceptance, self.run.id.as_str());
        let log_prefix = format!("{}-baseline", self.log_prefix);
        let repetition = BaselineRepetition { project, source: &source, acceptance, run_id, log_prefix };
        repetition.run(&self.criteria, keeper, control).await
    }

    /// The commands of an imported run are a stranger's: they start only with approval.
    async fn refuse_imported_commands(&self, store: &Store, imported: ImportedCommands) -> AppResult<()> {
        if imported == ImportedCommands::Approved || store.load_run(&self.run.id).await?.fence > 0 {
            return Ok(());
        }
        let message =
            format!("run {} was imported from a file, and its commands are not yours", short_id(&self.run.id));
        let setup = self.acceptance.setup.iter().cloned();
        let commands = setup.chain(self.criteria.iter().map(Criterion::summary_line));
        let failure = commands.fold(AppError::preflight(message), AppError::with_cause);
        Err(failure.with_advice(Advice::ApproveImportedCommands))
    }
}

/// Returns the criteria of a receipt. A redacted command is never started: its secret is read again from its variable, or
/// nothing starts.
fn original_criteria(project: &Project, run: &RunRow, receipt: &Receipt) -> AppResult<Vec<Criterion>> {
    let criteria = &receipt.input.criteria;
    let text = serde_json::to_string(criteria).map_err(|error| AppError::internal(&error))?;
    if !redact::has_redaction_mark(&text) {
        return Ok(criteria.clone());
    }
    // Registers the secrets of the configuration.
    drop(ConfigSource::default().load_settings(Some(project)));
    let spec = RunSpec::parse(&run.settings).map_err(|error| redacted_criteria_error(&error))?;
    let hash = receipt_file::hash_criteria(&spec.criteria).map_err(|error| AppError::internal(&error))?;
    if hash != receipt.input.criteria_sha256 {
        return Err(redacted_criteria_error(&RunSpecError::SecretNotStored));
    }
    Ok(spec.criteria)
}

fn redacted_criteria_error(error: &RunSpecError) -> AppError {
    let advice = match error {
        RunSpecError::UnsetVariables { .. } => Advice::Text("set it again as it was, then verify".to_owned()),
        RunSpecError::SecretNotStored
        | RunSpecError::Format { .. }
        | RunSpecError::Newer { .. }
        | RunSpecError::UnknownKind { .. }
        | RunSpecError::UnknownAgent { .. } => Advice::KeepSecretsInVariables,
    };
    AppError::from_error(ErrorKind::Preflight, error)
        .with_cause("a check contains the secret, so the check was not started")
        .with_advice(advice)
}

/// The journal of a run, compared with its receipt.
#[derive(Debug, Default)]
struct JournalComparison {
    is_equal: bool,
    /// The seal that was made before the work.
    seal: Option<Seal>,
}

impl JournalComparison {
    async fn read(store: &Store, case: &ReverificationCase) -> AppResult<Self> {
        let mut builder = ReceiptBuilder::default();
        let mut comparison = Self::default();
        let mut last_seq = 0;
        loop {
            let rows = store.events_after(&case.run.id, last_seq, EVENTS_PER_PAGE).await?;
            let Some(last) = rows.last() else { return Ok(comparison) };
            last_seq = last.seq;
            for row in rows {
                let Ok(fact) = serde_json::from_str::<Fact>(&row.body) else { return Ok(comparison) };
                if let Some(end) = CompletedRun::from_fact(&fact) {
                    comparison.is_equal =
                        builder.matches_receipt(&end, &case.receipt) && case.receipt.input.run == case.run.id;
                    return Ok(comparison);
                }
                builder.observe_fact(&fact);
                if let Fact::RunSealed { seal } = fact {
                    comparison.seal = Some(seal);
                }
            }
        }
    }
}

/// Finds the commit with the verified files: the one that was checked out, or a later one with the same tree.
fn find_verified_commit(project: &Project, receipt: &Receipt) -> AppResult<String> {
    let Some(repository) = &receipt.input.repository else {
        return Err(AppError::preflight("the receipt does not say which files were verified: git could not tell then"));
    };
    if let (true, Some(commit)) = (repository.is_committed, &repository.commit) {
        return Ok(commit.clone());
    }
    let later = git::find_commit_with_tree(&project.root, &repository.tree);
    if let Some(commit) = later.unwrap_or_default() {
        return Ok(commit);
    }
    let is_here = git::take_snapshot(&project.root).is_ok_and(|now| now.tree == repository.tree);
    let failure = AppError::preflight("the work was not committed when it was verified, and no commit has it")
        .with_cause(format!("the verified files have the tree {}", repository.tree));
    Err(failure.with_advice(if is_here {
        "your work tree has exactly these files: commit them, and verify again"
    } else {
        "your work tree has other files now: the verified ones are gone"
    }))
}

fn no_receipt_error(project: &Project, run: &RunRow) -> AppError {
    let failure = AppError::preflight(format!("run {} has no receipt", short_id(&run.id)));
    let failure = match run.status.as_str() {
        "completed" => failure.with_cause("it was completed by an older ralph, which wrote no receipts"),
        status => failure.with_cause(format!("only a completed run has a receipt, and this run is {status}")),
    };
    if project.run_folder(&run.id).join(receipt_file::RECEIPT_FILE_NAME).exists() {
        return failure.with_cause("the receipt.json in its folder is forged: ralph never wrote it");
    }
    failure
}

fn nothing_to_repeat_error(receipt: &Receipt) -> AppError {
    if receipt.findings.checks.is_empty() {
        return AppError::preflight("nothing was verified: this completion rests on the agent's word alone")
            .with_advice(Advice::AddCheck);
    }
    AppError::preflight("none of the criteria can be verified again")
        .with_cause("only commands can be repeated, not a judge's opinion or the agent's words")
}

fn missing_commit_error(error: &CheckoutError) -> AppError {
    AppError::from_error(ErrorKind::Preflight, error)
        .with_advice("fetch it from where it was pushed to, and verify again")
}
