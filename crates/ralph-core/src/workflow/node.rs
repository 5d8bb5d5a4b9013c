//! The nodes of a workflow.
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition::Condition;
use crate::criterion::Criterion;

/// The name of a node, unique in its graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeId(pub String);

impl NodeId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub id: NodeId,
    #[serde(default)]
    pub description: Option<String>,
    /// Empty: the node starts at once.
    #[serde(default)]
    pub depends_on: Vec<NodeId>,
    /// The node is skipped if this is false.
    #[serde(default)]
    pub when: Option<Condition>,
    #[serde(default)]
    pub trigger_rule: TriggerRule,
    /// `None`: the default of the kind.
    #[serde(default)]
    pub retry: Option<NodeRetry>,
    /// Runs again when a run is resumed, even if it has finished.
    #[serde(default)]
    pub always_run: bool,
    /// The output is also written to `$ARTIFACTS_DIR/nodes/ID.md`, with this type.
    #[serde(default)]
    pub output_type: Option<String>,
    /// The JSON schema of the output.
    #[serde(default)]
    pub output_format: Option<Value>,
    /// Values for `$INPUTS.NAME` of a node that was included from another workflow: they hide the inputs of the run. Their
    /// texts may contain references.
    #[serde(default)]
    pub inputs: BTreeMap<String, Value>,
    #[serde(flatten)]
    pub kind: NodeKind,
}

/// The work of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NodeKind {
    /// `command:` or `prompt:`: one pass of an agent.
    Agent(Box<AgentNode>),
    Bash(BashNode),
    Script(ScriptNode),
    Loop(Box<LoopNode>),
    LoopGroup(Box<LoopGroupNode>),
    Approval(ApprovalNode),
    /// Ends the run as cancelled, for this reason.
    Cancel {
        reason: String,
    },
    /// Another workflow as a separate run.
    Workflow(ChildWorkflowNode),
    /// Criteria that must be accepted.
    Checks(ChecksNode),
}

/// The work of an agent, in one pass or in a loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgentWork<'a> {
    pub prompt: &'a PromptText,
    pub options: &'a AgentOptions,
}

impl NodeKind {
    /// Returns the work of the agent, if the kind has one.
    #[must_use]
    pub fn agent_work(&self) -> Option<AgentWork<'_>> {
        match self {
            Self::Agent(node) => Some(AgentWork { prompt: &node.prompt, options: &node.options }),
            Self::Loop(node) => Some(AgentWork { prompt: &node.prompt, options: &node.options }),
            Self::Bash(_)
            | Self::Script(_)
            | Self::LoopGroup(_)
            | Self::Approval(_)
            | Self::Cancel { .. }
            | Self::Workflow(_)
            | Self::Checks(_) => None,
        }
    }
}

/// When a node may start, by the states of its dependencies. All of them must be settled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerRule {
    /// All have completed.
    #[default]
    AllSuccess,
    /// At least one has completed.
    OneSuccess,
    /// None has failed, and at least one has completed.
    NoneFailedMinOneSuccess,
    /// All are settled, however they ended.
    AllDone,
}

/// How a failed node is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRetry {
    /// Additional attempts, 0 to 5.
    pub max_attempts: u32,
    /// The delay before the first retry; it doubles.
    pub delay_ms: u64,
    pub on_error: RetryScope,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryScope {
    /// Only failures that may pass by themselves.
    #[default]
    Transient,
    All,
}

/// The text of a prompt, before its variables are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptText {
    Inline(String),
    /// The name of a command file, which is resolved when the run starts, and the values for its inputs.
    Command {
        name: String,
        #[serde(default)]
        with: BTreeMap<String, Value>,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentNode {
    pub prompt: PromptText,
    #[serde(default)]
    pub options: AgentOptions,
}

/// How the agent of a node works.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentOptions {
    #[serde(default)]
    pub provider: Option<String>,
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub fallback_model: Option<String>,
    #[serde(default)]
    pub effort: Option<String>,
    /// `None`: decided by the graph, see [`NodeContext`].
    #[serde(default)]
    pub context: Option<NodeContext>,
    #[serde(default)]
    pub idle_timeout_ms: Option<u64>,
    /// `None`: all tools; empty: no tools.
    #[serde(default)]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(default)]
    pub denied_tools: Vec<String>,
    /// Answers to the agent's own hooks that deny a tool.
    #[serde(default)]
    pub hooks: Vec<ToolHook>,
    #[serde(default)]
    pub skills: Vec<String>,
    /// The path of an MCP configuration.
    #[serde(default)]
    pub mcp: Option<String>,
    /// Sub-agents, as the agent's program takes them.
    #[serde(default)]
    pub sub_agents: Option<Value>,
    #[serde(default)]
    pub system_prompt: Option<String>,
    #[serde(default)]
    pub max_budget_usd: Option<f64>,
}

