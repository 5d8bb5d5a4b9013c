//! Finds workflow runs, with their actual status.
use ralph_core::outcome::Outcome;
use ralph_core::receipt::ProofLevel;
use ralph_engine::project::Project;
use ralph_store::{RunRow, Store, WorkflowNodeRow, WorkflowRunRow};
use ralph_util::sanitize::escape_hidden;

use super::fact::WorkflowFact;
use super::loop_receipt::LoopReceipt;
use super::metadata::RunMetadata;
use super::opened_run::load_spec;
use super::spec::WorkflowRunSpec;
use crate::error::{AppError, AppResult};
use crate::review::ShownText;
use crate::run::{is_orphaned, open_existing_store};
use crate::view::short_id;

/// A timeline is drawn of at most this many events.
const MAX_TIMED_EVENTS: u32 = 20_000;

/// A workflow run with the open store that it was found in.
pub struct FoundWorkflowRun {
    pub store: Store,
    pub run: WorkflowRunRow,
}

/// Everything about one workflow run.
pub struct WorkflowRunView {
    pub run: WorkflowRunRow,
    pub spec: Option<WorkflowRunSpec>,
    pub nodes: Vec<WorkflowNodeRow>,
    /// The runs of its agents, oldest first, with the node of each.
    pub passes: Vec<(String, RunRow)>,
    pub open_questions: Vec<OpenQuestionView>,
    /// The runs that its nodes have started, oldest first.
    pub children: Vec<WorkflowRunRow>,
    /// The cost of the agents in the run and its children, in millionths of a dollar.
    pub cost_micros: Option<i64>,
    /// How well the work is proven, if the run has completed.
    pub proof: Option<ProofLevel>,
    /// The receipts of loops whose runs have none, in the order of their completion.
    pub receipts: Vec<StoredLoopReceipt>,
}

/// The receipt of a loop, as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredLoopReceipt {
    pub node: String,
    pub receipt: LoopReceipt,
    pub sha256: String,
}

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestionView {
    /// The run that asks: the run itself, or a child.
    pub run: String,
    pub question: String,
    pub node: String,
    pub text: String,
    pub decisions: Vec<String>,
}

impl OpenQuestionView {
    /// Returns the question as a person sees it. Its digest changes with the text, the decisions, and with every repetition of
    /// the question.
    #[must_use]
    pub fn shown_text(&self) -> ShownText {
        let decisions = self.decisions.join("\n");
        ShownText::new(escape_hidden(&self.text), &[&self.run, &self.question, &self.node, &decisions])
    }
}

/// Returns the newest workflow runs.
pub async fn list_workflow_runs(project: &Project, limit: u32) -> AppResult<Vec<WorkflowRunRow>> {
    let Some(store) = open_existing_store(project).await? else { return Ok(Vec::new()) };
    let runs = store.recent_workflow_runs(limit).await?;
    store.close().await;
    Ok(runs.into_iter().map(|run| with_actual_status(project, run)).collect())
}

/// A page of workflow runs, newest first.
#[derive(Debug, Default)]
pub struct WorkflowRunPage {
    pub runs: Vec<ListedWorkflowRun>,
    /// What `before` is for the next page; `None` on the last page.
    pub next: Option<String>,
}

/// A workflow run in a list.
#[derive(Debug)]
pub struct ListedWorkflowRun {
    pub run: WorkflowRunRow,
    /// The nodes that run now.
    pub active_nodes: Vec<String>,
}

/// Returns a page of the workflow runs. `before` is the id of the last run of the page before.
pub async fn load_workflow_run_page(project: &Project, before: Option<&str>, limit: u32) -> AppResult<WorkflowRunPage> {
    let Some(store) = open_existing_store(project).await? else { return Ok(WorkflowRunPage::default()) };
    let rows = store.page_of_workflow_runs(before, limit).await?;
    let is_full = rows.len() >= limit as usize;
    let next = rows.last().filter(|_| is_full).map(|last| last.id.clone());
    let mut runs = Vec::new();
    for row in rows {
        let run = with_actual_status(project, row);
        let mut active_nodes = Vec::new();
        if run.ended_at.is_none() {
            let all = store.nodes_of_workflow_run(&run.id).await?;
            let is_active = |node: &&WorkflowNodeRow| node.started_at.is_some() && node.ended_at.is_none();
            active_nodes
                .extend(all.iter().filter(is_active).filter(|node| node.item.is_none()).map(|node| node.node.clone()));
        }
        runs.push(ListedWorkflowRun { run, active_nodes });
    }
    store.close().await;
    Ok(WorkflowRunPage { runs, next })
}

