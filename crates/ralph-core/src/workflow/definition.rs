//! The content of a workflow file, independent of its form. Files are read in `ralph-app`.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::node::{Node, NodeId};

/// A workflow. All includes are resolved, and the graph is valid: ids are unique, dependencies exist and form no cycle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workflow {
    pub name: String,
    pub description: String,
    pub form: WorkflowForm,
    /// The agent of nodes that name none.
    pub agent: AgentDefaults,
    pub worktree: WorktreeUse,
    /// Whether it may wait for a person: it cannot be detached then.
    #[serde(default)]
    pub is_interactive: bool,
    /// Whether its nodes may change the files of the checkout.
    pub mutates_checkout: bool,
    /// Whether the run may complete only if `$ARTIFACTS_DIR/evidence.json` exists.
    #[serde(default)]
    pub requires_evidence: bool,
    #[serde(default)]
    pub inputs: BTreeMap<String, InputDefinition>,
    /// The node whose output is the result.
    #[serde(default)]
    pub returns: Option<NodeId>,
    /// The boolean field of the result that is the author's verdict.
    #[serde(default)]
    pub outcome_field: Option<String>,
    /// In the order of the file.
    pub nodes: Vec<Node>,
}

/// The form of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowForm {
    /// `steps:`, a chain.
    Steps,
    /// `loop:` and `prompt:`, one loop.
    Loop,
    /// `nodes:`, a graph.
    Nodes,
}

/// The agent and model of nodes that name none; `None` is the configured one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentDefaults {
    pub provider: Option<String>,
    /// A model, or a tier (`small`, `medium`, `large`, `@alias`) that the configuration maps.
    pub model: Option<String>,
    pub effort: Option<String>,
}

/// In which files a run works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorktreeUse {
    /// In a separate work tree, unless the caller chooses the checkout.
    #[default]
    Default,
    /// Always in a separate work tree.
    Required,
    /// In the checkout itself.
    Checkout,
}

/// A named input of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputDefinition {
    #[serde(default)]
    pub required: bool,
    #[serde(default)]
    pub default: Option<String>,
    #[serde(default)]
    pub description: Option<String>,
}
