//! Every key of the configuration, once: its path, what it means, and the place in the settings that it fills.
use std::collections::BTreeMap;
use std::time::Duration;

use ralph_core::criterion::template::Values;
use ralph_core::criterion::{CheckCommand, ExternalCheck};

use super::checks::WrittenStage;
use super::origin::Setting;
use super::settings::{AgentSettings, Settings};
use super::slot::{Bounds, Slot};

/// One key of a table.
pub(super) struct Key<S> {
    /// Names joined by dots.
    pub path: &'static str,
    pub help: &'static str,
    pub place: Place<S>,
}

pub(super) enum Place<S> {
    Slot(for<'a> fn(&'a mut S) -> Slot<'a>),
    /// Known, but without effect in this version: only its default, as YAML, may be written.
    Later {
        default: &'static str,
    },
}

const fn key<S>(path: &'static str, help: &'static str, slot: for<'a> fn(&'a mut S) -> Slot<'a>) -> Key<S> {
    Key { path, help, place: Place::Slot(slot) }
}

const fn later(path: &'static str, default: &'static str, help: &'static str) -> Key<Settings> {
    Key { path, help, place: Place::Later { default } }
}

#[rustfmt::skip]
pub(super) const KEYS: &[Key<Settings>] = &[
    key("agent", "The agent: claude, codex, another that `ralph agents` lists, or one of `agents`", |s| Slot::Text(&mut s.agent)),
    key("model", "The model, in the agent's own words", |s| Slot::MaybeText(&mut s.model)),
    key("permission", "What the agent may do unasked: ask, edits or full; without it, what is usual for the agent",
        |s| Slot::MaybePermission(&mut s.permission)),
    key("agents", "Agents that are changed or added, by name", |s| Slot::Agents(&mut s.agents)),
    key("fallback", "Agents that take over, with fresh context, while those before them are rate limited",
        |s| Slot::Texts(&mut s.fallback)),
    key("context", "continue: the agent of `run` goes on in its own session; fresh: it remembers nothing",
        |s| Slot::Context(&mut s.context)),
    key("checks", "What must hold before a claim is believed: commands, or tables with another method", |s| Slot::Checks(&mut s.checks)),
    key("specs_dir", "The folder of the specifications; $SPECS_DIR in prompts", |s| Slot::Text(&mut s.specs_dir)),
    key("vars", "Variables for prompts, by name", |s| Slot::Table(&mut s.vars)),
    key("ralph.default_max_iterations", "Most iterations where nothing else is said",
        |s| Slot::Count(&mut s.default_max_iterations, Bounds::ITERATIONS)),
    key("ralph.enabled", "true: stages of tasks are loops; false: single passes", |s| Slot::Flag(&mut s.roles.enabled)),
    key("ralph.default_verification", "How roles of your own are verified: string_match or semantic",
        |s| Slot::Method(&mut s.roles.default_verification)),
    key("ralph.verify_promises", "Claims of stages are verified; false: the claim alone decides",
        |s| Slot::Flag(&mut s.roles.verify_promises)),
    key("ralph.coder.enabled", "The stage is a loop; false: a single pass, still checked", |s| Slot::Flag(&mut s.roles.coder.enabled)),
    key("ralph.coder.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| Slot::Count(&mut s.roles.coder.max_iterations, Bounds::ITERATIONS)),
    key("ralph.coder.completion_promise", "The promise of the stage, where its task says nothing",
        |s| Slot::Text(&mut s.roles.coder.completion_promise)),
    key("ralph.coder.agent", "The agent of the stage", |s| Slot::MaybeText(&mut s.roles.coder.agent)),
    key("ralph.coder.model", "The model of the stage", |s| Slot::MaybeText(&mut s.roles.coder.model)),
    key("ralph.coder.role_check", "A claim needs a commit since the stage began; false: it does not",
        |s| Slot::Switch(&mut s.roles.coder.role_check)),
    key("ralph.reviewer.enabled", "The stage is a loop; false: a single pass, still checked", |s| Slot::Flag(&mut s.roles.reviewer.enabled)),
    key("ralph.reviewer.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| Slot::Count(&mut s.roles.reviewer.max_iterations, Bounds::ITERATIONS)),
    key("ralph.reviewer.completion_promise", "The promise of the stage, where its task says nothing",
        |s| Slot::Text(&mut s.roles.reviewer.completion_promise)),
    key("ralph.reviewer.agent", "The agent of the stage", |s| Slot::MaybeText(&mut s.roles.reviewer.agent)),
    key("ralph.reviewer.model", "The model of the stage", |s| Slot::MaybeText(&mut s.roles.reviewer.model)),
    key("ralph.reviewer.role_check", "A promise beside `<reject>` is no approval; false: it is",
        |s| Slot::Switch(&mut s.roles.reviewer.role_check)),
    key("ralph.tester.enabled", "The stage is a loop; false: a single pass, still checked", |s| Slot::Flag(&mut s.roles.tester.enabled)),
    key("ralph.tester.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| Slot::Count(&mut s.roles.tester.max_iterations, Bounds::ITERATIONS)),
    key("ralph.tester.completion_promise", "The promise of the stage, where its task says nothing",
        |s| Slot::Text(&mut s.roles.tester.completion_promise)),
    key("ralph.tester.agent", "The agent of the stage", |s| Slot::MaybeText(&mut s.roles.tester.agent)),
    key("ralph.tester.model", "The model of the stage", |s| Slot::MaybeText(&mut s.roles.tester.model)),
    key("ralph.tester.role_check", "A note says where no command stands behind the claim; false: none",
        |s| Slot::Switch(&mut s.roles.tester.role_check)),
    key("ralph.qa.enabled", "The stage is a loop; false: a single pass, still checked", |s| Slot::Flag(&mut s.roles.qa.enabled)),
    key("ralph.qa.max_iterations", "Most iterations of the stage, where its task says nothing",
        |s| Slot::Count(&mut s.roles.qa.max_iterations, Bounds::ITERATIONS)),
    key("ralph.qa.completion_promise", "The promise of the stage, where its task says nothing",
        |s| Slot::Text(&mut s.roles.qa.completion_promise)),
    key("ralph.qa.agent", "The agent of the stage", |s| Slot::MaybeText(&mut s.roles.qa.agent)),
    key("ralph.qa.model", "The model of the stage", |s| Slot::MaybeText(&mut s.roles.qa.model)),
    key("limits.iteration_timeout", "Longest time for one iteration", |s| Slot::Time(&mut s.limits.iteration_timeout)),
    key("limits.idle_timeout", "Longest silence of the agent", |s| Slot::Time(&mut s.limits.idle_timeout)),
    key("limits.after_result", "How long the agent may stay alive after its final record",
        |s| Slot::Time(&mut s.limits.after_result)),
    key("limits.retrying_timeout", "How long the agent may do nothing but repeat requests that failed",
        |s| Slot::Time(&mut s.limits.retrying_timeout)),
    key("limits.handshake_timeout", "How long an agent that is talked to (acp) may take to open a session",
        |s| Slot::Time(&mut s.limits.handshake_timeout)),
    key("limits.max_rate_limit_wait", "Longest waiting for rate limits in a run, all waits together",
        |s| Slot::Time(&mut s.limits.max_rate_limit_wait)),
    key("limits.grace", "Time to clean up between being asked to stop and being killed",
        |s| Slot::Time(&mut s.limits.grace)),
    key("limits.max_retries", "How often a failed start of the agent is tried again within its iteration",
        |s| Slot::Count(&mut s.limits.max_retries, Bounds::RETRIES)),
    key("limits.max_memory", "Most memory of an agent with all its descendants",
        |s| Slot::MaybeSize(&mut s.limits.max_memory)),
    key("limits.log_limit", "Most room for the raw logs of a run: of what is longer, beginning and end are kept",
        |s| Slot::Size(&mut s.limits.log_limit)),
    key("signals.match", "loose: letter case is ignored; exact: it counts, and the tag stands alone on its line",
        |s| Slot::Matching(&mut s.signals.matching)),
    key("signals.scope", "final: only the agent's last message counts; iteration: any of them",
        |s| Slot::Scope(&mut s.signals.scope)),
    key("signals.nonce", "Asks for a new id in the tag each iteration", |s| Slot::Flag(&mut s.signals.nonce)),
    key("signals.contradictions", "Rejects a claim whose own message says that work is open; a list adds phrases",
        |s| Slot::Contradictions(&mut s.signals.contradictions)),
    key("verification.baseline", "Runs the checks once before the first iteration: one that passes already proves nothing",
        |s| Slot::Switch(&mut s.verification.baseline)),
    key("verification.isolation", "workspace: claims are checked in the work tree; clean: in a fresh checkout of the commit",
        |s| Slot::Isolation(&mut s.verification.isolation)),
    key("verification.setup", "Commands that make a fresh checkout fit for the checks", |s| Slot::Texts(&mut s.verification.setup)),
    key("verification.share", "Folders of the work tree that a fresh checkout borrows, such as node_modules",
        |s| Slot::Texts(&mut s.verification.share)),
    key("verification.cache", "Reuses what a check said that accepted the same files before, in the same run",
        |s| Slot::Switch(&mut s.verification.cache)),
    key("verification.role_checks", "Whether roles are held to their duties at all: see ralph.ROLE.role_check",
        |s| Slot::Switch(&mut s.verification.role_checks)),
    key("verification.require_criteria", "Refuses to begin where nothing more than the agent's own word would decide",
        |s| Slot::Switch(&mut s.verification.require_criteria)),
    key("verification.guard", "Files that must not change before a claim, as in a .gitignore", |s| Slot::Texts(&mut s.verification.guard)),
    key("verification.allow_changes", "Files that may change although they are sealed, as in a .gitignore",
        |s| Slot::Texts(&mut s.verification.allow_changes)),
    key("pipeline.stages", "The roles that work on a task one after the other", |s| Slot::Texts(&mut s.pipeline.stages)),
    key("pipeline.slots", "Tasks that `ralph work` drives at once", |s| Slot::Count(&mut s.pipeline.slots, Bounds::SLOTS)),
    key("pipeline.max_rounds", "How often a judging role may send a task back before it is blocked",
        |s| Slot::Count(&mut s.pipeline.max_rounds, Bounds::RETRIES)),
    key("pipeline.max_attempts", "How often a task may fail before it is blocked",
        |s| Slot::Count(&mut s.pipeline.max_attempts, Bounds::ITERATIONS)),
    key("pipeline.lease", "How long a worker may be silent before another one takes its task",
        |s| Slot::Time(&mut s.pipeline.lease)),
    key("pipeline.land", "manual: `ralph land` merges finished work; auto: `ralph work` does, as soon as a task is done",
        |s| Slot::Landing(&mut s.pipeline.land)),
    key("pipeline.setup", "Commands that make a new work tree fit for work, such as npm ci",
        |s| Slot::Texts(&mut s.pipeline.setup)),
    key("limits.max_cost_usd", "Most money of a run, with its retries and judges; without it there is no limit",
        |s| Slot::MaybeMoney(&mut s.limits.max_cost_usd)),
    key("limits.max_tokens", "Most tokens of a run, in and out together: 200000, 500k, 2M",
        |s| Slot::MaybeTokens(&mut s.limits.max_tokens)),
    key("limits.max_duration", "Longest time of a run, without the time before it was resumed",
        |s| Slot::Time(&mut s.limits.max_duration)),
    key("limits.task.max_cost_usd", "Most money of all runs of a task together, stages, retries and judges",
        |s| Slot::MaybeMoney(&mut s.limits.task.max_cost_usd)),
    key("limits.task.max_tokens", "Most tokens of all runs of a task together",
        |s| Slot::MaybeTokens(&mut s.limits.task.max_tokens)),
    key("limits.task.max_duration", "Longest time of all runs of a task together",
        |s| Slot::MaybeTime(&mut s.limits.task.max_duration)),
    key("limits.task.max_iterations", "Most iterations of all runs of a task together",
        |s| Slot::MaybeCount(&mut s.limits.task.max_iterations, Bounds::ITERATIONS)),
    key("limits.spec.max_cost_usd", "Most money of all runs of a spec's tasks together",
        |s| Slot::MaybeMoney(&mut s.limits.spec.max_cost_usd)),
    key("limits.spec.max_tokens", "Most tokens of all runs of a spec's tasks together",
        |s| Slot::MaybeTokens(&mut s.limits.spec.max_tokens)),
    key("limits.spec.max_duration", "Longest time of all runs of a spec's tasks together, also where they work side by side",
        |s| Slot::MaybeTime(&mut s.limits.spec.max_duration)),
    key("limits.spec.max_iterations", "Most iterations of all runs of a spec's tasks together",
        |s| Slot::MaybeCount(&mut s.limits.spec.max_iterations, Bounds::ITERATIONS)),
    key("limits.require_known_cost", "Refuses an agent that does not tell what it costs",
        |s| Slot::Flag(&mut s.limits.require_known_cost)),
    key("stall.iterations", "Iterations in a row that change nothing and end the run as stalled; 0: none do; off in classic mode unless set",
        |s| Slot::Count(&mut s.stall_iterations, Bounds::RETRIES)),
    key("verification.judge.agent", "The agent that judges: claude, codex, or one of `agents` of type text",
        |s| Slot::Text(&mut s.judge.agent)),
    key("verification.judge.api", "The API that judges instead of an agent: anthropic (messages) or openai (chat completions)",
        |s| Slot::MaybeApi(&mut s.judge.api)),
    key("verification.judge.url", "The whole address of the API, where it is not its vendor's: https, or http of this machine",
        |s| Slot::MaybeText(&mut s.judge.url)),
    key("verification.judge.key_env", "The variable that holds the API's key; the key itself never stands here",
        |s| Slot::MaybeText(&mut s.judge.key_env)),
    key("verification.judge.model", "The model that judges; without it a cheap one of the agent's, and an API must be told",
        |s| Slot::MaybeText(&mut s.judge.model)),
    key("verification.judge.on_error", "When the judge fails: reject, or string_match (the claim alone counts, unverified)",
        |s| Slot::OnError(&mut s.judge.on_error)),
    key("verification.judge.timeout", "Longest time for one question to the judge",
        |s| Slot::Time(&mut s.judge.timeout)),
    key("session.enabled", "Loops inside agent sessions; false: none can be started", |s| Slot::Flag(&mut s.session.enabled)),
    key("session.max_iterations", "Most iterations of a loop in a session",
        |s| Slot::Count(&mut s.session.max_iterations, Bounds::ITERATIONS)),
    key("session.promise", "The promise of a loop in a session", |s| Slot::Text(&mut s.session.promise)),
    key("session.continuation_delay", "Time before ralph itself puts a prompt into a session",
        |s| Slot::Time(&mut s.session.continuation_delay)),
    later("store", "sqlite", "The database"),
    later("notify", "[]", "Who is told of outcomes"),
    later("sandbox", "off", "What confines agents and checks"),
];

/// The keys of one agent below `agents`.
#[rustfmt::skip]
pub(super) const AGENT_KEYS: &[Key<AgentSettings>] = &[
    key("type", "The adapter, as `ralph agents` lists them; the agent's own name if that is one",
        |a| Slot::MaybeText(&mut a.kind)),
    key("cli", "The program; with a slash it is meant from the project's root", |a| Slot::MaybeText(&mut a.cli)),
    key("args", "Arguments in place of the preset's", |a| Slot::MaybeTexts(&mut a.args)),
    key("env", "Variables for the agent, by name", |a| Slot::Table(&mut a.env)),
    key("output_format", "How its output is read: text, claude, codex or another agent's format; json: as its type has it",
        |a| Slot::MaybeFormat(&mut a.output_format)),
    key("response_filter", "A jq expression whose values are the agent's own text",
        |a| Slot::MaybeText(&mut a.response_filter)),
    key("display_filter", "A jq expression for what is shown", |a| Slot::MaybeText(&mut a.display_filter)),
    key("model", "The model of this agent", |a| Slot::MaybeText(&mut a.model)),
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
    pub stages: Setting<Vec<WrittenStage>>,
    pub require_all: Setting<bool>,
    pub parallel: Setting<bool>,
    pub plugin: Setting<Option<String>>,
    pub config: Setting<Option<serde_json::Value>>,
    pub template: Setting<Option<String>>,
    pub with: Setting<BTreeMap<String, Values>>,
}

impl Default for CheckDraft {
    fn default() -> Self {
        Self {
            required: Setting::built_in(true),
            require_all: Setting::built_in(true),
            timeout: Setting::built_in(Duration::from_millis(ExternalCheck::USUAL_TIMEOUT_MS)),
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
pub(super) const CHECK_KEYS: &[Key<CheckDraft>] = &[
    key("name", "What people call it", |c| Slot::MaybeText(&mut c.name)),
    key("method", "string_match, external, semantic, multi_stage or plugin; without it, what the other keys say",
        |c| Slot::MaybeText(&mut c.method)),
    key("retries", "How often a failure is looked at again; that is told", |c| Slot::Count(&mut c.retries, Bounds::CHECK_RETRIES)),
    key("required", "In a stage: false only warns", |c| Slot::Flag(&mut c.required)),
    key("command", "A text for /bin/sh -c, or a list: a program and its arguments", |c| Slot::Command(&mut c.command)),
    key("success_exit_code", "The exit code that means success",
        |c| Slot::Count(&mut c.success_exit_code, Bounds::EXIT_CODES)),
    key("output_contains", "A text that the output must hold", |c| Slot::MaybeText(&mut c.output_contains)),
    key("output_not_contains", "A text that the output must not hold",
        |c| Slot::MaybeText(&mut c.output_not_contains)),
    key("timeout", "Longest time for a command or a plugin", |c| Slot::Time(&mut c.timeout)),
    key("working_dir", "The folder for the command, inside the work tree", |c| Slot::MaybeText(&mut c.working_dir)),
    key("env", "Variables for the command, by name", |c| Slot::Table(&mut c.env)),
    key("check_for", "What a judge must find to be true, one finding each", |c| Slot::Strings(&mut c.check_for)),
    key("negative_patterns", "Words of the agent's report that reject at once, in any letter case",
        |c| Slot::Strings(&mut c.negative_patterns)),
    key("model", "The judge's model for this check", |c| Slot::MaybeText(&mut c.model)),
    key("stages", "Checks, one after the other", |c| Slot::Stages(&mut c.stages)),
    key("require_all", "The first required stage that fails ends the check; false: all stages run",
        |c| Slot::Flag(&mut c.require_all)),
    key("parallel", "Stages that are commands and stand together run side by side", |c| Slot::Flag(&mut c.parallel)),
    key("plugin", "An executable of .ralph/verifiers", |c| Slot::MaybeText(&mut c.plugin)),
    key("config", "What the plugin is told; without a plugin, the keys of the method", |c| Slot::Json(&mut c.config)),
    key("template", "A ready check; `ralph templates` lists them", |c| Slot::MaybeText(&mut c.template)),
    key("with", "The values of the template's parameters, by name", |c| Slot::With(&mut c.with)),
];

/// Returns the variable that sets a key. Agents and prompt variables have none: their names are the user's.
pub(super) fn variable(path: &str) -> Option<String> {
    if matches!(path, "agents" | "vars") {
        return None;
    }
    let short = path.strip_prefix("ralph.").unwrap_or(path);
    Some(format!("RALPH_{}", short.replace('.', "_").to_uppercase()))
}