/// Returns the workflow runs that have not ended.
pub async fn list_active_workflow_runs(project: &Project) -> AppResult<Vec<WorkflowRunRow>> {
    let Some(store) = open_existing_store(project).await? else { return Ok(Vec::new()) };
    let runs = store.unfinished_workflow_runs().await?;
    store.close().await;
    Ok(runs.into_iter().map(|run| with_actual_status(project, run)).collect())
}

/// Returns whether `part` is the start or end of the id of a workflow run; without it, whether the newest run is one.
pub async fn names_workflow_run(project: &Project, part: Option<&str>) -> AppResult<bool> {
    let Some(store) = open_existing_store(project).await? else { return Ok(false) };
    let is_named = match part {
        Some(part) if part.trim().is_empty() => false,
        Some(part) => !store.find_workflow_runs_by_id_part(part).await?.is_empty(),
        None => {
            let newest = store.recent_workflow_runs(1).await?.pop();
            let other = store.recent_runs(1).await?.pop();
            newest.is_some_and(|newest| other.is_none_or(|other| other.started_at < newest.started_at))
        }
    };
    store.close().await;
    Ok(is_named)
}

/// Returns the workflow run whose id starts or ends with `part`, or the newest one.
pub async fn find_workflow_run(project: &Project, part: Option<&str>) -> AppResult<FoundWorkflowRun> {
    let none = || {
        AppError::preflight("this project has no workflow runs yet").with_advice("start one: ralph workflow run NAME")
    };
    let store = open_existing_store(project).await?.ok_or_else(none)?;
    let mut found = match part {
        Some(part) => store.find_workflow_runs_by_id_part(part).await?,
        None => store.recent_workflow_runs(1).await?,
    };
    match (found.len(), part) {
        (0, None) => Err(none()),
        (0, Some(part)) => Err(AppError::not_found(format!("there is no workflow run {part:?} here"))
            .with_advice("ralph runs lists the runs of this project")),
        (1, _) => Ok(FoundWorkflowRun { store, run: with_actual_status(project, found.swap_remove(0)) }),
        (_, part) => {
            let failure =
                AppError::invalid_request(format!("{:?} matches more than one workflow run", part.unwrap_or_default()));
            let candidates = found.iter().map(|run| format!("{}  {}", run.id, run.workflow));
            Err(candidates.fold(failure, AppError::with_cause).with_advice(crate::advice::Advice::GiveLongerRunId))
        }
    }
}

/// A run that is recorded as running but not driven was interrupted: its ralph died.
#[must_use]
pub fn with_actual_status(project: &Project, mut run: WorkflowRunRow) -> WorkflowRunRow {
    if run.status == "running" && is_orphaned(project, &run.id) {
        run.status = "interrupted".to_owned();
        run.reason = Some("its ralph died; resume the run to continue it".to_owned());
    }
    run
}

impl WorkflowRunView {
    /// Loads everything about a run.
    pub async fn load(project: &Project, store: &Store, run: WorkflowRunRow) -> AppResult<Self> {
        let nodes = store.nodes_of_workflow_run(&run.id).await?;
        let passes = store.passes_of_workflow_run(&run.id).await?;
        let named = |row: RunRow| {
            let settings: Option<serde_json::Value> = serde_json::from_str(&row.settings).ok();
            let node = settings.as_ref().and_then(|settings| settings.pointer("/workflow_node/node"));
            (node.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned(), row)
        };
        let open_questions = load_open_questions(store, &run).await?;
        let children = store.child_workflow_runs(&run.id).await?;
        let cost_micros = load_tree_cost(store, &run.id).await?;
        let proof = load_proof(store, &run).await?;
        let receipts = load_receipts(store, &run).await?;
        Ok(Self {
            receipts,
            children: children.into_iter().map(|child| with_actual_status(project, child)).collect(),
            cost_micros,
            spec: load_spec(store, &run.id).await.ok(),
            nodes,
            passes: passes.into_iter().map(named).collect(),
            open_questions,
            proof,
            run,
        })
    }
}

/// Returns how well the work of a run is proven, if it has completed. Reads no journal.
#[must_use]
pub fn workflow_proof(run: &WorkflowRunRow) -> Option<ProofLevel> {
    let proof = || RunMetadata::parse(&run.metadata).proof().unwrap_or(ProofLevel::Unverified);
    (run.status == Outcome::Completed.as_str()).then(proof)
}

/// Returns the name of a workflow with the first line of its message, if it has one.
#[must_use]
pub fn workflow_title(workflow: &str, message: &str) -> String {
    match message.lines().next().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{workflow}: {line}"),
        None => workflow.to_owned(),
    }
}