/// A hook of the agent with a fixed answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolHook {
    /// `PreToolUse`, `PostToolUse`, …
    pub event: String,
    #[serde(default)]
    pub matcher: Option<String>,
    /// The answer, as the agent's program expects it.
    pub response: Value,
}

/// Which conversation an agent node continues. Without one: that of its only dependency, if that is an agent node with no
/// other agent dependant, else a new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeContext {
    Fresh,
    Shared,
    /// A fork of the session of this node.
    Resume(NodeId),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BashNode {
    pub script: String,
    /// In milliseconds.
    pub timeout_ms: u64,
}

impl BashNode {
    pub const DEFAULT_TIMEOUT_MS: u64 = 120_000;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScriptNode {
    pub source: ScriptSource,
    pub runtime: ScriptRuntime,
    #[serde(default)]
    pub dependencies: Vec<String>,
    /// Values for the environment of the script.
    #[serde(default)]
    pub with: BTreeMap<String, Value>,
    pub timeout_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptSource {
    Code(String),
    /// The name of a file in a scripts folder.
    Named(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptRuntime {
    Bun,
    Uv,
}

/// An agent that works until it is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopNode {
    pub prompt: PromptText,
    pub control: LoopControl,
    /// A declared boolean field of the output that ends the loop.
    #[serde(default)]
    pub until_field: Option<String>,
    #[serde(default)]
    pub options: AgentOptions,
}

/// When a loop or a loop group ends. The ways to complete are alternatives; `checks` decide about a claim.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopControl {
    /// The promise, as a tag or as a separate line.
    #[serde(default)]
    pub until: Option<String>,
    /// At least 1.
    pub max_iterations: u32,
    #[serde(default)]
    pub fresh_context: bool,
    /// Exit 0 completes the loop.
    #[serde(default)]
    pub until_bash: Option<String>,
    #[serde(default)]
    pub checks: Vec<Criterion>,
    /// Whether a person is asked after each iteration.
    #[serde(default)]
    pub interactive: bool,
    #[serde(default)]
    pub gate_message: Option<String>,
    /// Whether the signal of the agent completes an interactive loop without the person.
    #[serde(default)]
    pub signal_completes: bool,
}

/// A graph that is repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopGroupNode {
    pub control: LoopControl,
    pub nodes: Vec<Node>,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalNode {
    pub message: String,
    /// Whether the text of the answer is the output.
    #[serde(default)]
    pub capture_response: bool,
    #[serde(default)]
    pub on_reject: Option<RejectRework>,
    /// Empty: approve or reject.
    #[serde(default)]
    pub decisions: Vec<Decision>,
}

/// The rework after a rejection: an agent changes the work, and the person is asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectRework {
    pub prompt: String,
    /// 1 to 10.
    pub max_attempts: u32,
}

/// A named answer to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub id: String,
    #[serde(default)]
    pub label: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildWorkflowNode {
    pub workflow: String,
    /// The message for the child.
    #[serde(default)]
    pub input: Option<String>,
    /// Values for its named inputs.
    #[serde(default)]
    pub with: BTreeMap<String, Value>,
    /// Whether the child works in a separate work tree.
    #[serde(default)]
    pub own_worktree: bool,
    #[serde(default)]
    pub fan_out: Option<FanOut>,
}

/// One child for each item of a list that is known only at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FanOut {
    /// The text with the reference that gives the JSON array.
    pub items: String,
    /// The name of the input that gets the item.
    pub item_name: String,
    pub max_parallel: u32,
    pub join: FanOutJoin,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FanOutJoin {
    /// Failed items are data; the node completes.
    #[default]
    AllDone,
    /// A failed item fails the node.
    AllSuccess,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecksNode {
    pub criteria: Vec<Criterion>,
}
