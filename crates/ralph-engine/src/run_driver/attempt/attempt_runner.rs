//! Runs the attempts of a run: prepares the start of an agent, runs it, and reports how it ended. Knows nothing of the loop.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ralph_core::attempt::{AttemptReport, ModelSpend, RetryAdvice};
use ralph_core::claim::ClaimFinder;
use ralph_core::effect::AgentStart;
use ralph_core::event::AttemptKey;
use ralph_core::prompt_variables::ExpandedPrompt;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use super::activity_clock::ActivityClock;
use super::agent_process::{not_started_report, run_agent_process};
use super::attempt_io::{AttemptIo, SessionRequest};
use super::attempt_output::{AttemptOutputReader, FilteredDisplay};
use super::change_detector::{ChangeDetector, TreeScan, detect_change};
use super::driver_message::{DisplayUpdate, DriverMessage};
use super::filter_process::FilterProcess;
use super::remaining_budget::RemainingBudget;
use super::snapshots::AttemptSnapshots;
use crate::run_driver::plan::agent_choice::{AgentChoice, AgentJob};
use crate::run_driver::plan::run_context::OutputVisibility;
use crate::run_driver::plan::run_notes;
use crate::run_driver::plan::run_plan::{PromptContext, RunPlan};
use ralph_agents::{FilterError, PriorUsage, parser_for_format};
use ralph_process::{JobCommand, Keeper, LogBudget, RawLog, with_cancel_flag};

/// Runs one attempt after the other.
pub struct AttemptRunner {
    plan: Arc<RunPlan>,
    keeper: Keeper,
    log_budget: LogBudget,
    channels: AttemptChannels,
    /// When the running agent last printed something.
    pub(in crate::run_driver) activity: ActivityClock,
    /// When it last reported that it retries a failed request.
    pub(in crate::run_driver) retry_activity: ActivityClock,
    /// The next start, prepared while it is being stored.
    prepared_start: Option<PreparedStart>,
    /// The current agent: 0 is the preferred one, the fallbacks follow.
    agent_number: u32,
    /// The variables without a value that were already reported.
    reported_variables: BTreeSet<String>,
    /// Cancels the reads of the work tree before and after the running attempt.
    pub(in crate::run_driver) cancel_flag: Arc<AtomicBool>,
    /// Detects changes by the agent, if the policy needs that.
    change_detector: Option<ChangeDetector>,
    /// Saves the work after every attempt, if the run has a work tree that ralph created.
    snapshots: Option<AttemptSnapshots>,
    /// The number of the iteration and the notes at its start.
    iteration_notes: (u32, String),
}

/// Where an attempt reports to while it runs: what the agent does, and what a screen shows of it.
#[derive(Debug, Clone)]
pub struct AttemptChannels {
    pub messages: mpsc::UnboundedSender<DriverMessage>,
    pub display_updates: mpsc::Sender<DisplayUpdate>,
}

/// One attempt to run.
pub struct AttemptRequest {
    pub start: AgentStart,
    pub budget: RemainingBudget,
}

/// A prepared start, or the reason why the agent cannot be started.
struct PreparedStart {
    key: AttemptKey,
    launch: Result<AgentLaunch, String>,
    /// The scan of the work tree before the attempt.
    tree_before: Option<JoinHandle<TreeScan>>,
}

struct AgentLaunch {
    prompt: String,
    session_request: SessionRequest,
    job: AgentJob,
}

/// An agent that can be started.
struct ReadyAttempt {
    keeper: Keeper,
    job: AgentJob,
    io: AttemptIo,
    change_detector: Option<ChangeDetector>,
    tree_before: Option<JoinHandle<TreeScan>>,
    snapshots: Option<AttemptSnapshots>,
    cancel_flag: Arc<AtomicBool>,
}

impl AttemptRunner {
    /// The folder of the run, in which the logs are written, must exist.
    #[must_use]
    pub fn new(plan: Arc<RunPlan>, keeper: Keeper, log_budget: LogBudget, channels: AttemptChannels) -> Self {
        let has_stall_limit = plan.spec.policy.stall_after > 0;
        Self {
            change_detector: has_stall_limit.then(|| ChangeDetector::for_project(&plan.context.project)),
            snapshots: AttemptSnapshots::for_context(&plan.context),
            plan,
            keeper,
            log_budget,
            channels,
            activity: ActivityClock::new(),
            retry_activity: ActivityClock::new(),
            prepared_start: None,
            cancel_flag: Arc::default(),
            agent_number: 0,
            reported_variables: BTreeSet::new(),
            iteration_notes: (0, String::new()),
        }
    }

