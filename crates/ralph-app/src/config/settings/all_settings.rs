//! The effective settings: one field per key. Layers are applied from the lowest to the highest; each replaces value
//! and origin together.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use ralph_core::budget::{self, Budget, ScopedBudget, UnknownCostPolicy};
use ralph_core::claim::{ClaimRules, ClaimScope, ContradictionSearch, Promise, PromiseMatching};
use ralph_core::criterion::Criterion;
use ralph_core::judge::{JudgeApi, JudgeErrorPolicy};
use ralph_core::policy::{
    AttemptTimeouts, BaselineMode, ClaimVerification, ContextMode, MinimumProof, NonceUse, ParkingPolicy, Policy,
    RateLimitPolicy,
};

use crate::config::checks::configured_check::ConfiguredCheck;
use crate::config::checks::templates::TemplateLibrary;
use crate::config::notify::notify_target::NotifyTarget;
use crate::config::settings::loosened_rule::LoosenedRule;
use crate::config::settings::origin::{Setting, SettingOrigin};
use crate::config::settings::pipeline::PipelineSettings;
use crate::config::settings::platforms::PlatformSettings;
use crate::config::settings::project_commands::ProjectCommand;
use crate::config::settings::roles::AllRoleSettings;
use ralph_agents::{OutputFormat, PermissionLevel};
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::protected::TestProtection;
use ralph_util::amounts::DollarAmount;
use ralph_util::memory_size::MemorySize;

#[derive(Debug, Clone)]
pub struct Settings {
    pub agent: Setting<String>,
    pub model: Setting<Option<String>>,
    /// The models of the configured agent for words such as `small` in workflows, by word.
    pub models: BTreeMap<String, Setting<String>>,
    pub permission: Setting<Option<PermissionLevel>>,
    /// Changed presets and custom agents, by name.
    pub agents: BTreeMap<String, AgentSettings>,
    /// The agents that take over while the agents before them are rate limited.
    pub fallback: Setting<Vec<String>>,
    /// Whether the agent of `run` resumes its session or starts with fresh context.
    pub context: Setting<ContextMode>,
    pub default_max_iterations: Setting<u32>,
    pub limits: LimitSettings,
    /// Consecutive iterations without a change that end a run.
    pub stall_iterations: Setting<u32>,
    pub signals: SignalSettings,
    pub checks: Setting<Vec<ConfiguredCheck>>,
    pub verification: VerificationSettings,
    pub judge: JudgeSettings,
    pub templates: TemplateLibrary,
    /// The folder of the verifier plugins.
    pub plugin_folder: Option<PathBuf>,
    pub roles: AllRoleSettings,
    pub pipeline: PipelineSettings,
    pub session: SessionSettings,
    /// The platforms of `ralph serve`.
    pub platforms: PlatformSettings,
    /// The targets of notifications, those of the user first.
    pub notify: Setting<Vec<NotifyTarget>>,
    pub specs_dir: Setting<String>,
    /// Variables for prompts, by name.
    pub vars: BTreeMap<String, Setting<String>>,
    /// Commands of the board, by key.
    pub board_keys: BTreeMap<String, Setting<String>>,
    /// All commands of the project's file, including those that a higher layer overrides.
    pub project_commands: Vec<ProjectCommand>,
    /// The rules that the project's file loosens, including those that a higher layer overrides.
    pub loosened_rules: Vec<LoosenedRule>,
    /// Fingerprints of all layers below the flags, to detect later changes.
    pub fingerprints: Vec<String>,
    /// Probable mistakes that are not errors.
    pub warnings: Vec<String>,
}

/// How claims are verified, apart from the checks themselves.
#[derive(Debug, Clone)]
pub struct VerificationSettings {
    pub baseline: Setting<bool>,
    pub guard: Setting<Vec<String>>,
    pub allow_changes: Setting<Vec<String>>,
    /// Whether claims are checked in the work tree or in a fresh checkout of the commit.
    pub isolation: Setting<CheckIsolation>,
    pub setup: Setting<Vec<String>>,
    pub share: Setting<Vec<String>>,
    /// The consequence of a change of a protected test.
    pub tests: Setting<TestProtection>,
    pub cache: Setting<bool>,
    pub role_checks: Setting<bool>,
    /// Refuse to start if only the agent's claim would decide.
    pub require_criteria: Setting<bool>,
    /// Accept only claims of the proof level `proven`.
    pub require_proof: Setting<bool>,
}

