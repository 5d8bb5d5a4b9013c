//! The hands of the driver: starts agents and checks as tasks and passes orders to whatever is running.
use std::any::Any;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::attempt::{AttemptReport, ModelSpend, RetryAdvice};
use ralph_core::budget::BudgetUsage;
use ralph_core::claim::{ClaimFinder, PromiseNonce};
use ralph_core::event::AttemptKey;
use ralph_core::loop_state::AgentSession;
use ralph_core::policy::BaselineMode;
use ralph_core::prompt::PromptPlan;
use ralph_core::prompt_variables::ExpandedPrompt;
use ralph_core::seal::Seal;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};

use super::activity_clock::ActivityClock;
use super::attempt_io::{AttemptIo, SessionRequest};
use super::attempt_output::{AttemptOutputReader, FilteredDisplay};
use super::attempt_runner::{self, not_started_report};
use super::change_detector::{ChangeDetector, TreeScan, detect_change};
use super::cost_ledger::CostAccount;
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::filter_process::FilterProcess;
use super::judge_choice::JudgeChoice;
use super::remaining_budget::RemainingBudget;
use super::run_notes;
use super::run_plan::{AgentChoice, OutputVisibility, PromptContext, RunPlan};
use super::run_record::take_snapshot_blocking;
use super::snapshots::AttemptSnapshots;
use crate::verify::{
    CheckCache, CheckContext, ClaimVerifier, SealMonitor, SubmittedClaim, VerificationControl, VerificationPreparation,
};
use ralph_agents::replay_output::read_output_claim;
use ralph_agents::{FilterError, GracefulSignal, PriorUsage, parser_for_format};
use ralph_process::{JobCommand, JobSpec, Keeper, LogBudget, RawLog, TerminationSignal};
use ralph_util::failpoints::{self, FailPoint};

/// How long a tree may take to die.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct EffectRunner {
    pub(super) plan: Arc<RunPlan>,
    /// When the running agent was last heard.
    pub(super) activity: ActivityClock,
    /// When it was last heard to repeat a request that failed.
    pub(super) retry_activity: ActivityClock,
    keeper: Keeper,
    log_budget: LogBudget,
    messages: mpsc::UnboundedSender<DriverMessage>,
    display_updates: mpsc::Sender<DisplayUpdate>,
    running: Option<RunningWork>,
    /// The start that comes next, while it is being stored.
    prepared_start: Option<PreparedStart>,
    /// The agent at work: 0 is the preferred one, the fallbacks follow.
    agent_number: u32,
    /// What the run had used when the agent was started.
    pub(super) spent_before: ModelSpend,
    /// What other runs have used of the budgets that this one shares.
    pub(super) others_used: Vec<BudgetUsage>,
    /// Where the worker that drives this run counts what it costs.
    pub(super) cost_account: Option<CostAccount>,
    /// The variables without a value that were named already.
    reported_variables: BTreeSet<String>,
    check_cache: CheckCache,
    /// Looks whether the agent changes anything, where that matters.
    change_detector: Option<ChangeDetector>,
    /// The tree of ralph's own that it works in, where it does.
    snapshots: Option<AttemptSnapshots>,
    /// The work tree before the agent's work.
    tree_before: Option<JoinHandle<TreeScan>>,
    /// The notes as they were when this iteration began.
    iteration_notes: (u32, String),
    /// What the agent said last, and when.
    last_final_text: Option<(AttemptKey, String)>,
}

/// One start of an agent.
#[derive(Clone)]
pub(super) struct AgentStart {
    pub(super) key: AttemptKey,
    pub(super) plan: PromptPlan,
    pub(super) nonce: Option<PromiseNonce>,
    pub(super) guidance: Vec<String>,
    pub(super) session: Option<AgentSession>,
    pub(super) agent: u32,
}

/// What an agent is told and how it is started, or why it cannot be.
struct PreparedStart {
    key: AttemptKey,
    launch: Result<AgentLaunch, String>,
}

struct AgentLaunch {
    prompt: String,
    session_request: SessionRequest,
    job: (JobSpec, String),
}

