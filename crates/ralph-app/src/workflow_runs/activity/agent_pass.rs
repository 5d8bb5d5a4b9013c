//! One run of an agent for a node. It is an ordinary run of ralph, with its own journal, limits and recovery.
use std::fs::File;
use std::sync::Arc;

use ralph_agents::replay_output::read_final_message;
use ralph_core::attempt::ModelSpend;
use ralph_core::claim::{ContradictionSearch, PlainLinePolicy, Promise};
use ralph_core::criterion::Criterion;
use ralph_core::event::AttemptKey;
use ralph_core::loop_state::{AgentSession, LoopState};
use ralph_core::outcome::RunEnd;
use ralph_core::policy::{
    BaselineMode, ContextMode, ExhaustionPolicy, IterationStepping, MinimumProof, NonceUse, Policy,
};
use ralph_core::receipt::ProofLevel;
use ralph_core::workflow::AgentOptions;
use ralph_engine::run_driver::{
    self, AgentChoice, Clock, ControlEvent, ControlInput, EngineError, JudgeChoice, NODE_RUN_KIND, PromptSource,
    ResumedRun, RunContext, RunLease, RunPlan, RunResources, RunSpec, StartMode, StoredAgent, StoredJudge,
    WorkflowNode, attempt_log_name,
};
use ralph_engine::verify::AcceptancePolicy;
use ralph_store::{RunRow, StoredRun, TakeoverGuard};
use ralph_util::{private_files, redact};
use tokio::sync::mpsc::UnboundedReceiver;

use super::agent_node::describe;
use super::pass_observer::PassObserver;
use super::{ActivityRunner, ReadyActivity, SessionChoice};
use crate::error::{AppError, AppResult, ErrorKind};
use crate::plan::{AgentAccess, PlanRequest, build_default_plan, preflight_resumed_run, preflight_run};
use crate::run::{CompletionRecord, ResumeRequest, kill_leftover_processes};
use crate::workflow_runs::agents::{cannot_fork_error, has_agent_options, option_args};
use crate::workflow_runs::kept_guidance::copy_kept_guidance;

/// The work for an agent.
pub(super) struct PassRequest<'a> {
    pub ready: &'a ReadyActivity,
    /// Names the run among those of the workflow run.
    pub label: String,
    pub prompt: String,
    pub options: &'a AgentOptions,
    pub loop_rules: Option<LoopRules>,
    /// The session to continue, if there is one.
    pub session: Option<PassSession>,
}

/// The rules of a pass that is a loop.
#[derive(Debug, Clone)]
pub(super) struct LoopRules {
    pub promise: Option<Promise>,
    pub max_iterations: u32,
    pub checks: Vec<Criterion>,
    pub is_fresh_context: bool,
    pub stepping: IterationStepping,
    /// Whether iterations without a change end the loop.
    pub may_stall: bool,
}

/// A session of an earlier pass.
#[derive(Debug, Clone)]
pub(super) struct PassSession {
    pub session: AgentSession,
    pub is_fork: bool,
}

/// A run of an agent that has ended, or that waits before its next iteration.
pub(super) struct EndedPass {
    pub run: String,
    pub end: RunEnd,
    pub state: LoopState,
    pub iterations: u32,
    /// The agent's last message, all of it.
    pub output: String,
    pub proof: Option<ProofLevel>,
}

/// A run whose lock is held.
struct StartedPass {
    plan: RunPlan,
    mode: StartMode,
    lease: RunLease,
    /// The spend of the run before this process drove it.
    spent_before: ModelSpend,
}

/// A promise that no agent prints: a node without `until` does not end by a claim.
const NO_PROMISE: &str = "ralph: this node has no completion signal";

impl ActivityRunner {
    /// Runs an agent to its end, or resumes the run that an earlier process started for the same activity.
    pub(super) async fn run_pass(
        &self,
        request: PassRequest<'_>,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<EndedPass> {
        if request.ready.is_recovery
            && let Some((row, stored)) = self.find_interrupted_pass(request.ready).await?
        {
            return match stored.state.can_resume() {
                true => self.resume_pass(row, stored, None, control).await,
                false => self.load_ended_pass(&row.id, None).await,
            };
        }
        let request = self.add_guidance(request).await?;
        let plan = self.plan_pass(&request)?;
        copy_kept_guidance(&self.services.host.store, &self.services.host.root, &plan.context.id).await?;
        self.drive_pass(plan, StartMode::New, ModelSpend::default(), control).await
    }