impl Default for VerificationSettings {
    fn default() -> Self {
        Self {
            baseline: Setting::built_in(true),
            guard: Setting::default(),
            allow_changes: Setting::default(),
            isolation: Setting::built_in(CheckIsolation::Workspace),
            setup: Setting::default(),
            share: Setting::default(),
            tests: Setting::built_in(TestProtection::Protect),
            cache: Setting::built_in(true),
            role_checks: Setting::built_in(true),
            require_criteria: Setting::built_in(false),
            require_proof: Setting::built_in(false),
        }
    }
}

#[derive(Debug, Clone)]
pub struct LimitSettings {
    pub iteration_timeout: Setting<Duration>,
    pub idle_timeout: Setting<Duration>,
    pub after_result: Setting<Duration>,
    pub retrying_timeout: Setting<Duration>,
    pub handshake_timeout: Setting<Duration>,
    pub max_rate_limit_wait: Setting<Duration>,
    /// The maximum of all waits that agents ask for.
    pub max_wait: Setting<Duration>,
    /// A longer wait parks a run whose driver can resume it later.
    pub park_after: Setting<Duration>,
    pub grace: Setting<Duration>,
    pub max_retries: Setting<u32>,
    pub max_memory: Setting<Option<MemorySize>>,
    pub log_limit: Setting<MemorySize>,
    pub max_cost_usd: Setting<Option<DollarAmount>>,
    pub max_tokens: Setting<Option<u64>>,
    pub max_duration: Setting<Duration>,
    pub require_known_cost: Setting<bool>,
    /// Limits of all runs of a task together.
    pub task: SharedLimitSettings,
    /// Limits of all runs of a spec's tasks together.
    pub spec: SharedLimitSettings,
}

/// Limits that several runs share.
#[derive(Debug, Clone, Default)]
pub struct SharedLimitSettings {
    pub max_cost_usd: Setting<Option<DollarAmount>>,
    pub max_tokens: Setting<Option<u64>>,
    pub max_duration: Setting<Option<Duration>>,
    pub max_iterations: Setting<Option<u32>>,
}

#[derive(Debug, Clone)]
pub struct SignalSettings {
    pub matching: Setting<PromiseMatching>,
    pub scope: Setting<ClaimScope>,
    pub nonce: Setting<bool>,
    pub contradictions: Setting<ContradictionSearch>,
}

/// Settings of loops inside agent sessions.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    pub enabled: Setting<bool>,
    pub max_iterations: Setting<u32>,
    pub promise: Setting<String>,
    pub continuation_delay: Setting<Duration>,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            enabled: Setting::built_in(true),
            max_iterations: Setting::built_in(100),
            promise: Setting::built_in("DONE".to_owned()),
            continuation_delay: Setting::built_in(Duration::from_millis(500)),
        }
    }
}

/// Settings of the judge.
#[derive(Debug, Clone)]
pub struct JudgeSettings {
    /// `None`: the agent of the run, if it can run without its tools.
    pub agent: Setting<Option<String>>,
    /// The API that judges instead of an agent.
    pub api: Setting<Option<JudgeApi>>,
    pub url: Setting<Option<String>>,
    /// The environment variable that contains the key. The key itself is never stored in the settings.
    pub key_env: Setting<Option<String>>,
    pub model: Setting<Option<String>>,
    pub on_error: Setting<JudgeErrorPolicy>,
    pub timeout: Setting<Duration>,
}

