//! Workflows: graphs of agents, commands, loops and approvals. Whatever form a file has, it becomes one [`Workflow`].
pub mod condition;
mod definition;
pub mod graph;
pub mod messages;
mod node;
mod node_texts;
mod output;
pub mod output_schema;
mod prompt_text;
mod references;
pub mod script_code;
pub mod shell;
pub mod validation;
mod values;
mod variables;

pub use definition::{AgentDefaults, InputDefinition, Workflow, WorkflowForm, WorktreeUse};
pub use node::{
    AgentNode, AgentOptions, AgentWork, ApprovalNode, BashNode, ChecksNode, ChildWorkflowNode, Decision, FanOut,
    FanOutJoin, LoopControl, LoopGroupNode, LoopNode, Node, NodeContext, NodeId, NodeKind, NodeRetry, PromptText,
    RejectRework, RetryScope, ScriptNode, ScriptRuntime, ScriptSource, ToolHook, TriggerRule,
};
pub use node_texts::{NodeText, TextRole};
pub use output::{NodeOutput, OutputError, TypedOutput, value_text};
pub use prompt_text::{SubstitutedText, substitute_prompt, substitute_text};
pub use references::{FoundReference, TextReference, ValueReference, find_references};
pub use values::{TextValues, ValueError};
pub use variables::{VariableValues, WorkflowVariable, is_plain_value};
