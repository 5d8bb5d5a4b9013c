//! The table of all configuration keys: path, description, and the setting that the key fills.
use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::criterion::template::ParameterValues;
use ralph_core::criterion::{CheckCommand, ExternalCheck};

use crate::config::checks::configured_check::ConfiguredStage;
use crate::config::keys::slot::{NumberBounds, SettingSlot};
use crate::config::settings::all_settings::{AgentSettings, Settings};
use crate::config::settings::origin::Setting;

/// One key of a table.
pub(in crate::config) struct ConfigKey<S> {
    /// The names of the tables and the key, joined by dots.
    pub path: &'static str,
    pub help: &'static str,
    pub target: KeyTarget<S>,
}

pub(in crate::config) enum KeyTarget<S> {
    Slot(for<'a> fn(&'a mut S) -> SettingSlot<'a>),
    /// Reserved for a later version: only its default (as YAML) is accepted.
    Reserved {
        default: &'static str,
    },
}

const fn slot_key<S>(
    path: &'static str,
    help: &'static str,
    slot: for<'a> fn(&'a mut S) -> SettingSlot<'a>,
) -> ConfigKey<S> {
    ConfigKey { path, help, target: KeyTarget::Slot(slot) }
}

const fn reserved_key(path: &'static str, default: &'static str, help: &'static str) -> ConfigKey<Settings> {
    ConfigKey { path, help, target: KeyTarget::Reserved { default } }
}

