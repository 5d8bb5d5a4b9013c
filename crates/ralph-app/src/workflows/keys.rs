//! The keys of workflow files: what each accepts, for the parser, the JSON schema and suggestions.
use KeyShape::{Any, Checks, Choice, Flag, FlagOrText, ListOf, MapOf, Money, Nodes, Number, Table, Text, Texts};
use KeySupport::{NoEffect, Used};

/// A key of a table.
pub(super) struct WorkflowKey {
    pub name: &'static str,
    pub shape: KeyShape,
    pub support: KeySupport,
    pub about: &'static str,
}

/// The values that a key accepts.
#[derive(Clone, Copy)]
pub(super) enum KeyShape {
    Text,
    Flag,
    FlagOrText,
    /// A whole number between two bounds.
    Number(u64, u64),
    Money,
    Texts,
    Choice(&'static [&'static str]),
    /// Any value.
    Any,
    /// A table with any keys and values.
    MapOf(&'static KeyShape),
    Table(&'static [WorkflowKey]),
    ListOf(&'static [WorkflowKey]),
    /// The nodes of a graph.
    Nodes,
    /// Checks as in the configuration.
    Checks,
}

#[derive(Clone, Copy)]
pub(super) enum KeySupport {
    Used,
    /// Accepted for the sake of other programs; the text says why nothing changes.
    NoEffect(&'static str),
}

const fn key(name: &'static str, shape: KeyShape, about: &'static str) -> WorkflowKey {
    WorkflowKey { name, shape, support: Used, about }
}

const fn ignored(name: &'static str, shape: KeyShape, reason: &'static str) -> WorkflowKey {
    WorkflowKey { name, shape, support: NoEffect(reason), about: reason }
}

const MAX: u64 = u64::MAX;
pub(super) const MAX_ITERATIONS: u32 = 1_000_000;
const ITERATIONS: KeyShape = Number(1, MAX_ITERATIONS as u64);

#[rustfmt::skip]
pub(super) const TOP_KEYS: &[WorkflowKey] = &[
    key("name", Text, "The name, by which the workflow is started"),
    key("description", Text, "What it does; a line `Triggers: \"a\", \"b\"` lists phrases that start it"),
    key("provider", Text, "The agent of nodes that name none"),
    key("model", Text, "The model of nodes that name none: a name, small, medium, large or @ALIAS"),
    key("nodes", Nodes, "A graph of nodes"),
    key("steps", ListOf(STEP_KEYS), "A chain of commands"),
    key("loop", Table(LOOP_KEYS), "One loop; `prompt:` is its prompt"),
    key("prompt", Text, "The prompt of `loop:`"),
    key("worktree", Table(WORKTREE_KEYS), "Where a run works"),
    key("interactive", Flag, "Whether it may wait for a person; it cannot be detached then"),
    key("mutates_checkout", Flag, "false: its nodes change no file of the checkout"),
    key("effort", Text, "The reasoning effort of agents that have this setting"),
    key("modelReasoningEffort", Text, "The old name of `effort`"),
    key("evidence_policy", Table(EVIDENCE_KEYS), "Whether $ARTIFACTS_DIR/evidence.json is required"),
    key("inputs", MapOf(&Table(INPUT_KEYS)), "Named inputs, used as $INPUTS.NAME"),
    key("returns", Text, "The node whose output is the result"),
    key("outcome_field", Text, "The boolean field of the result that is the verdict"),
    key("sandbox", Any, "Isolation; refused when enabled"),
    key("container", Any, "Isolation; refused when enabled"),
    key("persist_sessions", Flag, "Sessions that outlive a run; refused when true"),
    ignored("webSearchMode", Text, "the agent's own configuration decides about web search"),
    ignored("thinking", Any, "use `effort`"),
    ignored("fallbackModel", Text, "write it on the nodes"),
    ignored("betas", Any, "ralph passes no beta flags to agents"),
    ignored("tags", Any, "tags are labels only"),
    ignored("additionalDirectories", Any, "agents work in the work tree of the run"),
    ignored("requires", Any, "a node that lacks a program fails with its error"),
];

#[rustfmt::skip]
const EVIDENCE_KEYS: &[WorkflowKey] = &[
    key("required", Flag, "true: a run completes only if $ARTIFACTS_DIR/evidence.json exists"),
];

#[rustfmt::skip]
pub(super) const WORKTREE_KEYS: &[WorkflowKey] = &[
    key("enabled", Flag, "true: always in a separate work tree; false: in the checkout; default: the caller decides"),
    ignored("baseBranch", Text, "a run starts from the current branch"),
];

#[rustfmt::skip]
pub(super) const INPUT_KEYS: &[WorkflowKey] = &[
    key("required", Flag, "Whether a value must be given"),
    key("default", FlagOrText, "The value if none is given"),
    key("description", Text, "What it is for"),
];

#[rustfmt::skip]
pub(super) const STEP_KEYS: &[WorkflowKey] = &[
    key("command", Text, "The command file with the prompt"),
    key("clearContext", Flag, "true: a new session; default: the session of the previous step"),
    key("parallel", ListOf(PARALLEL_STEP_KEYS), "Steps that run side by side"),
];

#[rustfmt::skip]
pub(super) const PARALLEL_STEP_KEYS: &[WorkflowKey] = &[
    key("command", Text, "The command file with the prompt"),
    key("clearContext", Flag, "Parallel steps always have new sessions"),
];

#[rustfmt::skip]
pub(super) const NODE_KEYS: &[WorkflowKey] = &[
    key("id", Text, "The name of the node, unique in the file"),
    key("description", Text, "Documentation"),
    key("label", Text, "Documentation"),
    key("depends_on", Texts, "The nodes that must be settled before it starts"),
    key("when", Text, "A condition; the node is skipped if it is false"),
    key("trigger_rule", Choice(TRIGGER_RULES), "Which results of the dependencies let it start"),
    key("command", Text, "Kind: an agent with the prompt of a command file"),
    key("prompt", Text, "Kind: an agent with this prompt"),
    key("bash", FlagOrText, "Kind: a script for bash"),
    key("script", Text, "Kind: code, or the name of a file in scripts/, for `runtime`"),
    key("loop", Table(LOOP_KEYS), "Kind: an agent that works until it is done"),
    key("loop_group", Table(LOOP_GROUP_KEYS), "Kind: a graph that is repeated"),
    key("approval", Table(APPROVAL_KEYS), "Kind: a question to a person"),
    key("cancel", Text, "Kind: end the run as cancelled, for this reason"),
    key("include", Text, "Kind: the nodes of another workflow, in this run"),
    key("workflow", Text, "Kind: another workflow, as a run of its own"),
    key("checks", Checks, "Kind: checks that must be accepted"),
    key("with", MapOf(&Any), "Values for the inputs of a command, script, include or workflow"),
    key("context", Any, "fresh, shared, or {resume: ID}"),
    key("provider", Text, "The agent"),
    key("model", Text, "The model"),
    key("effort", Text, "The reasoning effort"),
    key("modelReasoningEffort", Text, "The old name of `effort`"),
    key("fallbackModel", Text, "The model while the first one is overloaded"),
    key("timeout", Number(1, MAX), "Timeout of a bash or script node, in milliseconds; default 120000"),
    key("idle_timeout", Number(1, MAX), "Timeout without output of an agent, in milliseconds"),
    key("output_format", MapOf(&Any), "The JSON schema of the output"),
    key("output_type", Text, "The output is also written to $ARTIFACTS_DIR/nodes/ID.md, with this type"),
    key("allowed_tools", Texts, "The only tools of the agent; [] is none"),
    key("denied_tools", Texts, "Tools that the agent must not use"),
    key("retry", Table(RETRY_KEYS), "How failures are retried"),
    key("hooks", MapOf(&ListOf(HOOK_KEYS)), "Fixed answers to hooks of the agent"),
    key("skills", Texts, "Skills of the agent"),
    key("mcp", Text, "The path of an MCP configuration"),
    key("agents", MapOf(&Any), "Sub-agents"),
    key("systemPrompt", Text, "Replaces the agent's system prompt"),
    key("maxBudgetUsd", Money, "Spending limit of the node in US dollars"),
    key("always_run", Flag, "true: run again when the run is resumed"),
    key("runtime", Choice(&["bun", "uv"]), "What runs a script"),
    key("deps", Texts, "Packages that a script needs"),
    key("input", Text, "The message for a child workflow"),
    key("isolation", Choice(&["inherit", "worktree"]), "Where a child workflow works"),
    key("fan_out", Table(FAN_OUT_KEYS), "One child workflow for each item of a list"),
    key("sandbox", Any, "Isolation; refused when enabled"),
    key("persist_session", Flag, "A session that outlives the run; refused when true"),
    ignored("thinking", Any, "use `effort`"),
    ignored("betas", Any, "ralph passes no beta flags to agents"),
    ignored("settingSources", Any, "the agent reads its usual settings"),
    ignored("pi", Any, "these are settings of another program"),
];

pub(super) const TRIGGER_RULES: &[&str] = &["all_success", "one_success", "none_failed_min_one_success", "all_done"];

#[rustfmt::skip]
pub(super) const LOOP_KEYS: &[WorkflowKey] = &[
    key("prompt", Text, "The prompt of each iteration"),
    key("command", Text, "The command file with the prompt"),
    key("with", MapOf(&Any), "Values for the inputs of the command"),
    key("until", Text, "The promise that completes the loop"),
    key("until_bash", FlagOrText, "A script; exit 0 completes the loop"),
    key("until_field", Text, "A boolean field of `output_format` that completes the loop"),
    key("checks", Checks, "Checks that must accept a claim"),
    key("max_iterations", ITERATIONS, "The limit; the node fails when it is reached"),
    key("fresh_context", Flag, "true: a new session in each iteration"),
    key("interactive", Flag, "true: ask a person after each iteration"),
    key("gate_message", Text, "The question to the person"),
    key("signal_completes", Flag, "true: the agent may complete an interactive loop without the person"),
];

#[rustfmt::skip]
pub(super) const LOOP_GROUP_KEYS: &[WorkflowKey] = &[
    key("nodes", Nodes, "The graph of each iteration"),
    key("until", Text, "The promise that completes the loop"),
    key("until_bash", FlagOrText, "A script; exit 0 completes the loop"),
    key("checks", Checks, "Checks that must accept a claim"),
    key("max_iterations", ITERATIONS, "The limit; the node fails when it is reached"),
    key("fresh_context", Flag, "true: new sessions in each iteration"),
    key("interactive", Flag, "true: ask a person after each iteration"),
    key("gate_message", Text, "The question to the person"),
    key("signal_completes", Flag, "true: the agent may complete an interactive loop without the person"),
];

#[rustfmt::skip]
pub(super) const APPROVAL_KEYS: &[WorkflowKey] = &[
    key("message", Text, "The question"),
    key("capture_response", Flag, "true: the text of the answer is the output"),
    key("on_reject", Table(ON_REJECT_KEYS), "An agent changes the work after a rejection, then the person is asked again"),
    key("decisions", ListOf(DECISION_KEYS), "Named answers; one must be `approve`"),
];

#[rustfmt::skip]
pub(super) const ON_REJECT_KEYS: &[WorkflowKey] = &[
    key("prompt", Text, "The prompt; $REJECTION_REASON is the answer"),
    key("max_attempts", Number(1, 10), "How often; default 3"),
];

#[rustfmt::skip]
pub(super) const DECISION_KEYS: &[WorkflowKey] = &[
    key("id", Text, "The name of the decision"),
    key("label", Text, "What is shown"),
];

#[rustfmt::skip]
pub(super) const RETRY_KEYS: &[WorkflowKey] = &[
    key("max_attempts", Number(0, 5), "Additional attempts"),
    key("delay_ms", Number(1_000, 60_000), "The first delay; it doubles; default 3000"),
    key("on_error", Choice(&["transient", "all"]), "Which failures are retried; default transient"),
];

#[rustfmt::skip]
pub(super) const HOOK_KEYS: &[WorkflowKey] = &[
    key("matcher", Text, "The tools, as the agent matches them"),
    key("response", Any, "The answer, as the agent expects it"),
    key("timeout", Number(1, MAX), "The answer is fixed, so that no timeout is needed"),
];

#[rustfmt::skip]
pub(super) const FAN_OUT_KEYS: &[WorkflowKey] = &[
    key("items", Text, "A reference to a JSON array"),
    key("as", Text, "The input that gets the item; default item"),
    key("max_parallel", Number(1, 1_000), "How many run at the same time; default 5"),
    key("join", Choice(&["all_done", "all_success"]), "all_success: a failed item fails the node"),
];

/// Keys that people write instead of a key of the format, with advice.
const KNOWN_MISTAKES: &[(&str, &str)] = &[
    ("on_fail", "add a node with `trigger_rule: all_done` and a `when` that reads the result"),
    ("on_failure", "add a node with `trigger_rule: all_done` and a `when` that reads the result"),
    ("agent", "did you mean provider? It names the agent program"),
    ("needs", "did you mean depends_on?"),
    ("dependencies", "did you mean depends_on?"),
    ("if", "did you mean when?"),
    ("condition", "did you mean when?"),
    ("run", "did you mean bash?"),
    ("shell", "did you mean bash?"),
    ("name", "did you mean id, or label?"),
    ("tools", "did you mean allowed_tools?"),
    ("disallowed_tools", "did you mean denied_tools?"),
    ("max_turns", "did you mean max_iterations of a loop?"),
    ("inputs", "did you mean with?"),
    ("stages", "did you mean steps?"),
];

pub(super) fn advice_for_unknown_key(key: &str) -> Option<&'static str> {
    KNOWN_MISTAKES.iter().find(|(mistake, _)| *mistake == key).map(|(_, advice)| *advice)
}

/// The kind of a node, by the key that says what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KindKey {
    Command,
    Prompt,
    Bash,
    Script,
    Loop,
    LoopGroup,
    Approval,
    Cancel,
    Include,
    Workflow,
    Checks,
}

impl KindKey {
    pub(super) const ALL: [Self; 11] = [
        Self::Command,
        Self::Prompt,
        Self::Bash,
        Self::Script,
        Self::Loop,
        Self::LoopGroup,
        Self::Approval,
        Self::Cancel,
        Self::Include,
        Self::Workflow,
        Self::Checks,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Prompt => "prompt",
            Self::Bash => "bash",
            Self::Script => "script",
            Self::Loop => "loop",
            Self::LoopGroup => "loop_group",
            Self::Approval => "approval",
            Self::Cancel => "cancel",
            Self::Include => "include",
            Self::Workflow => "workflow",
            Self::Checks => "checks",
        }
    }

    fn is_agent(self) -> bool {
        match self {
            Self::Command | Self::Prompt | Self::Loop => true,
            Self::Bash
            | Self::Script
            | Self::LoopGroup
            | Self::Approval
            | Self::Cancel
            | Self::Include
            | Self::Workflow
            | Self::Checks => false,
        }
    }

    /// Returns what a key does on nodes of this kind.
    pub(super) fn effect_of(self, key: &str) -> KeyEffect {
        let used = |is_used: bool| if is_used { KeyEffect::Used } else { KeyEffect::None };
        match key {
            "allowed_tools" | "denied_tools" | "hooks" if self == Self::LoopGroup || self == Self::Include => {
                KeyEffect::Refused("write it on the agent nodes themselves")
            }
            "mcp" | "agents" | "skills" | "systemPrompt" | "maxBudgetUsd" if self == Self::LoopGroup => {
                KeyEffect::Refused("write it on the agent nodes of the group")
            }
            "provider"
            | "model"
            | "effort"
            | "modelReasoningEffort"
            | "fallbackModel"
            | "idle_timeout"
            | "allowed_tools"
            | "denied_tools"
            | "hooks"
            | "skills"
            | "mcp"
            | "agents"
            | "systemPrompt"
            | "maxBudgetUsd"
            | "thinking"
            | "betas"
            | "settingSources"
            | "pi" => used(self.is_agent()),
            "timeout" | "deps" | "runtime" if self == Self::Script => KeyEffect::Used,
            "timeout" => used(self == Self::Bash),
            "deps" | "runtime" => KeyEffect::None,
            "input" | "isolation" | "fan_out" if self == Self::Workflow => KeyEffect::Used,
            "input" | "isolation" | "fan_out" => KeyEffect::Refused("it belongs to a `workflow:` node"),
            "with" => match self {
                Self::Command | Self::Script | Self::Include | Self::Workflow => KeyEffect::Used,
                Self::Loop => KeyEffect::Refused("write it below `loop:`"),
                Self::Prompt | Self::Bash | Self::LoopGroup | Self::Approval | Self::Cancel | Self::Checks => {
                    KeyEffect::Refused("only command, script, include and workflow nodes have inputs")
                }
            },
            "retry" => match self {
                Self::Command | Self::Prompt | Self::Bash | Self::Script | Self::Checks => KeyEffect::Used,
                Self::Loop | Self::LoopGroup => KeyEffect::Refused("a loop repeats by itself: use max_iterations"),
                Self::Workflow | Self::Include => KeyEffect::Refused("retry the nodes of the other workflow"),
                Self::Approval | Self::Cancel => KeyEffect::None,
            },
            "output_format" | "output_type" | "always_run" if self == Self::Include => {
                KeyEffect::Refused("write it on the nodes of the included workflow")
            }
            _ => KeyEffect::Used,
        }
    }
}

/// The effect of a key on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyEffect {
    Used,
    /// Nothing, and nothing was probably expected.
    None,
    /// Ignoring it would change the meaning; the text says what to do.
    Refused(&'static str),
}