/// The one agent or check that is alive.
struct RunningWork {
    commands: mpsc::UnboundedSender<JobCommand>,
    abort_handle: AbortHandle,
    /// Ends after the work.
    panic_monitor: JoinHandle<()>,
}

impl EffectRunner {
    pub(super) fn new(
        plan: RunPlan,
        (keeper, cost_account): (Keeper, Option<CostAccount>),
        messages: mpsc::UnboundedSender<DriverMessage>,
        display_updates: mpsc::Sender<DisplayUpdate>,
    ) -> Self {
        let log_budget = LogBudget::new(plan.raw_log_bytes(), &plan.project.run_folder(&plan.id));
        let change_detector = (plan.policy.stall_after > 0).then(|| ChangeDetector::for_project(&plan.project));
        let snapshots = AttemptSnapshots::for_plan(&plan);
        Self {
            plan: Arc::new(plan),
            activity: ActivityClock::new(),
            retry_activity: ActivityClock::new(),
            keeper,
            log_budget,
            messages,
            display_updates,
            running: None,
            prepared_start: None,
            agent_number: 0,
            spent_before: ModelSpend::default(),
            others_used: Vec::new(),
            cost_account,
            reported_variables: BTreeSet::new(),
            check_cache: CheckCache::default(),
            change_detector,
            snapshots,
            tree_before: None,
            iteration_notes: (0, String::new()),
            last_final_text: None,
        }
    }

    /// Prepares a start while it is being stored. Only reads: nothing is started.
    pub(super) fn prepare_start(&mut self, start: &AgentStart) {
        self.tree_before = self.change_detector.clone().map(|movement| spawn_blocking(move || movement.scan_tree()));
        self.prepared_start = Some(PreparedStart { key: start.key, launch: self.build_launch(start) });
    }

    fn build_launch(&mut self, start: &AgentStart) -> Result<AgentLaunch, String> {
        let AgentStart { key, plan, nonce, guidance, session, agent } = start;
        self.read_notes(key.iteration);
        let for_now = PromptContext { iteration: key.iteration, notes: &self.iteration_notes.1, guidance };
        let ExpandedPrompt { text: prompt, unknown_variables: unknown } = self
            .plan
            .render_prompt(plan, nonce.as_ref(), for_now)
            .map_err(|error| format!("the prompt cannot be read: {error}"))?;
        self.warn_unknown_variables(unknown);
        let choice = self.plan.agent_at(*agent);
        let asked = choice.session_request(session.as_ref().map(|session| session.id.clone()));
        let job = self.plan.build_agent_job(choice, &prompt, &asked);
        let job = job.map_err(|error| format!("the agent's program cannot be found: {error}"))?;
        Ok(AgentLaunch { prompt, session_request: asked, job })
    }

    pub(super) fn start_agent(&mut self, start: AgentStart) {
        if self.prepared_start.as_ref().is_none_or(|prepared| prepared.key != start.key) {
            self.prepare_start(&start);
        }
        let AgentStart { key, nonce, session, agent, .. } = start;
        self.agent_number = agent;
        let AgentLaunch { prompt, session_request: asked, job } =
            match self.prepared_start.take().map(|prepared| prepared.launch) {
                Some(Ok(told)) => told,
                Some(Err(why)) => return self.report_not_started(key, why),
                None => return,
            };
        let spent = session.map(|session| session.spent);
        (self.activity, self.retry_activity) = (ActivityClock::new(), ActivityClock::new());
        let talk = self.plan.build_conversation(self.plan.agent_at(agent), &prompt, asked.resume_id.clone());
        match self.attempt_io(key, (asked, spent), ClaimFinder::new(self.plan.claim_rules_with_nonce(nonce), &prompt)) {
            Ok(mut io) => {
                io.reader.parser().start_conversation(talk);
                self.launch_attempt(key, job, io);
            }
            Err(error) => self.report_not_started(key, format!("a filter cannot be used: {error}")),
        }
    }

