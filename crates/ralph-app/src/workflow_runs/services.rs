//! The services that all nodes of a workflow run share: where it works, with which settings and limits, and who sees its progress.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ralph_core::attempt::ModelSpend;
use ralph_core::budget::{Budget, BudgetScope, ScopedBudget};
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::policy::Policy;
use ralph_core::receipt::WorkTreeSnapshot;
use ralph_core::workflow::graph::ActivityId;
use ralph_core::workflow::{VariableValues, WorkflowVariable};
use ralph_engine::project::Project;
use ralph_engine::run_driver::{CostAccount, CostLedger, OutputVisibility, take_snapshot};
use ralph_process::{Keeper, LogBudget};
use ralph_store::Store;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::UnboundedSender;

use super::cancel::end_descendants;
use super::log::WorkflowLog;
use super::loop_receipt::{LoopChecks, LoopClaim};
use super::observer::WorkflowObserver;
use super::questions::OpenQuestion;
use super::spec::WorkflowRunSpec;
use crate::config::{ConfigSource, Settings};
use crate::error::AppResult;
use crate::interaction::Interaction;

/// `$DOCS_DIR`, relative to the files of the run.
const DOCS_FOLDER: &str = "docs/";

/// The host of workflow runs: one run with its children.
pub struct WorkflowHost {
    /// The settings with those of the request on top.
    pub settings: Settings,
    pub config: ConfigSource,
    pub visibility: OutputVisibility,
    pub keeper: Keeper,
    pub store: Arc<Store>,
    pub person: Box<dyn Interaction + Send>,
    pub budget: WorkflowBudget,
    /// The slots that the agents of the run and its children share.
    pub agent_slots: Arc<Semaphore>,
    /// The run without a parent.
    pub root: String,
    pub is_pausing: AtomicBool,
}

impl WorkflowHost {
    /// From now on nothing of the run and its children starts.
    pub fn begin_pause(&self) {
        self.is_pausing.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_pausing(&self) -> bool {
        self.is_pausing.load(Ordering::Relaxed)
    }
}

/// One workflow run in this process.
pub struct RunServices {
    pub host: Arc<WorkflowHost>,
    pub run: String,
    pub message: String,
    pub spec: WorkflowRunSpec,
    /// The project with the files that the nodes work on.
    pub project: Project,
    /// The project with the files of the user.
    pub base_project: Project,
    pub observer: Arc<dyn WorkflowObserver>,
    pub log: Arc<WorkflowLog>,
    /// For the logs of its programs.
    pub log_budget: LogBudget,
    /// To the driver of the run. A channel has room for many messages from the start, so that they are in boxes.
    pub progress: UnboundedSender<Box<NodeProgress>>,
}

/// The progress of a node while it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeProgress {
    Message {
        text: String,
    },
    Iteration {
        iteration: u32,
        max_iterations: u32,
    },
    /// An iteration of a loop has ended with this text.
    Output {
        text: String,
    },
    /// Something other than the promise of its run says that a loop is done.
    LoopClaimed {
        node: String,
        claim: LoopClaim,
    },
    /// The checks of a loop accept its completion.
    LoopVerified {
        node: String,
        checks: LoopChecks,
    },
    /// A judge of a `checks` node or of a loop group was asked.
    Judged {
        activity: String,
        cost_micros: u64,
    },
    /// The child run of an activity reports this.
    Child {
        activity: ActivityId,
        event: ChildEvent,
    },
}

/// The progress of a child run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChildEvent {
    Started {
        node: String,
        run: String,
        workflow: String,
    },
    /// It waits for a person.
    Parked {
        questions: Vec<OpenQuestion>,
    },
    Resumed,
    /// It pauses: nothing of it runs any more.
    Holding,
}

impl RunServices {
    /// Returns the folder for the logs of the run.
    #[must_use]
    pub fn run_folder(&self) -> PathBuf {
        self.project.run_folder(&self.run)
    }

    /// Returns `$ARTIFACTS_DIR`.
    #[must_use]
    pub fn artifacts_folder(&self) -> PathBuf {
        self.run_folder().join("artifacts")
    }

    /// Returns `$STATE_DIR`, which outlives runs.
    #[must_use]
    pub fn state_directory(&self) -> PathBuf {
        self.project.state_folder().join("workflow-state")
    }

    /// Returns the variables that are the same for all nodes.
    #[must_use]
    pub fn variables(&self) -> VariableValues {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut values: VariableValues = BTreeMap::from([
            (WorkflowVariable::Arguments, self.message.clone()),
            (WorkflowVariable::ArtifactsDir, text(&self.artifacts_folder())),
            (WorkflowVariable::WorkflowId, self.run.clone()),
            (WorkflowVariable::StateDir, text(&self.state_directory())),
            (WorkflowVariable::DocsDir, DOCS_FOLDER.to_owned()),
        ]);
        if let Some(branch) = &self.spec.base_branch {
            values.insert(WorkflowVariable::BaseBranch, branch.clone());
        }
        values
    }