    /// Returns the run that the activity before a recovery has left: one that can be resumed, or one that ended before its
    /// result was stored.
    pub(super) async fn find_interrupted_pass(&self, ready: &ReadyActivity) -> AppResult<Option<(RunRow, StoredRun)>> {
        let Some((row, stored)) = self.find_newest_pass(&ready.node).await? else { return Ok(None) };
        let is_of_last_activity = workflow_node(&row).is_some_and(|node| is_previous(&node.activity, &ready.label));
        Ok((stored.state.can_resume() || is_of_last_activity).then_some((row, stored)))
    }

    /// Returns the newest run of a node.
    pub(super) async fn find_newest_pass(&self, node: &str) -> AppResult<Option<(RunRow, StoredRun)>> {
        let store = &self.services.host.store;
        let passes = store.passes_of_workflow_run(&self.services.run).await?;
        let is_of_node = |row: &RunRow| workflow_node(row).is_some_and(|found| found.node == node);
        let Some(row) = passes.into_iter().rev().find(is_of_node) else { return Ok(None) };
        let stored = store.load_run(&row.id).await?;
        Ok(Some((row, stored)))
    }

    /// Resumes a run, with another prompt if the workflow has one for its next iteration.
    pub(super) async fn resume_pass(
        &self,
        row: RunRow,
        stored: StoredRun,
        prompt: Option<String>,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<EndedPass> {
        let host = &self.services.host;
        let request = ResumeRequest { config: &host.config, visibility: host.visibility, person: host.person.as_ref() };
        let mut plan = request.rebuild_plan(&row, &stored, &self.services.project)?.plan;
        preflight_resumed_run(&plan)?;
        if let Some(prompt) = prompt {
            plan.spec.prompt = PromptSource::Complete(prompt);
        }
        let spent_before = host.budget.spent_before_process(&row.id, stored.state.spent);
        host.budget.limit_policy(&mut plan.spec.policy, spent_before);
        let settings = plan.spec.to_stored_json().map_err(|source| EngineError::RunSpec { source })?;
        let lease = RunLease::acquire_in_own_worktree(&plan.context, Clock::wall_now()).await?;
        let owner = lease.owner().to_json();
        let mut stored = host.store.take_over_run(&row.id, &owner, &settings, TakeoverGuard::Unguarded).await?;
        kill_leftover_processes(&row.id, host.person.as_ref());
        host.budget.limit_policy(&mut stored.state.policy, spent_before);
        let mode = StartMode::Recovered(Box::new(ResumedRun { stored_run: stored, changes: Vec::new() }));
        self.drive_started(StartedPass { plan, mode, lease, spent_before }, control).await
    }

    async fn drive_pass(
        &self,
        plan: RunPlan,
        mode: StartMode,
        spent_before: ModelSpend,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<EndedPass> {
        let lease = RunLease::acquire_in_own_worktree(&plan.context, Clock::wall_now()).await?;
        self.drive_started(StartedPass { plan, mode, lease, spent_before }, control).await
    }

    async fn drive_started(
        &self,
        started: StartedPass,
        control: UnboundedReceiver<ControlEvent>,
    ) -> AppResult<EndedPass> {
        let StartedPass { plan, mode, lease, spent_before } = started;
        let host = &self.services.host;
        let run = plan.context.id.clone();
        // A run that starts now has spent nothing before; a loop is driven again by this process.
        let spent_before = host.budget.spent_before_process(&run, spent_before);
        let node = plan.spec.workflow_node.as_ref().map(|node| node.node.clone()).unwrap_or_default();
        let is_loop = plan.spec.claim_rules.plain == PlainLinePolicy::Accepted;
        let loop_limit = is_loop.then_some(plan.spec.policy.max_iterations);
        let mut observer = PassObserver { services: Arc::clone(&self.services), node, loop_limit };
        let resources = RunResources {
            keeper: host.keeper.clone(),
            lease,
            store: Arc::clone(&host.store),
            control: ControlInput::Channel(control),
            cost_account: Some(host.budget.open_account(&run, spent_before)),
        };
        let end = run_driver::run_loop(plan, mode, resources, &mut observer).await?;
        self.load_ended_pass(&run, Some(end)).await
    }

    /// Loads what a run has left.
    pub(super) async fn load_ended_pass(&self, run: &str, end: Option<RunEnd>) -> AppResult<EndedPass> {
        let store = &self.services.host.store;
        let state = store.load_run(run).await?.state;
        let end = end.or_else(|| state.run_end().cloned());
        let end = end.unwrap_or_else(|| RunEnd::internal_fault("a run of a node has no end"));
        let proof = CompletionRecord::load(store, run).await?.map(|completion| completion.proof.level);
        let row = store.find_runs_by_id_part(run).await?.into_iter().find(|row| row.id == run);
        let iterations = row.as_ref().map_or(0, |row| u32::try_from(row.iterations).unwrap_or(u32::MAX));
        let output = self.read_output(run, row.as_ref(), &state).await?;
        Ok(EndedPass { run: run.to_owned(), end, state, iterations, output, proof })
    }

    /// Reads the agent's last message from the raw log. With a response filter only its recorded end is known.
    async fn read_output(&self, run: &str, row: Option<&RunRow>, state: &LoopState) -> AppResult<String> {
        let store = &self.services.host.store;
        let recorded = store.last_agent_message(run).await?;
        let Some(spec) = row.and_then(|row| RunSpec::parse(&row.settings).ok()) else { return Ok(recorded) };
        let agents = std::iter::once(&spec.agent).chain(&spec.fallback);
        let Some(agent) = agents.into_iter().nth(state.limits.agent as usize) else { return Ok(recorded) };
        let Ok(choice) = agent.to_choice(Vec::new()) else { return Ok(recorded) };
        let preset = choice.preset();
        if preset.response_filter.is_some() {
            return Ok(recorded);
        }
        let Some(last) = store.attempts_of_run(run).await?.pop() else { return Ok(recorded) };
        let number = |value: i64| u32::try_from(value).unwrap_or(u32::MAX);
        let key = AttemptKey { iteration: number(last.iteration), attempt: number(last.number) };
        let path = self.services.project.run_folder(run).join(format!("{}.ndjson", attempt_log_name(key)));
        let read = private_files::open_regular_file(&path)
            .and_then(|mut file: File| read_final_message(preset.output_format, &mut file));
        Ok(match read {
            Ok(text) if !text.is_empty() => redact::redact_text(&text).into_owned(),
            Ok(_) | Err(_) => recorded,
        })
    }

    /// Returns the session that a node continues, if there is one.
    pub(super) async fn find_session(&self, ready: &ReadyActivity) -> AppResult<Option<PassSession>> {
        let (node, is_fork) = match &ready.session {
            SessionChoice::Fresh => return Ok(None),
            SessionChoice::Continue { node } => (node, false),
            SessionChoice::Fork { node } => (node, true),
        };
        let Some((_, StoredRun { state, .. })) = self.find_newest_pass(node).await? else { return Ok(None) };
        // A session of a fallback agent belongs to another program.
        let session = state.session.filter(|_| state.limits.agent == 0);
        Ok(session.map(|session| PassSession { session, is_fork }))
    }

    fn plan_pass(&self, request: &PassRequest<'_>) -> AppResult<RunPlan> {
        let (services, host) = (&self.services, &self.services.host);
        let spec = &services.spec;
        let stored = request.ready.definition.id.as_str();
        let mut agent = self.restore_agent(spec.agents.get(stored).unwrap_or(&spec.default_agent))?;
        let options = option_args(agent.adapter, request.options)?;
        options.notes.iter().for_each(|note| services.warn(&format!("{}: {note}", request.ready.node)));
        agent.extra_args.extend(options.args);
        if request.session.as_ref().is_some_and(|session| session.is_fork) {
            let fork = agent.adapter.fork_args().ok_or_else(|| cannot_fork_error(&agent.name))?;
            agent.extra_args.extend(fork.iter().map(|&arg| arg.to_owned()));
        }
        let settings = &host.settings;
        let rules = request.loop_rules.clone();
        let promise = rules.as_ref().and_then(|rules| rules.promise.clone());
        let promise = match promise {
            Some(promise) => promise,
            None => Promise::parse(NO_PROMISE).map_err(|error| AppError::internal(&error))?,
        };
        let plan = build_default_plan(
            PlanRequest {
                settings,
                extra_agent_args: Vec::new(),
                visibility: host.visibility,
                promise,
                prompt: PromptSource::Complete(request.prompt.clone()),
                checks: rules.as_ref().map(|rules| rules.checks.clone()).unwrap_or_default(),
                max_iterations: rules.as_ref().map_or(1, |rules| rules.max_iterations),
                access: AgentAccess::AgentDefault,
            },
            services.project.clone(),
        )?;
        let mut plan = self.with_node_rules(plan, request, rules.as_ref());
        // The agent of the node was chosen before the commands of the project were known.
        agent.work_scope.clone_from(&plan.context.agent.work_scope);
        plan.spec.agent = StoredAgent::from_choice(&agent);
        plan.spec.policy.rate_limits.agents =
            std::iter::once(&agent).chain(&plan.context.fallback).map(|agent| agent.name.clone()).collect();
        plan.context.agent = agent;
        if let (Some(planned), Some(judge)) = (&plan.context.judge, self.restore_judge().map_err(AppError::preflight)?)
        {
            let judge = JudgeChoice { base_commit: planned.base_commit.clone(), ..judge };
            plan.spec.judge = Some(StoredJudge::from_choice(&judge));
            plan.context.judge = Some(judge);
        }
        preflight_run(&plan)?;
        Ok(plan)
    }

    /// Restores an agent as it was when the workflow run started.
    fn restore_agent(&self, stored: &StoredAgent) -> AppResult<AgentChoice> {
        let variables = self.services.host.settings.agents.get(&stored.name).cloned().unwrap_or_default().env;
        let variables = stored.env.iter().map(|name| (name.clone(), variables.get(name)));
        let variables = variables.filter_map(|(name, value)| value.map(|value| (name, value.value.clone()))).collect();
        stored.to_choice(variables).map_err(|error| AppError::from_error(ErrorKind::Preflight, &error))
    }

    /// Returns the judge of the workflow run, if one of its checks needs one.
    pub(super) fn restore_judge(&self) -> Result<Option<JudgeChoice>, String> {
        let judge = self.services.spec.judge.as_ref();
        let restored = judge.map(|judge| judge.to_choice(|agent| self.restore_agent(agent))).transpose();
        restored.map_err(|error| describe(&error))
    }

    fn with_node_rules(&self, plan: RunPlan, request: &PassRequest<'_>, rules: Option<&LoopRules>) -> RunPlan {
        let RunPlan { mut spec, mut context } = plan;
        let options = request.options;
        if has_agent_options(options) {
            // A fallback would work without the restrictions of the node.
            spec.fallback.clear();
            context.fallback.clear();
        }
        // The limits are those with which the workflow run started.
        let Policy { max_iterations, proof, .. } = spec.policy;
        let policy = Policy { max_iterations, proof, ..self.services.spec.policy.clone() };
        spec.policy = node_policy(policy, options, rules);
        self.services.host.budget.limit_policy(&mut spec.policy, ModelSpend::default());
        match rules {
            Some(_) => spec.claim_rules.plain = PlainLinePolicy::Accepted,
            None => {
                spec.claim_rules.contradictions = ContradictionSearch::Off;
                spec.acceptance = AcceptancePolicy::default();
            }
        }
        spec.first_session = request.session.as_ref().map(|session| session.session.clone());
        spec.workflow_node = Some(WorkflowNode {
            run: self.services.run.clone(),
            node: request.ready.node.clone(),
            activity: request.label.clone(),
        });
        RunPlan { spec, context: RunContext { kind: NODE_RUN_KIND, ..context } }
    }
}

/// Returns the policy of a pass.
fn node_policy(policy: Policy, options: &AgentOptions, rules: Option<&LoopRules>) -> Policy {
    let mut policy = policy;
    if let Some(silence_ms) = options.idle_timeout_ms {
        policy.timeouts.silence_ms = silence_ms;
    }
    if let Some(dollars) = options.max_budget_usd {
        let micros = (dollars.max(0.0) * 1_000_000.0).round() as u64;
        policy.budget.max_cost_micros = Some(policy.budget.max_cost_micros.map_or(micros, |limit| limit.min(micros)));
    }
    match rules {
        None => Policy {
            when_exhausted: ExhaustionPolicy::Fine,
            proof: ralph_core::policy::ClaimVerification::ClaimAlone,
            required_proof: MinimumProof::Any,
            baseline: BaselineMode::Skip,
            context: ContextMode::Continue,
            nonce: NonceUse::Off,
            stall_after: 0,
            ..policy
        },
        Some(rules) => Policy {
            context: if rules.is_fresh_context { ContextMode::Fresh } else { ContextMode::Continue },
            stepping: rules.stepping,
            nonce: NonceUse::Off,
            stall_after: if rules.may_stall { policy.stall_after } else { 0 },
            ..policy
        },
    }
}

/// Returns the node that a run is a pass of.
pub(super) fn workflow_node(row: &RunRow) -> Option<WorkflowNode> {
    let settings: serde_json::Value = serde_json::from_str(&row.settings).ok()?;
    serde_json::from_value(settings.get("workflow_node")?.clone()).ok()
}

/// Returns whether an activity is the one before another of the same node. A request for another answer belongs to its
/// activity.
fn is_previous(activity: &str, label: &str) -> bool {
    let number = |text: &str| {
        let (node, start) = text.rsplit_once('#')?;
        let start: u32 = start.split('~').next()?.parse().ok()?;
        Some((node.to_owned(), start))
    };
    match (number(activity), number(label)) {
        (Some((node, before)), Some((same, start))) => node == same && before + 1 == start,
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: L13
    #[test]
    fn only_the_activity_just_before_left_the_run_of_a_recovery() {
        assert!(is_previous("plan#1", "plan#2"));
        assert!(is_previous("group/plan#3~1", "group/plan#4"));
        for other in ["plan#2", "plan#3", "other#1", "plan"] {
            assert!(!is_previous(other, "plan#2"), "{other}");
        }
    }
}
