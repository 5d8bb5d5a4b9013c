//! Repeats the baseline of a run: its commands, on the files from which its work started.
use ralph_core::baseline::BaselineCheck;
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::Criterion;
use ralph_core::receipt::{BaselineRecheck, Receipt, reason_against_baseline_recheck};
use ralph_core::seal::Seal;
use ralph_engine::git::{self, TemporaryCheckout};
use ralph_engine::project::Project;
use ralph_engine::run_driver::ControlInput;
use ralph_engine::verify::AcceptancePolicy;
use ralph_process::Keeper;
use ralph_store::{RunRow, Store};
use ralph_util::redact;

use super::{CheckoutVerification, CheckoutVerificationResult};
use crate::error::AppResult;

/// The files from which the work of a run started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BaselineSource {
    pub(super) commit: String,
    /// All files that git did not ignore, if some of them were not committed.
    tree: Option<String>,
}

impl BaselineSource {
    /// Finds the files before the work. Returns the reason if the baseline cannot be repeated.
    pub(super) async fn find(
        store: &Store,
        run: &RunRow,
        receipt: &Receipt,
        seal: Option<Seal>,
    ) -> AppResult<Result<Self, String>> {
        if let Some(reason) = reason_against_baseline_recheck(&receipt.findings.baseline) {
            return Ok(Err(reason));
        }
        // The seal of a stage has the files on which the stage started, the baseline is that of the task.
        let task_base = match &run.task {
            Some(task) => store.task_seal(task).await?.base_commit,
            None => None,
        };
        if let Some(commit) = task_base {
            return Ok(Ok(Self { commit, tree: None }));
        }
        let Some(seal) = seal else { return Ok(Err("the run was not sealed".to_owned())) };
        let tree = seal.protected.map(|base| base.tree);
        let source = seal.base.map(|commit| Self { commit, tree });
        Ok(source.ok_or_else(|| "the repository had no commit when the run started".to_owned()))
    }

    /// Returns the source of checks that run only on commits.
    pub(super) fn for_isolation(self, isolation: CheckIsolation) -> Self {
        match isolation {
            CheckIsolation::Clean => Self { tree: None, ..self },
            CheckIsolation::Workspace => self,
        }
    }

    /// Checks out the files. Returns the reason if they are gone.
    fn check_out(&self, project: &Project) -> Result<TemporaryCheckout, String> {
        let checkout =
            TemporaryCheckout::create(&project.root, &self.commit).map_err(|error| describe_error(&error))?;
        if let Some(tree) = &self.tree
            && git::have_same_tree(&project.root, &self.commit, tree).ok().flatten() != Some(true)
        {
            let gone = |_| "the run started with uncommitted files, which git no longer has".to_owned();
            checkout.replace_files(tree).map_err(gone)?;
        }
        Ok(checkout)
    }
}

/// Everything that the repetition of a baseline needs.
pub(super) struct BaselineRepetition<'a> {
    pub(super) project: &'a Project,
    pub(super) source: &'a BaselineSource,
    pub(super) acceptance: &'a AcceptancePolicy,
    pub(super) run_id: &'a str,
    pub(super) log_prefix: String,
}

impl BaselineRepetition<'_> {
    /// Runs every command in a checkout of the files before the work.
    pub(super) async fn run(
        self,
        criteria: &[Criterion],
        keeper: Keeper,
        control: &mut ControlInput,
    ) -> AppResult<CheckoutVerificationResult<BaselineRecheck>> {
        let checkout = match self.source.check_out(self.project) {
            Ok(checkout) => checkout,
            Err(reason) => {
                return Ok(CheckoutVerificationResult::Finished(BaselineRecheck::NotRepeated { reason }));
            }
        };
        let verification = CheckoutVerification {
            project: self.project,
            checkout: &checkout,
            acceptance: self.acceptance,
            run_id: self.run_id.to_owned(),
            log_folder: self.project.run_folder(self.run_id),
            log_prefix: self.log_prefix,
        };
        let recheck = match verification.run_baseline(criteria, keeper, control).await? {
            CheckoutVerificationResult::Stopped(signal) => return Ok(CheckoutVerificationResult::Stopped(signal)),
            CheckoutVerificationResult::Finished(Ok(trials)) => BaselineRecheck::Finished(
                trials.into_iter().map(BaselineCheck::from_trial).map(redact_command).collect(),
            ),
            CheckoutVerificationResult::Finished(Err(failed)) => BaselineRecheck::NotRepeated {
                reason: format!("the checkout could not be set up: `{}`: {}", failed.command, failed.reason),
            },
        };
        Ok(CheckoutVerificationResult::Finished(recheck))
    }
}

/// The receipt has the commands without secrets.
fn redact_command(mut check: BaselineCheck) -> BaselineCheck {
    check.evidence.command = redact::redact_text(&check.evidence.command).into_owned();
    check
}

fn describe_error(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