    /// Reads the notes once for all attempts of an iteration: a retry gets the same prompt.
    fn read_notes(&mut self, iteration: u32) {
        if self.iteration_notes.0 == iteration {
            return;
        }
        let path = self.plan.project.notes_file(&self.plan.id);
        let text = run_notes::read_tail(&path).unwrap_or_else(|error| {
            let text = format!("the notes {} cannot be read: {error}", path.display());
            let _ = self.messages.send(DriverMessage::Warning(text));
            String::new()
        });
        self.iteration_notes = (iteration, text);
    }

    /// Names variables that had no value, each once.
    fn warn_unknown_variables(&mut self, unknown: Vec<String>) {
        let new: Vec<String> = unknown
            .into_iter()
            .filter(|name| self.reported_variables.insert(name.clone()))
            .map(|name| format!("${name}"))
            .collect();
        if !new.is_empty() {
            let text = format!("variables of the prompt that have no value became empty: {}", new.join(", "));
            let _ = self.messages.send(DriverMessage::Warning(text));
        }
    }

    fn launch_attempt(&mut self, key: AttemptKey, job: (JobSpec, String), io: AttemptIo) {
        let AttemptKey { iteration, attempt } = key;
        tracing::debug!(iteration, attempt, program = %job.0.program.display(), "starts the agent");
        let (orders, received) = mpsc::unbounded_channel();
        let (keeper, news) = (self.keeper.clone(), self.messages.clone());
        let (change_detector, before) = (self.change_detector.clone(), self.tree_before.take());
        let snapshots = self.snapshots.clone();
        let work = async move {
            let before = match before {
                Some(looking) => looking.await.ok().flatten(),
                None => None,
            };
            let mut report = attempt_runner::run_attempt(keeper, job, io, received).await;
            report.has_moved = detect_change(change_detector, before).await;
            let trouble = match snapshots {
                Some(kept) => kept.save_after_attempt(key).await,
                None => None,
            };
            trouble.into_iter().for_each(|trouble| drop(news.send(DriverMessage::Warning(trouble))));
            let _ = news.send(DriverMessage::AttemptEnded(key, report));
        };
        self.running = Some(self.spawn_work(key, orders, work));
    }

