//! Workflows: graphs of agents, commands, loops and approvals. Whatever form a file has, it becomes one [`Workflow`].
pub mod condition;
mod definition;
mod node;

pub use definition::{AgentDefaults, InputDefinition, Workflow, WorkflowForm, WorktreeUse};
pub use node::{
    AgentNode, AgentOptions, ApprovalNode, BashNode, ChecksNode, ChildWorkflowNode, Decision, FanOut, FanOutJoin,
    LoopControl, LoopGroupNode, LoopNode, Node, NodeContext, NodeId, NodeKind, NodeRetry, PromptText, RejectRework,
    RetryScope, ScriptNode, ScriptRuntime, ScriptSource, ToolHook, TriggerRule,
};