    /// Reads what a start needs: the notes, the prompt, the agent's program, the files before it. Nothing is started, so
    /// this may happen while the start is still being stored.
    pub fn prepare(&mut self, start: &AgentStart) {
        let cancel_flag = Arc::clone(&self.cancel_flag);
        let scan = self.change_detector.clone();
        let scan = scan.map(|detector| spawn_blocking(|| with_cancel_flag(cancel_flag, move || detector.scan_tree())));
        let launch = self.build_launch(start);
        self.prepared_start = Some(PreparedStart { key: start.key, launch, tree_before: scan });
    }

    /// Runs an attempt to its end, when all processes of the agent have exited. Commands stop or pause it.
    pub fn run(
        &mut self,
        request: AttemptRequest,
        commands: mpsc::UnboundedReceiver<JobCommand>,
    ) -> impl Future<Output = Box<AttemptReport>> + Send + use<> {
        let ready = self.ready_attempt(request);
        async move {
            match ready {
                Ok(ready) => ready.run(commands).await,
                Err(reason) => Box::new(not_started_report(reason, RetryAdvice::None)),
            }
        }
    }

    /// Returns the agent of the current or last attempt.
    pub fn current_agent(&self) -> &AgentChoice {
        self.plan.context.agent_at(self.agent_number)
    }

    fn ready_attempt(&mut self, request: AttemptRequest) -> Result<ReadyAttempt, String> {
        let AttemptRequest { start, budget } = request;
        if self.prepared_start.as_ref().is_none_or(|prepared| prepared.key != start.key) {
            self.prepare(&start);
        }
        let Some(PreparedStart { launch, tree_before, .. }) = self.prepared_start.take() else {
            return Err("the start was not prepared".to_owned());
        };
        self.agent_number = start.agent;
        let AgentLaunch { prompt, session_request, job } = launch?;
        self.log_prompt(start.key, &prompt);
        (self.activity, self.retry_activity) = (ActivityClock::new(), ActivityClock::new());
        let resume_id = session_request.resume_id.clone();
        let conversation = self.plan.context.build_conversation(self.current_agent(), &prompt, resume_id);
        let finder = ClaimFinder::new(self.plan.spec.claim_rules_with_nonce(start.nonce), &prompt);
        let reader = self.output_reader(start.session.map(|session| session.spent));
        let filters = reader.and_then(|reader| Ok((reader, self.display_filter()?)));
        let (mut reader, display) = filters.map_err(|error| format!("cannot use a filter: {error}"))?;
        reader.parser().start_conversation(conversation);
        let name = attempt_log_name(start.key);
        let io = AttemptIo {
            key: start.key,
            adapter: self.current_agent().adapter,
            format: self.current_agent().output_format(),
            session_request,
            remaining_budget: budget,
            usage_file: self.plan.context.usage_file_path(self.current_agent()),
            reader,
            display,
            claim_finder: finder,
            stdout_log: self.raw_log(format!("{name}.ndjson")),
            stderr_log: self.raw_log(format!("{name}.stderr")),
            activity: self.activity.clone(),
            retry_activity: self.retry_activity.clone(),
            messages: self.channels.messages.clone(),
            display_updates: self.channels.display_updates.clone(),
        };
        let (keeper, change_detector) = (self.keeper.clone(), self.change_detector.clone());
        let (snapshots, cancel_flag) = (self.snapshots.clone(), Arc::clone(&self.cancel_flag));
        Ok(ReadyAttempt { keeper, job, io, change_detector, tree_before, snapshots, cancel_flag })
    }

