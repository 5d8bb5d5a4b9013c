//! Performs the effects that the rules decide: starts agents and checks as tasks, and sends commands to them.
use std::any::Any;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ralph_core::attempt::{AttemptReport, ModelSpend, RetryAdvice};
use ralph_core::budget::BudgetUsage;
use ralph_core::claim::{ClaimFinder, ClaimReading, PromiseNonce};
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
use super::run_plan::{AgentChoice, AgentJob, OutputVisibility, PromptContext, RunPlan};
use super::run_record::take_snapshot_blocking;
use super::snapshots::AttemptSnapshots;
use crate::verify::{
    CheckCache, CheckContext, ClaimVerifier, SealMonitor, SubmittedClaim, VerificationControl, VerificationPreparation,
};
use ralph_agents::replay_output::read_output_claim;
use ralph_agents::{FilterError, GracefulSignal, PriorUsage, parser_for_format};
use ralph_process::{JobCommand, Keeper, LogBudget, RawLog, TerminationSignal};
use ralph_util::failpoints::{self, FailPoint};

/// How long the processes of an agent may take to exit after a kill.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct EffectRunner {
    pub(super) plan: Arc<RunPlan>,
    /// When the running agent last printed something.
    pub(super) activity: ActivityClock,
    /// When it last reported that it retries a failed request.
    pub(super) retry_activity: ActivityClock,
    keeper: Keeper,
    log_budget: LogBudget,
    messages: mpsc::UnboundedSender<DriverMessage>,
    display_updates: mpsc::Sender<DisplayUpdate>,
    running: Option<RunningWork>,
    /// The next start, prepared while it is being stored.
    prepared_start: Option<PreparedStart>,
    /// The current agent: 0 is the preferred one, the fallbacks follow.
    agent_number: u32,
    /// The spending of the run when the agent was started.
    pub(super) spent_before: ModelSpend,
    /// The usage of the shared budgets by other runs.
    pub(super) others_used: Vec<BudgetUsage>,
    /// The account in which the worker of this run counts its cost.
    pub(super) cost_account: Option<CostAccount>,
    /// The variables without a value that were already reported.
    reported_variables: BTreeSet<String>,
    check_cache: CheckCache,
    /// Detects changes by the agent, if the policy needs that.
    change_detector: Option<ChangeDetector>,
    /// Saves the work after every attempt, if the run has a work tree that ralph created.
    snapshots: Option<AttemptSnapshots>,
    /// The scan of the work tree before the attempt.
    tree_before: Option<JoinHandle<TreeScan>>,
    /// The number of the iteration and the notes at its start.
    iteration_notes: (u32, String),
    /// The agent's final message in that attempt.
    last_reading: Option<(AttemptKey, ClaimReading)>,
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

/// A prepared start, or the reason why the agent cannot be started.
struct PreparedStart {
    key: AttemptKey,
    launch: Result<AgentLaunch, String>,
}

struct AgentLaunch {
    prompt: String,
    session_request: SessionRequest,
    job: AgentJob,
}

/// The running agent, or the running checks.
struct RunningWork {
    commands: mpsc::UnboundedSender<JobCommand>,
    abort_handle: AbortHandle,
    /// Ends after the work, and reports a panic of it.
    panic_monitor: JoinHandle<()>,
}