    /// Announces the progress: the driver stores the message, and shows it.
    pub fn announce(&self, text: &str) {
        // The driver has ended only if the process ends.
        let _ = self.progress.send(Box::new(NodeProgress::Message { text: text.to_owned() }));
    }

    /// Reports that an iteration of a loop has started.
    pub fn announce_iteration(&self, iteration: u32, max_iterations: u32) {
        let _ = self.progress.send(Box::new(NodeProgress::Iteration { iteration, max_iterations }));
    }

    /// Ends the children that were stopped with this run: it will not continue them.
    pub async fn close_children(&self, reason: &str) -> AppResult<()> {
        end_descendants(&self.base_project, &self.host.store, &self.run, reason).await
    }

    /// Reports the text with which an iteration of a loop has ended.
    pub fn report_output(&self, text: &str) {
        let _ = self.progress.send(Box::new(NodeProgress::Output { text: text.to_owned() }));
    }

    /// Reports what says that a loop is done, for its receipt.
    pub fn report_loop_claim(&self, node: &str, claim: LoopClaim) {
        let _ = self.progress.send(Box::new(NodeProgress::LoopClaimed { node: node.to_owned(), claim }));
    }

    /// Reports the checks that accept the completion of a loop, for its receipt.
    pub fn report_loop_checks(&self, node: &str, checks: LoopChecks) {
        let _ = self.progress.send(Box::new(NodeProgress::LoopVerified { node: node.to_owned(), checks }));
    }

    /// Returns the files of the run as they are now, for a receipt; `None` if git cannot tell.
    pub async fn take_snapshot(&self) -> Option<WorkTreeSnapshot> {
        take_snapshot(&self.project.root, CheckIsolation::Workspace).await.ok()
    }

    /// Counts what a judge has cost that no run of an agent asked.
    pub fn record_judge_spend(&self, activity: &str, spend: ModelSpend) {
        let account = format!("{}/{activity}", self.run);
        self.host.budget.open_account(&account, ModelSpend::default()).record_spend(spend);
        let cost_micros = spend.cost_micros.unwrap_or(0);
        let _ = self.progress.send(Box::new(NodeProgress::Judged { activity: activity.to_owned(), cost_micros }));
    }

    pub fn warn(&self, text: &str) {
        self.observer.on_warning(text);
    }
}

/// The cost limit that all agents of a run and its children share.
#[derive(Debug, Clone, Default)]
pub struct WorkflowBudget {
    /// `u64::MAX`: no limit.
    limit_micros: Arc<AtomicU64>,
    /// The cost before this process drove the run.
    pub spent_before_micros: u64,
    ledger: CostLedger,
    /// The amount that each run of an agent had spent before this process drove it.
    spent_before: Arc<Mutex<BTreeMap<String, ModelSpend>>>,
}

impl WorkflowBudget {
    #[must_use]
    pub fn new(limit_micros: Option<u64>, spent_before_micros: u64) -> Self {
        let limit_micros = Arc::new(AtomicU64::new(limit_micros.unwrap_or(u64::MAX)));
        Self { limit_micros, spent_before_micros, ..Self::default() }
    }

    /// Replaces the limit, for all agents that start from now on.
    pub fn set_limit(&self, limit_micros: u64) {
        self.limit_micros.store(limit_micros, Ordering::Relaxed);
    }

    fn limit(&self) -> Option<u64> {
        Some(self.limit_micros.load(Ordering::Relaxed)).filter(|limit| *limit != u64::MAX)
    }

    /// Returns whether nothing is left.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        let spent = self.ledger.total_cost().saturating_add(self.spent_before_micros);
        self.limit().is_some_and(|limit| spent >= limit)
    }

    /// Sets the limit in the policy of a pass. Its own earlier spending is part of what was spent before.
    pub fn limit_policy(&self, policy: &mut Policy, spent_before: ModelSpend) {
        policy.shared.retain(|shared| shared.scope != BudgetScope::Worker);
        policy.shared.extend(self.limit().map(|limit| {
            let left = limit.saturating_sub(self.spent_before_micros);
            let max_cost_micros = left.saturating_add(spent_before.cost_micros.unwrap_or(0));
            let budget = Budget { max_cost_micros: Some(max_cost_micros), ..Budget::default() };
            ScopedBudget { scope: BudgetScope::Worker, budget }
        }));
    }

    /// Returns what a run had spent before this process, given what it has spent now. A loop is driven several times by
    /// the same process.
    #[must_use]
    pub fn spent_before_process(&self, run: &str, spent: ModelSpend) -> ModelSpend {
        let mut runs = self.spent_before.lock().unwrap_or_else(PoisonError::into_inner);
        *runs.entry(run.to_owned()).or_insert(spent)
    }

    pub fn open_account(&self, run: &str, spent_before: ModelSpend) -> CostAccount {
        self.ledger.open_account(run, spent_before)
    }
}