    fn build_launch(&mut self, start: &AgentStart) -> Result<AgentLaunch, String> {
        let AgentStart { key, plan, nonce, max_iterations, guidance, standing_guidance, session, agent } = start;
        self.read_notes(key.iteration);
        let context = PromptContext {
            iteration: key.iteration,
            max_iterations: *max_iterations,
            notes: &self.iteration_notes.1,
            guidance,
            standing_guidance,
        };
        let ExpandedPrompt { text: prompt, unknown_variables } = self
            .plan
            .render_prompt(plan, nonce.as_ref(), context)
            .map_err(|error| format!("the prompt cannot be read: {error}"))?;
        self.warn_unknown_variables(unknown_variables);
        let choice = self.plan.context.agent_at(*agent);
        let session_request = choice.session_request(session.as_ref().map(|session| session.id.clone()));
        let job = self.plan.build_agent_job(choice, &prompt, &session_request);
        let job = job.map_err(|error| format!("cannot find the agent's program: {error}"))?;
        Ok(AgentLaunch { prompt, session_request, job })
    }

    /// Stores the prompt as it is sent, without secrets. A write error is a warning: the attempt does not need the file.
    fn log_prompt(&self, key: AttemptKey, prompt: &str) {
        let folder = self.plan.context.project.run_folder(&self.plan.context.id);
        let mut log = RawLog::new(folder.join(prompt_log_name(key)), &self.log_budget);
        log.write(&mut prompt.as_bytes().to_vec());
        if let Some(warning) = log.finish() {
            let _ = self.channels.messages.send(DriverMessage::Warning(warning));
        }
    }

    /// Reads the notes once for all attempts of an iteration: a retry gets the same prompt.
    fn read_notes(&mut self, iteration: u32) {
        if self.iteration_notes.0 == iteration {
            return;
        }
        let path = self.plan.context.project.notes_file(&self.plan.context.id);
        let text = run_notes::read_tail(&path).unwrap_or_else(|error| {
            let text = format!("cannot read the notes {}: {error}", path.display());
            let _ = self.channels.messages.send(DriverMessage::Warning(text));
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
            let _ = self.channels.messages.send(DriverMessage::Warning(text));
        }
    }

    /// Returns a log of the agent's output, which is copied to the session log if there is one.
    fn raw_log(&self, name: String) -> RawLog {
        let folder = self.plan.context.project.run_folder(&self.plan.context.id);
        RawLog::new(folder.join(name), &self.log_budget).with_session_log(self.plan.context.session_log.clone())
    }

    /// `session_spend` is the earlier usage of a resumed session.
    fn output_reader(&self, session_spend: Option<ModelSpend>) -> Result<AttemptOutputReader, FilterError> {
        let mut parser = parser_for_format(self.current_agent().output_format());
        match self.plan.context.visibility {
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
        let filter = filter.filter(|_| self.plan.context.visibility == OutputVisibility::Shown);
        Ok(filter.map(|filter| FilteredDisplay::new(self.start_filter(&filter))))
    }

    fn start_filter(&self, filter: &str) -> FilterProcess {
        FilterProcess::start(self.keeper.clone(), &self.plan.context.id, filter)
    }
}

impl ReadyAttempt {
    async fn run(self, commands: mpsc::UnboundedReceiver<JobCommand>) -> Box<AttemptReport> {
        let Self { keeper, job, io, change_detector, tree_before, snapshots, cancel_flag } = self;
        let (key, messages) = (io.key, io.messages.clone());
        let AttemptKey { iteration, attempt } = key;
        tracing::debug!(iteration, attempt, program = %job.spec.program.display(), "starts the agent");
        let tree_before = match tree_before {
            Some(scan) => scan.await.ok().flatten(),
            None => None,
        };
        let mut report = run_agent_process(keeper, job, io, commands).await;
        report.has_changed_files = detect_change(change_detector, tree_before, Arc::clone(&cancel_flag)).await;
        let warning = match snapshots {
            Some(snapshots) => snapshots.save_after_attempt(key, cancel_flag).await,
            None => None,
        };
        warning.into_iter().for_each(|warning| drop(messages.send(DriverMessage::Warning(warning))));
        report
    }
}

/// Returns the name of the file with the prompt of an attempt.
#[must_use]
pub fn prompt_log_name(key: AttemptKey) -> String {
    format!("{}.prompt", attempt_log_name(key))
}

/// Returns the common prefix of an attempt's log file names.
#[must_use]
pub fn attempt_log_name(key: AttemptKey) -> String {
    match key.attempt {
        1 => format!("iteration-{:03}", key.iteration),
        attempt => format!("iteration-{:03}-attempt-{attempt}", key.iteration),
    }
}