#[rustfmt::skip]
pub(in crate::config) const CONFIG_KEYS: &[ConfigKey<Settings>] = &[
    slot_key("agent", "The agent: claude, codex, another one from `ralph agents`, or a name from `agents`", |s| SettingSlot::Text(&mut s.agent)),
    slot_key("model", "The model, as the agent names it", |s| SettingSlot::MaybeText(&mut s.model)),
    slot_key("models", "The models of the agent for small, medium, large and @names in workflows", |s| SettingSlot::Table(&mut s.models)),
    slot_key("permission", "What the agent may do without asking: ask, edits, work or full; the default is work for tasks and build, else it depends on the agent",
        |s| SettingSlot::MaybePermission(&mut s.permission)),
    slot_key("agents", "Changed presets and custom agents, by name", |s| SettingSlot::Agents(&mut s.agents)),
    slot_key("fallback", "Agents that take over, with fresh context, while the agents before them are rate limited",
        |s| SettingSlot::Texts(&mut s.fallback)),
    slot_key("context", "continue: the agent of `run` resumes its session; fresh: it starts every iteration with fresh context",
        |s| SettingSlot::Context(&mut s.context)),
    slot_key("checks", "Checks that decide a claim: commands, or tables with another method", |s| SettingSlot::Checks(&mut s.checks)),
    slot_key("specs_dir", "The specs folder; $SPECS_DIR in prompts", |s| SettingSlot::Text(&mut s.specs_dir)),
    slot_key("vars", "Variables for prompts, by name", |s| SettingSlot::Table(&mut s.vars)),
    slot_key("ralph.default_max_iterations", "Default maximum number of iterations",
        |s| SettingSlot::Count(&mut s.default_max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.enabled", "true: stages of tasks are loops; false: single passes", |s| SettingSlot::Flag(&mut s.roles.enabled)),
    slot_key("ralph.default_verification", "Verification method of custom roles: string_match or semantic",
        |s| SettingSlot::Method(&mut s.roles.default_verification)),
    slot_key("ralph.verify_promises", "Verify the claims of stages; false: the claim alone decides",
        |s| SettingSlot::Flag(&mut s.roles.verify_promises)),
    slot_key("ralph.coder.enabled", "Run the stage as a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.coder.enabled)),
    slot_key("ralph.coder.max_iterations", "Maximum number of iterations of the stage, unless its task sets one",
        |s| SettingSlot::Count(&mut s.roles.coder.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.coder.completion_promise", "The promise of the stage, unless its task sets one",
        |s| SettingSlot::Text(&mut s.roles.coder.completion_promise)),
    slot_key("ralph.coder.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.coder.agent)),
    slot_key("ralph.coder.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.coder.model)),
    slot_key("ralph.coder.role_check", "A claim needs a commit since the stage started; false: no commit needed",
        |s| SettingSlot::Switch(&mut s.roles.coder.role_check)),
    slot_key("ralph.reviewer.enabled", "Run the stage as a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.reviewer.enabled)),
    slot_key("ralph.reviewer.max_iterations", "Maximum number of iterations of the stage, unless its task sets one",
        |s| SettingSlot::Count(&mut s.roles.reviewer.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.reviewer.completion_promise", "The promise of the stage, unless its task sets one",
        |s| SettingSlot::Text(&mut s.roles.reviewer.completion_promise)),
    slot_key("ralph.reviewer.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.reviewer.agent)),
    slot_key("ralph.reviewer.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.reviewer.model)),
    slot_key("ralph.reviewer.role_check", "A promise next to `<reject>` is not an approval; false: it is",
        |s| SettingSlot::Switch(&mut s.roles.reviewer.role_check)),
    slot_key("ralph.tester.enabled", "Run the stage as a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.tester.enabled)),
    slot_key("ralph.tester.max_iterations", "Maximum number of iterations of the stage, unless its task sets one",
        |s| SettingSlot::Count(&mut s.roles.tester.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.tester.completion_promise", "The promise of the stage, unless its task sets one",
        |s| SettingSlot::Text(&mut s.roles.tester.completion_promise)),
    slot_key("ralph.tester.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.tester.agent)),
    slot_key("ralph.tester.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.tester.model)),
    slot_key("ralph.tester.role_check", "Print a note if no command verifies the claim; false: no note",
        |s| SettingSlot::Switch(&mut s.roles.tester.role_check)),
    slot_key("ralph.qa.enabled", "Run the stage as a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.qa.enabled)),
    slot_key("ralph.qa.max_iterations", "Maximum number of iterations of the stage, unless its task sets one",
        |s| SettingSlot::Count(&mut s.roles.qa.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.qa.completion_promise", "The promise of the stage, unless its task sets one",
        |s| SettingSlot::Text(&mut s.roles.qa.completion_promise)),
    slot_key("ralph.qa.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.qa.agent)),
    slot_key("ralph.qa.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.qa.model)),
    slot_key("limits.iteration_timeout", "Timeout of one iteration", |s| SettingSlot::Time(&mut s.limits.iteration_timeout)),
    slot_key("limits.idle_timeout", "Longest time without output from the agent", |s| SettingSlot::Time(&mut s.limits.idle_timeout)),
    slot_key("limits.after_result", "How long the agent may stay alive after its final record",
        |s| SettingSlot::Time(&mut s.limits.after_result)),
    slot_key("limits.retrying_timeout", "How long the agent may do nothing but retry failed requests",
        |s| SettingSlot::Time(&mut s.limits.retrying_timeout)),
    slot_key("limits.handshake_timeout", "How long an acp agent may take to open a session",
        |s| SettingSlot::Time(&mut s.limits.handshake_timeout)),
    slot_key("limits.max_rate_limit_wait", "Maximum total wait for rate limits in a run; default: 6h, and 7 days once the run is parked",
        |s| SettingSlot::Time(&mut s.limits.max_rate_limit_wait)),
    slot_key("limits.max_wait", "Maximum total wait that agents may ask for in a run",
        |s| SettingSlot::Time(&mut s.limits.max_wait)),
    slot_key("limits.park_after", "A longer wait parks a run of `ralph work` or in the background: it releases its slot until the wait is over",
        |s| SettingSlot::Time(&mut s.limits.park_after)),
    slot_key("limits.grace", "Time between the stop signal and the kill",
        |s| SettingSlot::Time(&mut s.limits.grace)),
    slot_key("limits.max_retries", "Retries of a failed attempt within its iteration",
        |s| SettingSlot::Count(&mut s.limits.max_retries, NumberBounds::RETRIES)),
    slot_key("limits.max_memory", "Memory limit of an agent with all its descendants",
        |s| SettingSlot::MaybeSize(&mut s.limits.max_memory)),
    slot_key("limits.log_limit", "Size limit of the raw logs of a run; of a longer log, the beginning and the end are kept",
        |s| SettingSlot::Size(&mut s.limits.log_limit)),
    slot_key("signals.match", "loose: letter case is ignored; exact: letter case counts, and the tag is alone on its line",
        |s| SettingSlot::Matching(&mut s.signals.matching)),
    slot_key("signals.scope", "final: only the agent's last message counts; iteration: any message counts",
        |s| SettingSlot::Scope(&mut s.signals.scope)),
    slot_key("signals.nonce", "Ask for a new id in the tag in each iteration", |s| SettingSlot::Flag(&mut s.signals.nonce)),
    slot_key("signals.contradictions", "Reject a claim if the same message says that work is open; a list adds phrases",
        |s| SettingSlot::Contradictions(&mut s.signals.contradictions)),
    slot_key("verification.baseline", "Run the checks once before the first iteration: a check that already passes proves nothing",
        |s| SettingSlot::Switch(&mut s.verification.baseline)),
    slot_key("verification.isolation", "workspace: claims are checked in the work tree; clean: in a fresh checkout of the commit",
        |s| SettingSlot::Isolation(&mut s.verification.isolation)),
    slot_key("verification.tests", "protect: the checks must also pass with changed tests as before the work; report: changes are only named; off",
        |s| SettingSlot::Protection(&mut s.verification.tests)),
    slot_key("verification.setup", "Commands that prepare a fresh checkout for the checks", |s| SettingSlot::Texts(&mut s.verification.setup)),
    slot_key("verification.share", "Folders of the work tree that are linked into a fresh checkout, such as node_modules",
        |s| SettingSlot::Texts(&mut s.verification.share)),
    slot_key("verification.cache", "Reuse the result of a check that accepted the same files earlier in the same run",
        |s| SettingSlot::Switch(&mut s.verification.cache)),
    slot_key("verification.role_checks", "Enforce the duties of roles; ralph.ROLE.role_check is for one role",
        |s| SettingSlot::Switch(&mut s.verification.role_checks)),
    slot_key("verification.require_criteria", "Refuse to start if only the agent's claim would decide",
        |s| SettingSlot::Switch(&mut s.verification.require_criteria)),
    slot_key("verification.require_proof", "Accept only a claim that a check proves: it failed before the work and passes now",
        |s| SettingSlot::Switch(&mut s.verification.require_proof)),
    slot_key("verification.guard", "Files that must not change before a claim, in .gitignore syntax", |s| SettingSlot::Texts(&mut s.verification.guard)),
    slot_key("verification.allow_changes", "Files that may change although they are sealed or protected tests, in .gitignore syntax",
        |s| SettingSlot::Texts(&mut s.verification.allow_changes)),
    slot_key("pipeline.stages", "The roles that work on a task, in order", |s| SettingSlot::Texts(&mut s.pipeline.stages)),
    slot_key("pipeline.slots", "Number of tasks that `ralph work` runs at the same time", |s| SettingSlot::Count(&mut s.pipeline.slots, NumberBounds::SLOTS)),
    slot_key("pipeline.max_rounds", "How often a judging role may send a task back before it is blocked",
        |s| SettingSlot::Count(&mut s.pipeline.max_rounds, NumberBounds::RETRIES)),
    slot_key("pipeline.max_attempts", "How often a task may fail before it is blocked",
        |s| SettingSlot::Count(&mut s.pipeline.max_attempts, NumberBounds::ITERATIONS)),
    slot_key("pipeline.lease", "Lease time: how long a worker may be silent before another one takes its task",
        |s| SettingSlot::Time(&mut s.pipeline.lease)),
    slot_key("pipeline.land", "manual: `ralph land` merges finished work; auto: `ralph work` merges it as soon as a task is done",
        |s| SettingSlot::Landing(&mut s.pipeline.land)),
    slot_key("pipeline.commit", "auto: ralph commits what an agent leaves uncommitted in the work tree of a task; agent: the agent must commit",
        |s| SettingSlot::Commit(&mut s.pipeline.commit)),
    slot_key("pipeline.setup", "Commands that prepare a new work tree, such as npm ci",
        |s| SettingSlot::Texts(&mut s.pipeline.setup)),
    slot_key("limits.max_cost_usd", "Cost limit of a run in US dollars, with retries and judges; no limit by default",
        |s| SettingSlot::MaybeMoney(&mut s.limits.max_cost_usd)),
    slot_key("limits.max_tokens", "Token limit of a run, input and output together: 200000, 500k, 2M",
        |s| SettingSlot::MaybeTokens(&mut s.limits.max_tokens)),
    slot_key("limits.max_duration", "Time limit of a run; time before a resume does not count",
        |s| SettingSlot::Time(&mut s.limits.max_duration)),
    slot_key("limits.task.max_cost_usd", "Cost limit of all runs of a task together, with stages, retries and judges",
        |s| SettingSlot::MaybeMoney(&mut s.limits.task.max_cost_usd)),
    slot_key("limits.task.max_tokens", "Token limit of all runs of a task together",
        |s| SettingSlot::MaybeTokens(&mut s.limits.task.max_tokens)),
    slot_key("limits.task.max_duration", "Time limit of all runs of a task together",
        |s| SettingSlot::MaybeTime(&mut s.limits.task.max_duration)),
    slot_key("limits.task.max_iterations", "Maximum number of iterations of all runs of a task together",
        |s| SettingSlot::MaybeCount(&mut s.limits.task.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("limits.spec.max_cost_usd", "Cost limit of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeMoney(&mut s.limits.spec.max_cost_usd)),
    slot_key("limits.spec.max_tokens", "Token limit of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeTokens(&mut s.limits.spec.max_tokens)),
    slot_key("limits.spec.max_duration", "Time limit of all runs of a spec's tasks together; times of concurrent runs are added",
        |s| SettingSlot::MaybeTime(&mut s.limits.spec.max_duration)),
    slot_key("limits.spec.max_iterations", "Maximum number of iterations of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeCount(&mut s.limits.spec.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("limits.require_known_cost", "Refuse an agent that does not report its cost",
        |s| SettingSlot::Flag(&mut s.limits.require_known_cost)),
    slot_key("stall.iterations", "Consecutive iterations without a change that end the run as stalled; 0: disabled; off in classic mode unless set",
        |s| SettingSlot::Count(&mut s.stall_iterations, NumberBounds::RETRIES)),
    slot_key("verification.judge.agent", "The agent that judges: claude, codex, or an agent of type text from `agents`; default: the agent of the run if it is claude or codex, else claude",
        |s| SettingSlot::MaybeText(&mut s.judge.agent)),
    slot_key("verification.judge.api", "The API that judges instead of an agent: anthropic (messages) or openai (chat completions)",
        |s| SettingSlot::MaybeApi(&mut s.judge.api)),
    slot_key("verification.judge.url", "The full URL of the API, if it is not the vendor's: https, or http on this machine",
        |s| SettingSlot::MaybeText(&mut s.judge.url)),
    slot_key("verification.judge.key_env", "The variable that contains the API key; never write the key itself here",
        |s| SettingSlot::MaybeText(&mut s.judge.key_env)),
    slot_key("verification.judge.model", "The model of the judge; default: a cheap model of the agent; required for an API",
        |s| SettingSlot::MaybeText(&mut s.judge.model)),
    slot_key("verification.judge.on_error", "If the judge fails: reject, or string_match (the claim alone counts, unverified)",
        |s| SettingSlot::OnError(&mut s.judge.on_error)),
    slot_key("verification.judge.timeout", "Timeout of one question to the judge",
        |s| SettingSlot::Time(&mut s.judge.timeout)),
    slot_key("session.enabled", "Allow loops inside agent sessions; false: none can be started", |s| SettingSlot::Flag(&mut s.session.enabled)),
    slot_key("session.max_iterations", "Maximum number of iterations of a loop in a session",
        |s| SettingSlot::Count(&mut s.session.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("session.promise", "The promise of a loop in a session", |s| SettingSlot::Text(&mut s.session.promise)),
    slot_key("session.continuation_delay", "Delay before ralph itself sends a prompt to a session",
        |s| SettingSlot::Time(&mut s.session.continuation_delay)),
    reserved_key("store", "sqlite", "The database"),
    reserved_key("notify", "[]", "Targets of outcome notifications"),
    reserved_key("sandbox", "off", "Sandbox for agents and checks"),
];

/// The keys below `agents.NAME`.
#[rustfmt::skip]
pub(in crate::config) const AGENT_KEYS: &[ConfigKey<AgentSettings>] = &[
    slot_key("type", "The adapter, one of `ralph agents`; default: the name of the agent",
        |a| SettingSlot::MaybeText(&mut a.kind)),
    slot_key("cli", "The program; a path with a slash is relative to the project's root", |a| SettingSlot::MaybeText(&mut a.cli)),
    slot_key("args", "Arguments that replace those of the preset", |a| SettingSlot::MaybeTexts(&mut a.args)),
    slot_key("env", "Variables for the agent, by name", |a| SettingSlot::Table(&mut a.env)),
    slot_key("output_format", "How the output is parsed: text, claude, codex or the format of another agent; json: the format of its type",
        |a| SettingSlot::MaybeFormat(&mut a.output_format)),
    slot_key("response_filter", "A jq expression whose values are the agent's own text",
        |a| SettingSlot::MaybeText(&mut a.response_filter)),
    slot_key("display_filter", "A jq expression for the displayed text", |a| SettingSlot::MaybeText(&mut a.display_filter)),
    slot_key("model", "The model of this agent", |a| SettingSlot::MaybeText(&mut a.model)),
    slot_key("models", "The models of this agent for small, medium, large and @names in workflows",
        |a| SettingSlot::Table(&mut a.models)),
];

/// The keys of a check that is written as a table.
pub(in crate::config) struct CheckDraft {
    pub name: Setting<Option<String>>,
    pub method: Setting<Option<String>>,
    pub retries: Setting<u32>,
    pub required: Setting<bool>,
    pub command: Setting<Option<CheckCommand>>,
    pub success_exit_code: Setting<u32>,
    pub output_contains: Setting<Option<String>>,
    pub output_not_contains: Setting<Option<String>>,
    pub timeout: Setting<Duration>,
    pub working_dir: Setting<Option<String>>,
    pub env: BTreeMap<String, Setting<String>>,
    pub check_for: Setting<Vec<String>>,
    pub negative_patterns: Setting<Vec<String>>,
    pub model: Setting<Option<String>>,
    pub stages: Setting<Vec<ConfiguredStage>>,
    pub require_all: Setting<bool>,
    pub parallel: Setting<bool>,
    pub plugin: Setting<Option<String>>,
    pub config: Setting<Option<serde_json::Value>>,
    pub template: Setting<Option<String>>,
    pub with: Setting<BTreeMap<String, ParameterValues>>,
}

impl Default for CheckDraft {
    fn default() -> Self {
        Self {
            required: Setting::built_in(true),
            require_all: Setting::built_in(true),
            timeout: Setting::built_in(Duration::from_millis(ExternalCheck::DEFAULT_TIMEOUT_MS)),
            name: Setting::default(),
            method: Setting::default(),
            retries: Setting::default(),
            command: Setting::default(),
            success_exit_code: Setting::default(),
            output_contains: Setting::default(),
            output_not_contains: Setting::default(),
            working_dir: Setting::default(),
            env: BTreeMap::new(),
            check_for: Setting::default(),
            negative_patterns: Setting::default(),
            model: Setting::default(),
            stages: Setting::default(),
            parallel: Setting::default(),
            plugin: Setting::default(),
            config: Setting::default(),
            template: Setting::default(),
            with: Setting::default(),
        }
    }
}

#[rustfmt::skip]
pub(in crate::config) const CHECK_KEYS: &[ConfigKey<CheckDraft>] = &[
    slot_key("name", "A display name", |c| SettingSlot::MaybeText(&mut c.name)),
    slot_key("method", "string_match, external, semantic, multi_stage or plugin; default: derived from the other keys",
        |c| SettingSlot::MaybeText(&mut c.method)),
    slot_key("retries", "How often a failure is retried; retries are reported", |c| SettingSlot::Count(&mut c.retries, NumberBounds::CHECK_RETRIES)),
    slot_key("required", "In a stage: false only warns", |c| SettingSlot::Flag(&mut c.required)),
    slot_key("command", "A string for /bin/sh -c, or a list: a program and its arguments", |c| SettingSlot::Command(&mut c.command)),
    slot_key("success_exit_code", "The exit code that means success",
        |c| SettingSlot::Count(&mut c.success_exit_code, NumberBounds::EXIT_CODES)),
    slot_key("output_contains", "Text that the output must contain", |c| SettingSlot::MaybeText(&mut c.output_contains)),
    slot_key("output_not_contains", "Text that the output must not contain",
        |c| SettingSlot::MaybeText(&mut c.output_not_contains)),
    slot_key("timeout", "Timeout of a command or plugin", |c| SettingSlot::Time(&mut c.timeout)),
    slot_key("working_dir", "The folder of the command, inside the work tree", |c| SettingSlot::MaybeText(&mut c.working_dir)),
    slot_key("env", "Variables for the command, by name", |c| SettingSlot::Table(&mut c.env)),
    slot_key("check_for", "Statements that a judge must find to be true, one finding each", |c| SettingSlot::Strings(&mut c.check_for)),
    slot_key("negative_patterns", "Words in the agent's last message that reject at once; letter case is ignored",
        |c| SettingSlot::Strings(&mut c.negative_patterns)),
    slot_key("model", "The judge's model for this check", |c| SettingSlot::MaybeText(&mut c.model)),
    slot_key("stages", "Checks, in order", |c| SettingSlot::Stages(&mut c.stages)),
    slot_key("require_all", "The first required failure ends the check; false: all stages run",
        |c| SettingSlot::Flag(&mut c.require_all)),
    slot_key("parallel", "Run adjacent stages that are commands concurrently", |c| SettingSlot::Flag(&mut c.parallel)),
    slot_key("plugin", "An executable in .ralph/verifiers, by name", |c| SettingSlot::MaybeText(&mut c.plugin)),
    slot_key("config", "The configuration of the plugin; without a plugin, the keys of the method", |c| SettingSlot::Json(&mut c.config)),
    slot_key("template", "A predefined check; `ralph templates` lists them", |c| SettingSlot::MaybeText(&mut c.template)),
    slot_key("with", "The values of the template's parameters, by name", |c| SettingSlot::With(&mut c.with)),
];

/// Returns the environment variable of a key. `agents`, `models` and `vars` have none, because the user chooses their names.
pub(in crate::config) fn environment_variable(path: &str) -> Option<String> {
    if matches!(path, "agents" | "models" | "vars") {
        return None;
    }
    let short = path.strip_prefix("ralph.").unwrap_or(path);
    Some(format!("RALPH_{}", short.replace('.', "_").to_uppercase()))
}