/// Returns how well the work of a run is proven, as its end has recorded.
async fn load_proof(store: &Store, run: &WorkflowRunRow) -> AppResult<Option<ProofLevel>> {
    let last = store.workflow_events_after(&run.id, run.event_count.saturating_sub(1), 1).await?.pop();
    let fact = last.and_then(|event| serde_json::from_str(&event.body).ok());
    Ok(match fact {
        Some(WorkflowFact::Finished { proof, .. }) => proof,
        Some(_) | None => None,
    })
}

/// Returns the receipts in the journal of a run.
async fn load_receipts(store: &Store, run: &WorkflowRunRow) -> AppResult<Vec<StoredLoopReceipt>> {
    let events = store.workflow_events_after(&run.id, 0, u32::MAX).await?;
    let facts = events.iter().filter(|event| event.body.contains("\"receipt\""));
    let receipts = facts.filter_map(|event| match serde_json::from_str(&event.body) {
        Ok(WorkflowFact::Receipt { node, receipt, sha256 }) => {
            Some(StoredLoopReceipt { node, receipt: *receipt, sha256 })
        }
        Ok(_) | Err(_) => None,
    });
    Ok(receipts.collect())
}

/// Returns the questions of a run and its children that were asked and not answered, in their order.
pub async fn load_open_questions(store: &Store, run: &WorkflowRunRow) -> AppResult<Vec<OpenQuestionView>> {
    if run.ended_at.is_some() {
        return Ok(Vec::new());
    }
    let mut open = Vec::new();
    for run in std::iter::once(run).chain(&store.unfinished_descendants(&run.id).await?) {
        let answers = store.workflow_answers(&run.id).await?;
        let asked = load_asked_questions(store, run).await?;
        open.extend(asked.into_iter().filter(|open| answers.iter().all(|answer| answer.question != open.question)));
    }
    Ok(open)
}

/// An event of a workflow run with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedEvent {
    /// In milliseconds.
    pub at: i64,
    pub fact: WorkflowFact,
}

/// Returns the first events of a run that this ralph knows, oldest first.
pub async fn load_timed_events(store: &Store, run: &WorkflowRunRow) -> AppResult<Vec<TimedEvent>> {
    let rows = store.workflow_events_after(&run.id, 0, MAX_TIMED_EVENTS).await?;
    let known = rows.iter().filter_map(|row| {
        let fact = serde_json::from_str(&row.body).ok()?;
        Some(TimedEvent { at: row.at, fact })
    });
    Ok(known.collect())
}

/// Returns the run without a parent that has started a run, directly or through others.
pub async fn find_root_run(store: &Store, run: WorkflowRunRow) -> AppResult<WorkflowRunRow> {
    let mut root = run;
    while let Some(parent) = &root.parent {
        let found = store.workflow_run(parent).await?;
        root = found.ok_or_else(|| {
            AppError::preflight(format!("the workflow run that started {} is no longer stored", short_id(&root.id)))
        })?;
    }
    Ok(root)
}

/// Returns the questions that were asked, in their order.
pub async fn load_asked_questions(store: &Store, run: &WorkflowRunRow) -> AppResult<Vec<OpenQuestionView>> {
    let events = store.workflow_events_after(&run.id, 0, u32::MAX).await?;
    let facts = events.iter().filter_map(|event| serde_json::from_str(&event.body).ok());
    Ok(facts
        .filter_map(|fact| match fact {
            WorkflowFact::QuestionAsked { node, question, text, decisions } => {
                Some(OpenQuestionView { run: run.id.clone(), question, node, text, decisions })
            }
            _ => None,
        })
        .collect())
}

/// Returns what agents and judges have cost in a run and its children, in millionths of a dollar, if any cost is known.
pub async fn load_tree_cost(store: &Store, run: &str) -> AppResult<Option<i64>> {
    let passes = store.passes_of_workflow_tree(run).await?;
    let mut costs: Vec<i64> = passes.iter().filter_map(|pass| pass.cost_micros).collect();
    let mut open = vec![run.to_owned()];
    while let Some(run) = open.pop() {
        costs.extend(load_judge_cost(store, &run).await?);
        open.extend(store.child_workflow_runs(&run).await?.into_iter().map(|child| child.id));
    }
    Ok((!costs.is_empty()).then(|| costs.iter().sum()))
}

/// Returns the costs of the judges of a run that no run of an agent asked, in millionths of a dollar.
async fn load_judge_cost(store: &Store, run: &str) -> AppResult<Vec<i64>> {
    let events = store.workflow_events_after(run, 0, u32::MAX).await?;
    let facts = events.iter().filter(|event| event.body.contains("\"judged\""));
    let costs = facts.filter_map(|event| match serde_json::from_str(&event.body) {
        Ok(WorkflowFact::Judged { cost_micros, .. }) => Some(i64::try_from(cost_micros).unwrap_or(i64::MAX)),
        Ok(_) | Err(_) => None,
    });
    Ok(costs.collect())
}
