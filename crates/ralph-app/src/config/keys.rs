//! Every key of the configuration, once: its path, what it means, and the place in the settings that it fills.
use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::criterion::template::ParameterValues;
use ralph_core::criterion::{CheckCommand, ExternalCheck};

use super::checks::ConfiguredStage;
use super::origin::Setting;
use super::settings::{AgentSettings, Settings};
use super::slot::{NumberBounds, SettingSlot};

/// One key of a table.
pub(super) struct ConfigKey<S> {
    /// Names joined by dots.
    pub path: &'static str,
    pub help: &'static str,
    pub target: KeyTarget<S>,
}

pub(super) enum KeyTarget<S> {
    Slot(for<'a> fn(&'a mut S) -> SettingSlot<'a>),
    /// Known, but without effect in this version: only its default, as YAML, may be written.
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
pub(super) const CONFIG_KEYS: &[ConfigKey<Settings>] = &[
    slot_key("agent", "The agent: claude, codex, another that `ralph agents` lists, or one of `agents`", |s| SettingSlot::Text(&mut s.agent)),
    slot_key("model", "The model, in the agent's own words", |s| SettingSlot::MaybeText(&mut s.model)),
    slot_key("permission", "What the agent may do unasked: ask, edits or full; without it, what is usual for the agent",
        |s| SettingSlot::MaybePermission(&mut s.permission)),
    slot_key("agents", "Agents that are changed or added, by name", |s| SettingSlot::Agents(&mut s.agents)),
    slot_key("fallback", "Agents that take over, with fresh context, while those before them are rate limited",
        |s| SettingSlot::Texts(&mut s.fallback)),
    slot_key("context", "continue: the agent of `run` goes on in its own session; fresh: it remembers nothing",
        |s| SettingSlot::Context(&mut s.context)),
    slot_key("checks", "What must hold before a claim is believed: commands, or tables with another method", |s| SettingSlot::Checks(&mut s.checks)),
    slot_key("specs_dir", "The folder of the specifications; $SPECS_DIR in prompts", |s| SettingSlot::Text(&mut s.specs_dir)),
    slot_key("vars", "Variables for prompts, by name", |s| SettingSlot::Table(&mut s.vars)),
    slot_key("ralph.default_max_iterations", "Most iterations where nothing else is said",
        |s| SettingSlot::Count(&mut s.default_max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.enabled", "true: stages of tasks are loops; false: single passes", |s| SettingSlot::Flag(&mut s.roles.enabled)),
    slot_key("ralph.default_verification", "How roles of your own are verified: string_match or semantic",
        |s| SettingSlot::Method(&mut s.roles.default_verification)),
    slot_key("ralph.verify_promises", "Claims of stages are verified; false: the claim alone decides",
        |s| SettingSlot::Flag(&mut s.roles.verify_promises)),
    slot_key("ralph.coder.enabled", "The stage is a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.coder.enabled)),
    slot_key("ralph.coder.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| SettingSlot::Count(&mut s.roles.coder.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.coder.completion_promise", "The promise of the stage, where its task says nothing",
        |s| SettingSlot::Text(&mut s.roles.coder.completion_promise)),
    slot_key("ralph.coder.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.coder.agent)),
    slot_key("ralph.coder.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.coder.model)),
    slot_key("ralph.coder.role_check", "A claim needs a commit since the stage began; false: it does not",
        |s| SettingSlot::Switch(&mut s.roles.coder.role_check)),
    slot_key("ralph.reviewer.enabled", "The stage is a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.reviewer.enabled)),
    slot_key("ralph.reviewer.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| SettingSlot::Count(&mut s.roles.reviewer.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.reviewer.completion_promise", "The promise of the stage, where its task says nothing",
        |s| SettingSlot::Text(&mut s.roles.reviewer.completion_promise)),
    slot_key("ralph.reviewer.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.reviewer.agent)),
    slot_key("ralph.reviewer.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.reviewer.model)),
    slot_key("ralph.reviewer.role_check", "A promise beside `<reject>` is no approval; false: it is",
        |s| SettingSlot::Switch(&mut s.roles.reviewer.role_check)),
    slot_key("ralph.tester.enabled", "The stage is a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.tester.enabled)),
    slot_key("ralph.tester.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| SettingSlot::Count(&mut s.roles.tester.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.tester.completion_promise", "The promise of the stage, where its task says nothing",
        |s| SettingSlot::Text(&mut s.roles.tester.completion_promise)),
    slot_key("ralph.tester.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.tester.agent)),
    slot_key("ralph.tester.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.tester.model)),
    slot_key("ralph.tester.role_check", "A note says where no command stands behind the claim; false: none",
        |s| SettingSlot::Switch(&mut s.roles.tester.role_check)),
    slot_key("ralph.qa.enabled", "The stage is a loop; false: a single pass, still checked", |s| SettingSlot::Flag(&mut s.roles.qa.enabled)),
    slot_key("ralph.qa.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| SettingSlot::Count(&mut s.roles.qa.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("ralph.qa.completion_promise", "The promise of the stage, where its task says nothing",
        |s| SettingSlot::Text(&mut s.roles.qa.completion_promise)),
    slot_key("ralph.qa.agent", "The agent of the stage", |s| SettingSlot::MaybeText(&mut s.roles.qa.agent)),
    slot_key("ralph.qa.model", "The model of the stage", |s| SettingSlot::MaybeText(&mut s.roles.qa.model)),
    slot_key("limits.iteration_timeout", "Longest time for one iteration", |s| SettingSlot::Time(&mut s.limits.iteration_timeout)),
    slot_key("limits.idle_timeout", "Longest silence of the agent", |s| SettingSlot::Time(&mut s.limits.idle_timeout)),
    slot_key("limits.after_result", "How long the agent may stay alive after its final record",
        |s| SettingSlot::Time(&mut s.limits.after_result)),
    slot_key("limits.retrying_timeout", "How long the agent may do nothing but repeat requests that failed",
        |s| SettingSlot::Time(&mut s.limits.retrying_timeout)),
    slot_key("limits.handshake_timeout", "How long an agent that is talked to (acp) may take to open a session",
        |s| SettingSlot::Time(&mut s.limits.handshake_timeout)),
    slot_key("limits.max_rate_limit_wait", "Longest waiting for rate limits in a run, all waits together",
        |s| SettingSlot::Time(&mut s.limits.max_rate_limit_wait)),
    slot_key("limits.grace", "Time to clean up between being asked to stop and being killed",
        |s| SettingSlot::Time(&mut s.limits.grace)),
    slot_key("limits.max_retries", "How often a failed start of the agent is tried again within its iteration",
        |s| SettingSlot::Count(&mut s.limits.max_retries, NumberBounds::RETRIES)),
    slot_key("limits.max_memory", "Most memory of an agent with all its descendants",
        |s| SettingSlot::MaybeSize(&mut s.limits.max_memory)),
    slot_key("limits.log_limit", "Most room for the raw logs of a run: of what is longer, beginning and end are kept",
        |s| SettingSlot::Size(&mut s.limits.log_limit)),
    slot_key("signals.match", "loose: letter case is ignored; exact: it counts, and the tag stands alone on its line",
        |s| SettingSlot::Matching(&mut s.signals.matching)),
    slot_key("signals.scope", "final: only the agent's last message counts; iteration: any of them",
        |s| SettingSlot::Scope(&mut s.signals.scope)),
    slot_key("signals.nonce", "Asks for a new id in the tag each iteration", |s| SettingSlot::Flag(&mut s.signals.nonce)),
    slot_key("signals.contradictions", "Rejects a claim whose own message says that work is open; a list adds phrases",
        |s| SettingSlot::Contradictions(&mut s.signals.contradictions)),
    slot_key("verification.baseline", "Runs the checks once before the first iteration: one that passes already proves nothing",
        |s| SettingSlot::Switch(&mut s.verification.baseline)),
    slot_key("verification.isolation", "workspace: claims are checked in the work tree; clean: in a fresh checkout of the commit",
        |s| SettingSlot::Isolation(&mut s.verification.isolation)),
    slot_key("verification.setup", "Commands that make a fresh checkout fit for the checks", |s| SettingSlot::Texts(&mut s.verification.setup)),
    slot_key("verification.share", "Folders of the work tree that a fresh checkout borrows, such as node_modules",
        |s| SettingSlot::Texts(&mut s.verification.share)),
    slot_key("verification.cache", "Reuses what a check said that accepted the same files before, in the same run",
        |s| SettingSlot::Switch(&mut s.verification.cache)),
    slot_key("verification.role_checks", "Whether roles are held to their duties at all: see ralph.ROLE.role_check",
        |s| SettingSlot::Switch(&mut s.verification.role_checks)),
    slot_key("verification.require_criteria", "Refuses to begin where nothing more than the agent's own word would decide",
        |s| SettingSlot::Switch(&mut s.verification.require_criteria)),
    slot_key("verification.guard", "Files that must not change before a claim, as in a .gitignore", |s| SettingSlot::Texts(&mut s.verification.guard)),
    slot_key("verification.allow_changes", "Files that may change although they are sealed, as in a .gitignore",
        |s| SettingSlot::Texts(&mut s.verification.allow_changes)),
    slot_key("pipeline.stages", "The roles that work on a task one after the other", |s| SettingSlot::Texts(&mut s.pipeline.stages)),
    slot_key("pipeline.slots", "Tasks that `ralph work` drives at once", |s| SettingSlot::Count(&mut s.pipeline.slots, NumberBounds::SLOTS)),
    slot_key("pipeline.max_rounds", "How often a judging role may send a task back before it is blocked",
        |s| SettingSlot::Count(&mut s.pipeline.max_rounds, NumberBounds::RETRIES)),
    slot_key("pipeline.max_attempts", "How often a task may fail before it is blocked",
        |s| SettingSlot::Count(&mut s.pipeline.max_attempts, NumberBounds::ITERATIONS)),
    slot_key("pipeline.lease", "How long a worker may be silent before another one takes its task",
        |s| SettingSlot::Time(&mut s.pipeline.lease)),
    slot_key("pipeline.land", "manual: `ralph land` merges finished work; auto: `ralph work` does, as soon as a task is done",
        |s| SettingSlot::Landing(&mut s.pipeline.land)),
    slot_key("pipeline.setup", "Commands that make a new work tree fit for work, such as npm ci",
        |s| SettingSlot::Texts(&mut s.pipeline.setup)),
    slot_key("limits.max_cost_usd", "Most money of a run, with its retries and judges; without it there is no limit",
        |s| SettingSlot::MaybeMoney(&mut s.limits.max_cost_usd)),
    slot_key("limits.max_tokens", "Most tokens of a run, in and out together: 200000, 500k, 2M",
        |s| SettingSlot::MaybeTokens(&mut s.limits.max_tokens)),
    slot_key("limits.max_duration", "Longest time of a run, without the time before it was resumed",
        |s| SettingSlot::Time(&mut s.limits.max_duration)),
    slot_key("limits.task.max_cost_usd", "Most money of all runs of a task together, stages, retries and judges",
        |s| SettingSlot::MaybeMoney(&mut s.limits.task.max_cost_usd)),
    slot_key("limits.task.max_tokens", "Most tokens of all runs of a task together",
        |s| SettingSlot::MaybeTokens(&mut s.limits.task.max_tokens)),
    slot_key("limits.task.max_duration", "Longest time of all runs of a task together",
        |s| SettingSlot::MaybeTime(&mut s.limits.task.max_duration)),
    slot_key("limits.task.max_iterations", "Most iterations of all runs of a task together",
        |s| SettingSlot::MaybeCount(&mut s.limits.task.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("limits.spec.max_cost_usd", "Most money of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeMoney(&mut s.limits.spec.max_cost_usd)),
    slot_key("limits.spec.max_tokens", "Most tokens of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeTokens(&mut s.limits.spec.max_tokens)),
    slot_key("limits.spec.max_duration", "Longest time of all runs of a spec's tasks together, also where they work side by side",
        |s| SettingSlot::MaybeTime(&mut s.limits.spec.max_duration)),
    slot_key("limits.spec.max_iterations", "Most iterations of all runs of a spec's tasks together",
        |s| SettingSlot::MaybeCount(&mut s.limits.spec.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("limits.require_known_cost", "Refuses an agent that does not tell what it costs",
        |s| SettingSlot::Flag(&mut s.limits.require_known_cost)),
    slot_key("stall.iterations", "Iterations in a row that change nothing and end the run as stalled; 0: none do; off in classic mode unless set",
        |s| SettingSlot::Count(&mut s.stall_iterations, NumberBounds::RETRIES)),
    slot_key("verification.judge.agent", "The agent that judges: claude, codex, or one of `agents` of type text",
        |s| SettingSlot::Text(&mut s.judge.agent)),
    slot_key("verification.judge.api", "The API that judges instead of an agent: anthropic (messages) or openai (chat completions)",
        |s| SettingSlot::MaybeApi(&mut s.judge.api)),
    slot_key("verification.judge.url", "The whole address of the API, where it is not its vendor's: https, or http of this machine",
        |s| SettingSlot::MaybeText(&mut s.judge.url)),
    slot_key("verification.judge.key_env", "The variable that holds the API's key; the key itself never stands here",
        |s| SettingSlot::MaybeText(&mut s.judge.key_env)),
    slot_key("verification.judge.model", "The model that judges; without it a cheap one of the agent's, and an API must be told",
        |s| SettingSlot::MaybeText(&mut s.judge.model)),
    slot_key("verification.judge.on_error", "When the judge fails: reject, or string_match (the claim alone counts, unverified)",
        |s| SettingSlot::OnError(&mut s.judge.on_error)),
    slot_key("verification.judge.timeout", "Longest time for one question to the judge",
        |s| SettingSlot::Time(&mut s.judge.timeout)),
    slot_key("session.enabled", "Loops inside agent sessions; false: none can be started", |s| SettingSlot::Flag(&mut s.session.enabled)),
    slot_key("session.max_iterations", "Most iterations of a loop in a session",
        |s| SettingSlot::Count(&mut s.session.max_iterations, NumberBounds::ITERATIONS)),
    slot_key("session.promise", "The promise of a loop in a session", |s| SettingSlot::Text(&mut s.session.promise)),
    slot_key("session.continuation_delay", "Time before ralph itself puts a prompt into a session",
        |s| SettingSlot::Time(&mut s.session.continuation_delay)),
    reserved_key("store", "sqlite", "The database"),
    reserved_key("notify", "[]", "Who is told of outcomes"),
    reserved_key("sandbox", "off", "What confines agents and checks"),
];

/// The keys of one agent below `agents`.
#[rustfmt::skip]
pub(super) const AGENT_KEYS: &[ConfigKey<AgentSettings>] = &[
    slot_key("type", "The adapter, as `ralph agents` lists them; the agent's own name if that is one",
        |a| SettingSlot::MaybeText(&mut a.kind)),
    slot_key("cli", "The program; with a slash it is meant from the project's root", |a| SettingSlot::MaybeText(&mut a.cli)),
    slot_key("args", "Arguments in place of the preset's", |a| SettingSlot::MaybeTexts(&mut a.args)),
    slot_key("env", "Variables for the agent, by name", |a| SettingSlot::Table(&mut a.env)),
    slot_key("output_format", "How its output is read: text, claude, codex or another agent's format; json: as its type has it",
        |a| SettingSlot::MaybeFormat(&mut a.output_format)),
    slot_key("response_filter", "A jq expression whose values are the agent's own text",
        |a| SettingSlot::MaybeText(&mut a.response_filter)),
    slot_key("display_filter", "A jq expression for what is shown", |a| SettingSlot::MaybeText(&mut a.display_filter)),
    slot_key("model", "The model of this agent", |a| SettingSlot::MaybeText(&mut a.model)),
];

/// A check that is written as a table.
pub(super) struct CheckDraft {
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
pub(super) const CHECK_KEYS: &[ConfigKey<CheckDraft>] = &[
    slot_key("name", "What people call it", |c| SettingSlot::MaybeText(&mut c.name)),
    slot_key("method", "string_match, external, semantic, multi_stage or plugin; without it, what the other keys say",
        |c| SettingSlot::MaybeText(&mut c.method)),
    slot_key("retries", "How often a failure is looked at again; that is told", |c| SettingSlot::Count(&mut c.retries, NumberBounds::CHECK_RETRIES)),
    slot_key("required", "In a stage: false only warns", |c| SettingSlot::Flag(&mut c.required)),
    slot_key("command", "A text for /bin/sh -c, or a list: a program and its arguments", |c| SettingSlot::Command(&mut c.command)),
    slot_key("success_exit_code", "The exit code that means success",
        |c| SettingSlot::Count(&mut c.success_exit_code, NumberBounds::EXIT_CODES)),
    slot_key("output_contains", "A text that the output must hold", |c| SettingSlot::MaybeText(&mut c.output_contains)),
    slot_key("output_not_contains", "A text that the output must not hold",
        |c| SettingSlot::MaybeText(&mut c.output_not_contains)),
    slot_key("timeout", "Longest time for a command or a plugin", |c| SettingSlot::Time(&mut c.timeout)),
    slot_key("working_dir", "The folder for the command, inside the work tree", |c| SettingSlot::MaybeText(&mut c.working_dir)),
    slot_key("env", "Variables for the command, by name", |c| SettingSlot::Table(&mut c.env)),
    slot_key("check_for", "What a judge must find to be true, one finding each", |c| SettingSlot::Strings(&mut c.check_for)),
    slot_key("negative_patterns", "Words of the agent's report that reject at once, in any letter case",
        |c| SettingSlot::Strings(&mut c.negative_patterns)),
    slot_key("model", "The judge's model for this check", |c| SettingSlot::MaybeText(&mut c.model)),
    slot_key("stages", "Checks, one after the other", |c| SettingSlot::Stages(&mut c.stages)),
    slot_key("require_all", "The first required stage that fails ends the check; false: all stages run",
        |c| SettingSlot::Flag(&mut c.require_all)),
    slot_key("parallel", "Stages that are commands and stand together run side by side", |c| SettingSlot::Flag(&mut c.parallel)),
    slot_key("plugin", "An executable of .ralph/verifiers", |c| SettingSlot::MaybeText(&mut c.plugin)),
    slot_key("config", "What the plugin is told; without a plugin, the keys of the method", |c| SettingSlot::Json(&mut c.config)),
    slot_key("template", "A ready check; `ralph templates` lists them", |c| SettingSlot::MaybeText(&mut c.template)),
    slot_key("with", "The values of the template's parameters, by name", |c| SettingSlot::With(&mut c.with)),
];

/// Returns the variable that sets a key. Agents and prompt variables have none: their names are the user's.
pub(super) fn environment_variable(path: &str) -> Option<String> {
    if matches!(path, "agents" | "vars") {
        return None;
    }
    let short = path.strip_prefix("ralph.").unwrap_or(path);
    Some(format!("RALPH_{}", short.replace('.', "_").to_uppercase()))
}