/// Settings of one agent. An unset field is `None` with a built-in origin: the value of the preset applies.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Where a file last mentioned the agent.
    pub mentioned_at: SettingOrigin,
    /// The adapter, `type` in the configuration.
    pub kind: Setting<Option<String>>,
    pub cli: Setting<Option<String>>,
    pub args: Setting<Option<Vec<String>>>,
    pub env: BTreeMap<String, Setting<String>>,
    /// `None` with an explicit origin means `json`, the format of the adapter.
    pub output_format: Setting<Option<OutputFormat>>,
    pub response_filter: Setting<Option<String>>,
    pub display_filter: Setting<Option<String>>,
    pub model: Setting<Option<String>>,
    /// The models of this agent for words such as `small` in workflows, by word.
    pub models: BTreeMap<String, Setting<String>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            agent: Setting::built_in("claude".to_owned()),
            model: Setting::default(),
            models: BTreeMap::new(),
            permission: Setting::default(),
            agents: BTreeMap::new(),
            fallback: Setting::default(),
            context: Setting::built_in(ContextMode::Continue),
            default_max_iterations: Setting::built_in(10),
            limits: LimitSettings::default(),
            stall_iterations: Setting::built_in(3),
            signals: SignalSettings::default(),
            checks: Setting::default(),
            verification: VerificationSettings::default(),
            judge: JudgeSettings::default(),
            templates: TemplateLibrary::default(),
            plugin_folder: None,
            roles: AllRoleSettings::default(),
            pipeline: PipelineSettings::default(),
            session: SessionSettings::default(),
            platforms: PlatformSettings::default(),
            notify: Setting::default(),
            specs_dir: Setting::built_in("specs".to_owned()),
            vars: BTreeMap::new(),
            board_keys: BTreeMap::new(),
            project_commands: Vec::new(),
            loosened_rules: Vec::new(),
            fingerprints: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            agent: Setting::default(),
            api: Setting::default(),
            url: Setting::default(),
            key_env: Setting::default(),
            model: Setting::default(),
            on_error: Setting::default(),
            timeout: Setting::built_in(Duration::from_secs(300)),
        }
    }
}

impl Default for LimitSettings {
    fn default() -> Self {
        let timeouts = AttemptTimeouts::default();
        let time = |ms| Setting::built_in(Duration::from_millis(ms));
        Self {
            iteration_timeout: time(timeouts.iteration_ms),
            idle_timeout: time(timeouts.silence_ms),
            after_result: time(timeouts.after_result_ms),
            retrying_timeout: time(timeouts.repeating_ms),
            handshake_timeout: time(timeouts.handshake_ms),
            max_rate_limit_wait: time(RateLimitPolicy::default().max_wait_ms),
            max_wait: time(RateLimitPolicy::default().max_agent_wait_ms),
            park_after: time(ParkingPolicy::default().after_ms),
            grace: time(5_000),
            max_retries: Setting::built_in(3),
            max_memory: Setting::default(),
            log_limit: Setting::built_in(MemorySize::GIGABYTE),
            max_cost_usd: Setting::default(),
            max_tokens: Setting::default(),
            max_duration: Setting::built_in(Duration::from_secs(12 * 3_600)),
            require_known_cost: Setting::built_in(false),
            task: SharedLimitSettings::default(),
            spec: SharedLimitSettings::default(),
        }
    }
}

impl Default for SignalSettings {
    fn default() -> Self {
        Self {
            matching: Setting::built_in(PromiseMatching::Loose),
            scope: Setting::built_in(ClaimScope::Final),
            nonce: Setting::built_in(false),
            contradictions: Setting::built_in(ContradictionSearch::On { extra: Vec::new() }),
        }
    }
}

impl Settings {
    /// Applies one layer. A model belongs to the agent it was chosen for: a layer that chooses another agent without a
    /// model discards it.
    pub fn apply_layer<E>(&mut self, apply: impl FnOnce(&mut Self) -> Result<(), E>) -> Result<(), E> {
        let (agent, model) = (self.agent.value.clone(), self.model.clone());
        apply(self)?;
        if self.agent.value != agent && self.model == model {
            self.model = Setting::default();
        }
        Ok(())
    }

    /// Returns the settings of the agent that is chosen now.
    pub fn current_agent_mut(&mut self) -> &mut AgentSettings {
        self.agents.entry(self.agent.value.clone()).or_default()
    }

    /// Returns the criteria of the configured checks.
    #[must_use]
    pub fn criteria(&self) -> Vec<Criterion> {
        self.checks.value.iter().map(|check| check.criterion.clone()).collect()
    }

    /// Returns the rules for detecting claims of this promise.
    #[must_use]
    pub fn claim_rules(&self, promise: Promise) -> ClaimRules {
        ClaimRules {
            matching: self.signals.matching.value,
            scope: self.signals.scope.value,
            contradictions: self.signals.contradictions.value.clone(),
            ..ClaimRules::new(promise)
        }
    }

    /// Returns when a run parks. Its driver decides whether it can. A limit of the user for rate limits also applies to
    /// parked runs.
    fn parking_policy(&self) -> ParkingPolicy {
        let ms = |time: &Setting<Duration>| u64::try_from(time.value.as_millis()).unwrap_or(u64::MAX);
        let built_in = ParkingPolicy::default();
        let max_wait_ms = match self.limits.max_rate_limit_wait.origin {
            SettingOrigin::BuiltIn => built_in.max_wait_ms,
            SettingOrigin::File { .. } | SettingOrigin::Environment { .. } | SettingOrigin::Flag { .. } => {
                ms(&self.limits.max_rate_limit_wait)
            }
        };
        ParkingPolicy { after_ms: ms(&self.limits.park_after), max_wait_ms, ..built_in }
    }