    /// Starts work in a task of its own. Should it panic, the rules hear of it: nobody waits for news of the dead.
    fn spawn_work(
        &self,
        key: AttemptKey,
        commands: mpsc::UnboundedSender<JobCommand>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> RunningWork {
        let news = self.messages.clone();
        let task = tokio::spawn(work);
        let work = task.abort_handle();
        let watch = tokio::spawn(async move {
            if let Err(error) = task.await
                && let Ok(panic) = error.try_into_panic()
            {
                let _ = news.send(DriverMessage::Panicked(key, panic_message(panic.as_ref())));
            }
        });
        RunningWork { commands, abort_handle: work, panic_monitor: watch }
    }

    /// Tells the worker what the run has cost.
    pub(super) fn record_cost(&self, spent: ModelSpend) {
        if let Some(account) = &self.cost_account {
            account.record_spend(spent);
        }
    }

    fn attempt_io(
        &self,
        key: AttemptKey,
        (session, spent): (SessionRequest, Option<ModelSpend>),
        finder: ClaimFinder,
    ) -> Result<AttemptIo, FilterError> {
        let name = attempt_log_name(key);
        Ok(AttemptIo {
            key,
            adapter: self.current_agent().adapter,
            format: self.current_agent().output_format(),
            session_request: session,
            remaining_budget: RemainingBudget::new(
                &self.plan.policy,
                self.spent_before,
                &self.others_used,
                self.cost_account.clone(),
            ),
            usage_file: self.plan.usage_file_path(self.current_agent()),
            reader: self.output_reader(spent)?,
            display: self.display_filter()?,
            claim_finder: finder,
            stdout_log: self.raw_log(format!("{name}.ndjson")),
            stderr_log: self.raw_log(format!("{name}.stderr")),
            activity: self.activity.clone(),
            retry_activity: self.retry_activity.clone(),
            messages: self.messages.clone(),
            display_updates: self.display_updates.clone(),
        })
    }

    /// Returns the agent that works, or worked last.
    pub(super) fn current_agent(&self) -> &AgentChoice {
        self.plan.agent_at(self.agent_number)
    }

    /// Prepares a log of the agent, which goes to the session log as well where there is one.
    fn raw_log(&self, name: String) -> RawLog {
        let folder = self.plan.project.run_folder(&self.plan.id);
        RawLog::new(folder.join(name), &self.log_budget).with_session_log(self.plan.session_log.clone())
    }

    /// `spent` is what the session had used before, where one is resumed.
    fn output_reader(&self, session_spend: Option<ModelSpend>) -> Result<AttemptOutputReader, FilterError> {
        let mut parser = parser_for_format(self.current_agent().output_format());
        match self.plan.visibility {
            OutputVisibility::Shown => {}
            OutputVisibility::Hidden => parser.skip_display_events(),
        }
        if let Some(spent) = session_spend {
            let ModelSpend { input_tokens, output_tokens, .. } = spent;
            parser.continue_session(PriorUsage { input_tokens, output_tokens, cost_usd: spent.cost_usd() });
        }
        let filter = self.current_agent().response_filter()?;
        Ok(match filter {
            None => AttemptOutputReader::Parsed(parser),
            Some(filter) => AttemptOutputReader::with_filter(parser, self.start_filter(&filter)),
        })
    }

    /// A filter for a display that nobody sees is not started.
    fn display_filter(&self) -> Result<Option<FilteredDisplay>, FilterError> {
        let filter = self.current_agent().display_filter()?;
        let filter = filter.filter(|_| self.plan.visibility == OutputVisibility::Shown);
        Ok(filter.map(|filter| FilteredDisplay::new(self.start_filter(&filter))))
    }

    fn start_filter(&self, filter: &str) -> FilterProcess {
        FilterProcess::start(self.keeper.clone(), &self.plan.id, filter)
    }

    fn report_not_started(&self, key: AttemptKey, reason: String) {
        let report = Box::new(not_started_report(reason, RetryAdvice::None));
        let _ = self.messages.send(DriverMessage::AttemptEnded(key, report));
    }

    /// Remembers what an agent said last: it may be a claim that is verified.
    pub(super) fn remember_final_text(&mut self, key: AttemptKey, report: &AttemptReport) {
        self.last_final_text = Some((key, report.reading.final_text.clone()));
    }

    /// Returns what the agent claimed. A resumed run has not heard it, and reads it again.
    fn build_claim(&self, key: AttemptKey) -> SubmittedClaim {
        let name = format!("{}.ndjson", attempt_log_name(key));
        let output = self.plan.project.run_folder(&self.plan.id).join(name);
        let report = match &self.last_final_text {
            Some((said, report)) if *said == key => report.clone(),
            Some(_) | None => self.reread_final_text(&output),
        };
        SubmittedClaim { promise: self.plan.claim_rules.promise.as_str().to_owned(), report, output_file: output }
    }

    /// What cannot be read was not said: nothing is proven by it.
    fn reread_final_text(&self, output: &Path) -> String {
        let rules = self.plan.claim_rules.clone();
        let reading = File::open(output)
            .and_then(|mut file| read_output_claim(self.current_agent().output_format(), rules, "", &mut file));
        reading.map(|reading| reading.final_text).unwrap_or_default()
    }

    fn check_context(&self, name: String, claim: SubmittedClaim) -> CheckContext {
        CheckContext {
            keeper: self.keeper.clone(),
            environment: self.plan.check_environment(),
            cache: self.check_cache.clone(),
            seal_monitor: SealMonitor::default(),
            log_folder: self.plan.project.run_folder(&self.plan.id),
            log_prefix: name,
            log_budget: self.log_budget.clone(),
            plugin_folder: self.plan.project.verifiers_folder(),
            claim,
            judge: self.plan.judge.as_ref().map(JudgeChoice::to_judge),
        }
    }

    fn claim_verifier(&self) -> ClaimVerifier {
        ClaimVerifier {
            criteria: self.plan.criteria.clone(),
            acceptance: self.plan.acceptance.clone(),
            duty: self.plan.policy.duty,
            task_base: self.plan.own_worktree.as_ref().map(|place| place.worktree.base.clone()),
            sealer: self.plan.build_sealer(),
        }
    }

    /// Runs the external checks once, and then seals: what they leave behind is no change of the agent's.
    pub(super) fn start_preparation(&mut self, round: u32, baseline: BaselineMode) {
        let verifier = self.check_context(round_log_name("baseline".to_owned(), round), SubmittedClaim::default());
        let examiner = self.claim_verifier();
        let (orders, received) = mpsc::unbounded_channel();
        let news = self.messages.clone();
        let work = async move {
            failpoints::reach_fail_point(FailPoint::PrepareStarted);
            let VerificationPreparation { sealing, baseline } = examiner.prepare(verifier, baseline, received).await;
            let _ = news.send(DriverMessage::Prepared(sealing, baseline));
        };
        self.running = Some(self.spawn_work(AttemptKey::PREPARATION, orders, work));
    }

    pub(super) fn start_checks(&mut self, key: AttemptKey, round: u32, seal: Option<Seal>) {
        let verifier = self.check_context(round_log_name(attempt_log_name(key), round), self.build_claim(key));
        let examiner = self.claim_verifier();
        let (orders, received) = mpsc::unbounded_channel();
        let news = self.messages.clone();
        let root = self.plan.project.root.clone();
        let isolation = self.plan.acceptance.isolation;
        let work = async move {
            failpoints::reach_fail_point(FailPoint::VerifyStarted);
            let orders = &mut VerificationControl::new(received);
            let evidence = match examiner.verify_seal(seal, orders).await {
                Err(broken) => broken,
                Ok(unbroken) => {
                    let seen = orders.run_blocking(move || take_snapshot_blocking(&root, isolation)).await.flatten();
                    let _ = news.send(DriverMessage::SnapshotTaken(seen));
                    unbroken.verify_claim(verifier, orders).await
                }
            };
            let _ = news.send(DriverMessage::Verified(key, evidence));
        };
        self.running = Some(self.spawn_work(key, orders, work));
    }

    pub(super) fn stop_agent(&mut self) {
        let signal = match self.current_agent().adapter.graceful_signal() {
            GracefulSignal::Term => TerminationSignal::Term,
            GracefulSignal::Int => TerminationSignal::Int,
        };
        let grace: Duration = self.plan.stop_grace;
        self.send_command(JobCommand::Stop { signal, grace });
    }

    pub(super) fn kill_running(&mut self) {
        self.send_command(JobCommand::Kill);
    }

    /// Passes an order to whatever is running; tells whether something is.
    pub(super) fn send_command(&mut self, order: JobCommand) -> bool {
        self.running.as_ref().is_some_and(|running| running.commands.send(order).is_ok())
    }

    /// Leaves nothing running behind.
    pub(super) fn abort_running(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort_handle.abort();
        }
    }

    /// Kills whatever is running, because nothing of it can be recorded any more.
    pub(super) async fn kill_and_wait(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.commands.send(JobCommand::Kill);
            let _ = tokio::time::timeout(KILL_TIMEOUT, running.panic_monitor).await;
            running.abort_handle.abort();
        }
    }
}

/// Returns what a panic said.
fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked without a word").to_owned()
}

impl Drop for EffectRunner {
    fn drop(&mut self) {
        self.abort_running();
    }
}

/// Returns the name that the logs of an attempt begin with.
#[must_use]
pub fn attempt_log_name(key: AttemptKey) -> String {
    match key.attempt {
        1 => format!("iteration-{:03}", key.iteration),
        attempt => format!("iteration-{:03}-attempt-{attempt}", key.iteration),
    }
}

/// Returns the name that the logs of checks begin with. Checks that run again leave the logs of the earlier ones.
fn round_log_name(name: String, round: u32) -> String {
    match round {
        1 => name,
        round => format!("{name}-round-{round}"),
    }
}