impl EffectRunner {
    pub(super) fn new(
        plan: RunPlan,
        keeper: Keeper,
        cost_account: Option<CostAccount>,
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
            last_reading: None,
        }
    }

    /// Prepares a start while it is being stored. Only reads: nothing is started.
    pub(super) fn prepare_start(&mut self, start: &AgentStart) {
        self.tree_before = self.change_detector.clone().map(|detector| spawn_blocking(move || detector.scan_tree()));
        self.prepared_start = Some(PreparedStart { key: start.key, launch: self.build_launch(start) });
    }

    fn build_launch(&mut self, start: &AgentStart) -> Result<AgentLaunch, String> {
        let AgentStart { key, plan, nonce, guidance, session, agent } = start;
        self.read_notes(key.iteration);
        let context = PromptContext { iteration: key.iteration, notes: &self.iteration_notes.1, guidance };
        let ExpandedPrompt { text: prompt, unknown_variables } = self
            .plan
            .render_prompt(plan, nonce.as_ref(), context)
            .map_err(|error| format!("the prompt cannot be read: {error}"))?;
        self.warn_unknown_variables(unknown_variables);
        let choice = self.plan.agent_at(*agent);
        let session_request = choice.session_request(session.as_ref().map(|session| session.id.clone()));
        let job = self.plan.build_agent_job(choice, &prompt, &session_request);
        let job = job.map_err(|error| format!("cannot find the agent's program: {error}"))?;
        Ok(AgentLaunch { prompt, session_request, job })
    }

    pub(super) fn start_agent(&mut self, start: AgentStart) {
        if self.prepared_start.as_ref().is_none_or(|prepared| prepared.key != start.key) {
            self.prepare_start(&start);
        }
        let AgentStart { key, nonce, session, agent, .. } = start;
        self.agent_number = agent;
        let AgentLaunch { prompt, session_request, job } =
            match self.prepared_start.take().map(|prepared| prepared.launch) {
                Some(Ok(launch)) => launch,
                Some(Err(reason)) => return self.report_not_started(key, reason),
                None => return,
            };
        let session_spend = session.map(|session| session.spent);
        (self.activity, self.retry_activity) = (ActivityClock::new(), ActivityClock::new());
        let resume_id = session_request.resume_id.clone();
        let conversation = self.plan.build_conversation(self.plan.agent_at(agent), &prompt, resume_id);
        let finder = ClaimFinder::new(self.plan.claim_rules_with_nonce(nonce), &prompt);
        match self.attempt_io(key, session_request, session_spend, finder) {
            Ok(mut io) => {
                io.reader.parser().start_conversation(conversation);
                self.launch_attempt(key, job, io);
            }
            Err(error) => self.report_not_started(key, format!("cannot use a filter: {error}")),
        }
    }

    /// Reads the notes once for all attempts of an iteration: a retry gets the same prompt.
    fn read_notes(&mut self, iteration: u32) {
        if self.iteration_notes.0 == iteration {
            return;
        }
        let path = self.plan.project.notes_file(&self.plan.id);
        let text = run_notes::read_tail(&path).unwrap_or_else(|error| {
            let text = format!("cannot read the notes {}: {error}", path.display());
            let _ = self.messages.send(DriverMessage::Warning(text));
            String::new()
        });
        self.iteration_notes = (iteration, text);
    }

    /// Warns about variables without a value, once for each.
    fn warn_unknown_variables(&mut self, unknown: Vec<String>) {
        let new: Vec<String> = unknown
            .into_iter()
            .filter(|name| self.reported_variables.insert(name.clone()))
            .map(|name| format!("${name}"))
            .collect();
        if !new.is_empty() {
            let text = format!("variables in the prompt without a value are empty: {}", new.join(", "));
            let _ = self.messages.send(DriverMessage::Warning(text));
        }
    }

    fn launch_attempt(&mut self, key: AttemptKey, job: AgentJob, io: AttemptIo) {
        let AttemptKey { iteration, attempt } = key;
        tracing::debug!(iteration, attempt, program = %job.spec.program.display(), "starts the agent");
        let (command_sender, commands) = mpsc::unbounded_channel();
        let (keeper, messages) = (self.keeper.clone(), self.messages.clone());
        let (change_detector, scan) = (self.change_detector.clone(), self.tree_before.take());
        let snapshots = self.snapshots.clone();
        let work = async move {
            let tree_before = match scan {
                Some(scan) => scan.await.ok().flatten(),
                None => None,
            };
            let mut report = attempt_runner::run_attempt(keeper, job, io, commands).await;
            report.has_moved = detect_change(change_detector, tree_before).await;
            let warning = match snapshots {
                Some(snapshots) => snapshots.save_after_attempt(key).await,
                None => None,
            };
            warning.into_iter().for_each(|warning| drop(messages.send(DriverMessage::Warning(warning))));
            let _ = messages.send(DriverMessage::AttemptEnded(key, report));
        };
        self.running = Some(self.spawn_work(key, command_sender, work));
    }

    /// Spawns the work as a task. A panic in it is reported to the rules, which would otherwise wait forever.
    fn spawn_work(
        &self,
        key: AttemptKey,
        commands: mpsc::UnboundedSender<JobCommand>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> RunningWork {
        let messages = self.messages.clone();
        let task = tokio::spawn(work);
        let abort_handle = task.abort_handle();
        let panic_monitor = tokio::spawn(async move {
            if let Err(error) = task.await
                && let Ok(panic) = error.try_into_panic()
            {
                let _ = messages.send(DriverMessage::Panicked(key, panic_message(panic.as_ref())));
            }
        });
        RunningWork { commands, abort_handle, panic_monitor }
    }

    /// Records the spending of the run in the worker's ledger.
    pub(super) fn record_cost(&self, spent: ModelSpend) {
        if let Some(account) = &self.cost_account {
            account.record_spend(spent);
        }
    }

    fn attempt_io(
        &self,
        key: AttemptKey,
        session_request: SessionRequest,
        session_spend: Option<ModelSpend>,
        finder: ClaimFinder,
    ) -> Result<AttemptIo, FilterError> {
        let name = attempt_log_name(key);
        Ok(AttemptIo {
            key,
            adapter: self.current_agent().adapter,
            format: self.current_agent().output_format(),
            session_request,
            remaining_budget: RemainingBudget::new(
                &self.plan.policy,
                self.spent_before,
                &self.others_used,
                self.cost_account.clone(),
            ),
            usage_file: self.plan.usage_file_path(self.current_agent()),
            reader: self.output_reader(session_spend)?,
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

    /// Returns the agent of the current or last attempt.
    pub(super) fn current_agent(&self) -> &AgentChoice {
        self.plan.agent_at(self.agent_number)
    }

    /// Returns a log of the agent's output, which is copied to the session log if there is one.
    fn raw_log(&self, name: String) -> RawLog {
        let folder = self.plan.project.run_folder(&self.plan.id);
        RawLog::new(folder.join(name), &self.log_budget).with_session_log(self.plan.session_log.clone())
    }

    /// `session_spend` is the earlier usage of a resumed session.
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

    /// Starts the display filter, unless the output is hidden.
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

    /// Remembers what the agent said last: it may be a claim that is verified.
    pub(super) fn remember_reading(&mut self, key: AttemptKey, report: &AttemptReport) {
        self.last_reading = Some((key, report.reading.clone()));
    }

    /// Returns the agent's claim. A resumed run reads it again from the log.
    fn build_claim(&self, key: AttemptKey) -> SubmittedClaim {
        let name = format!("{}.ndjson", attempt_log_name(key));
        let output = self.plan.project.run_folder(&self.plan.id).join(name);
        let reading = match &self.last_reading {
            Some((attempt, reading)) if *attempt == key => Some(reading.clone()),
            Some(_) | None => self.reread_output(&output),
        };
        let promise = self.plan.claim_rules.promise.as_str().to_owned();
        SubmittedClaim::from_reading(promise, reading, output)
    }

    /// Reads the final message from the log; `None` if the log cannot be read, which proves nothing.
    fn reread_output(&self, output: &Path) -> Option<ClaimReading> {
        let mut file = File::open(output).ok()?;
        let format = self.current_agent().output_format();
        read_output_claim(format, self.plan.claim_rules.clone(), "", &mut file).ok()
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
            task_base: self.plan.own_worktree.as_ref().map(|assigned| assigned.worktree.base.clone()),
            sealer: self.plan.build_sealer(),
        }
    }

    /// Runs the external checks once, and seals afterwards, so that their output does not count as a change by the agent.
    pub(super) fn start_preparation(&mut self, round: u32, baseline: BaselineMode) {
        let context = self.check_context(round_log_name("baseline".to_owned(), round), SubmittedClaim::default());
        let verifier = self.claim_verifier();
        let (command_sender, commands) = mpsc::unbounded_channel();
        let messages = self.messages.clone();
        let work = async move {
            failpoints::reach_fail_point(FailPoint::PrepareStarted);
            let VerificationPreparation { sealing, baseline } = verifier.prepare(context, baseline, commands).await;
            let _ = messages.send(DriverMessage::Prepared(sealing, baseline));
        };
        self.running = Some(self.spawn_work(AttemptKey::PREPARATION, command_sender, work));
    }

    pub(super) fn start_checks(&mut self, key: AttemptKey, round: u32, seal: Option<Seal>) {
        let context = self.check_context(round_log_name(attempt_log_name(key), round), self.build_claim(key));
        let verifier = self.claim_verifier();
        let (command_sender, commands) = mpsc::unbounded_channel();
        let messages = self.messages.clone();
        let root = self.plan.project.root.clone();
        let isolation = self.plan.acceptance.isolation;
        let work = async move {
            failpoints::reach_fail_point(FailPoint::VerifyStarted);
            let control = &mut VerificationControl::new(commands);
            let evidence = match verifier.verify_seal(seal, control).await {
                Err(broken) => broken,
                Ok(unbroken) => {
                    let taken = control.run_blocking(move || take_snapshot_blocking(&root, isolation)).await.flatten();
                    let _ = messages.send(DriverMessage::SnapshotTaken(taken));
                    unbroken.verify_claim(context, control).await
                }
            };
            let _ = messages.send(DriverMessage::Verified(key, evidence));
        };
        self.running = Some(self.spawn_work(key, command_sender, work));
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

    /// Sends a command to the running agent or checks. Returns whether something is running.
    pub(super) fn send_command(&mut self, command: JobCommand) -> bool {
        self.running.as_ref().is_some_and(|running| running.commands.send(command).is_ok())
    }

    pub(super) fn abort_running(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort_handle.abort();
        }
    }

    /// Kills the running agent or checks after an error, when their result can no longer be recorded.
    pub(super) async fn kill_and_wait(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.commands.send(JobCommand::Kill);
            let _ = tokio::time::timeout(KILL_TIMEOUT, running.panic_monitor).await;
            running.abort_handle.abort();
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message").to_owned()
}

impl Drop for EffectRunner {
    fn drop(&mut self) {
        self.abort_running();
    }
}

/// Returns the common prefix of an attempt's log file names.
#[must_use]
pub fn attempt_log_name(key: AttemptKey) -> String {
    match key.attempt {
        1 => format!("iteration-{:03}", key.iteration),
        attempt => format!("iteration-{:03}-attempt-{attempt}", key.iteration),
    }
}

/// Returns the common prefix of the checks' log file names. Later rounds do not overwrite the logs of earlier ones.
fn round_log_name(name: String, round: u32) -> String {
    match round {
        1 => name,
        round => format!("{name}-round-{round}"),
    }
}