    /// Returns the policy of a run with at most `max_iterations`.
    #[must_use]
    pub fn run_policy(&self, max_iterations: u32, proof: ClaimVerification) -> Policy {
        let ms = |time: &Setting<Duration>| u64::try_from(time.value.as_millis()).unwrap_or(u64::MAX);
        Policy {
            max_retries: self.limits.max_retries.value,
            timeouts: AttemptTimeouts {
                iteration_ms: ms(&self.limits.iteration_timeout),
                silence_ms: ms(&self.limits.idle_timeout),
                after_result_ms: ms(&self.limits.after_result),
                repeating_ms: ms(&self.limits.retrying_timeout),
                handshake_ms: ms(&self.limits.handshake_timeout),
            },
            proof,
            required_proof: if self.verification.require_proof.value {
                MinimumProof::Proven
            } else {
                MinimumProof::Any
            },
            baseline: if self.verification.baseline.value { BaselineMode::Run } else { BaselineMode::Skip },
            nonce: if self.signals.nonce.value { NonceUse::EachIteration } else { NonceUse::Off },
            rate_limits: RateLimitPolicy {
                max_wait_ms: ms(&self.limits.max_rate_limit_wait),
                max_agent_wait_ms: ms(&self.limits.max_wait),
                agents: std::iter::once(&self.agent.value).chain(&self.fallback.value).cloned().collect(),
                parking: self.parking_policy(),
            },
            budget: self.run_budget(),
            stall_after: self.stall_iterations.value,
            ..Policy::new(max_iterations)
        }
    }

    /// Returns the stall limit in classic mode: disabled unless it is set explicitly.
    #[must_use]
    pub fn classic_stall_limit(&self) -> u32 {
        let is_explicit = self.stall_iterations.origin != SettingOrigin::BuiltIn;
        if is_explicit { self.stall_iterations.value } else { 0 }
    }

    fn run_budget(&self) -> Budget {
        let limits = &self.limits;
        Budget {
            max_cost_micros: limits.max_cost_usd.value.map(DollarAmount::as_micros),
            max_tokens: limits.max_tokens.value,
            max_duration_ms: u64::try_from(limits.max_duration.value.as_millis()).ok(),
            max_iterations: None,
            unknown_cost: self.unknown_cost_policy(),
        }
    }

    fn unknown_cost_policy(&self) -> UnknownCostPolicy {
        if self.limits.require_known_cost.value { UnknownCostPolicy::Refuse } else { UnknownCostPolicy::Allow }
    }

    /// Returns the budgets that the stages of a task share: that of the task and that of its spec.
    #[must_use]
    pub fn shared_budgets(&self, task: &str, spec: Option<&str>) -> Vec<ScopedBudget> {
        let of_task = (budget::BudgetScope::Task(task.to_owned()), &self.limits.task);
        let of_spec = spec.map(|spec| (budget::BudgetScope::Spec(spec.to_owned()), &self.limits.spec));
        let scopes = std::iter::once(of_task).chain(of_spec);
        scopes
            .map(|(scope, limits)| ScopedBudget { scope, budget: self.shared_budget(limits) })
            .filter(|shared| shared.budget.has_limits())
            .collect()
    }

    fn shared_budget(&self, limits: &SharedLimitSettings) -> Budget {
        let time = limits.max_duration.value.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Budget {
            max_cost_micros: limits.max_cost_usd.value.map(DollarAmount::as_micros),
            max_tokens: limits.max_tokens.value,
            max_duration_ms: time,
            max_iterations: limits.max_iterations.value,
            // Unknown cost matters only if cost is limited.
            unknown_cost: match limits.max_cost_usd.value {
                Some(_) => self.unknown_cost_policy(),
                None => UnknownCostPolicy::Allow,
            },
        }
    }

    /// Returns the variables for prompts.
    #[must_use]
    pub fn prompt_variables(&self) -> BTreeMap<String, String> {
        self.vars.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect()
    }
}

impl AgentSettings {
    /// Returns whether any layer above the built-in one sets the value.
    pub(in crate::config) fn is_explicit<T>(part: &Setting<T>) -> bool {
        part.origin != SettingOrigin::BuiltIn
    }
}
