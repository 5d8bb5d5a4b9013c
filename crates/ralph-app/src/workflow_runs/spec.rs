//! The specification of a workflow run: the resolved definition and its options, as they are stored with the run.
use std::collections::BTreeMap;

use ralph_core::policy::Policy;
use ralph_core::workflow::{ChildWorkflowNode, Node, NodeId, NodeKind, Workflow};
use ralph_engine::run_driver::{StoredAgent, StoredJudge};
use serde::{Deserialize, Serialize};

/// The version of this format. A newer ralph writes a higher one.
pub const WORKFLOW_SPEC_VERSION: u32 = 1;

/// The stored half of a workflow run. A resumed run keeps it, whatever has happened to the files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowRunSpec {
    pub version: u32,
    pub workflow: Workflow,
    /// The texts of the command files that the nodes name, without their front matter.
    #[serde(default)]
    pub commands: BTreeMap<String, String>,
    /// The paths of the script files that the nodes name.
    #[serde(default)]
    pub scripts: BTreeMap<String, String>,
    /// The file of the workflow, for people.
    pub source: String,
    /// The SHA-256 of the file.
    pub file_sha256: String,
    /// The values of the named inputs, with the defaults.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// The commit and the branch on which the run started, if there are any.
    #[serde(default)]
    pub base_commit: Option<String>,
    #[serde(default)]
    pub base_branch: Option<String>,
    /// The work tree that ralph created for the run, if there is one.
    #[serde(default)]
    pub worktree: Option<String>,
    /// The agent of each agent node when the run started, by the id of the node.
    #[serde(default)]
    pub agents: BTreeMap<String, StoredAgent>,
    /// The agent of nodes that name none.
    pub default_agent: StoredAgent,
    /// The judge of the checks, if one of them needs one.
    #[serde(default)]
    pub judge: Option<StoredJudge>,
    /// The limits of the runs of agents.
    pub policy: Policy,
    /// How many agents may work at the same time.
    pub slots: u32,
    /// The cost limit of the whole run with its children, in millionths of a dollar.
    #[serde(default)]
    pub max_cost_micros: Option<u64>,
    /// The workflows that its nodes and their children start, by their names.
    #[serde(default)]
    pub children: BTreeMap<String, ChildDefinition>,
}

/// A workflow that a node starts, resolved when the run started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildDefinition {
    pub workflow: Workflow,
    #[serde(default)]
    pub commands: BTreeMap<String, String>,
    #[serde(default)]
    pub scripts: BTreeMap<String, String>,
    pub source: String,
    pub file_sha256: String,
    #[serde(default)]
    pub agents: BTreeMap<String, StoredAgent>,
    pub default_agent: StoredAgent,
    /// The judge of the checks, if one of them needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge: Option<StoredJudge>,
}

impl WorkflowRunSpec {
    /// Returns the specification of a child run of this run. Its limits, base and slots are those of this run.
    #[must_use]
    pub fn child(&self, definition: &ChildDefinition, inputs: BTreeMap<String, String>) -> Self {
        let definition = definition.clone();
        let has_children = !child_nodes(&definition.workflow.nodes).is_empty();
        Self {
            version: self.version,
            workflow: definition.workflow,
            commands: definition.commands,
            scripts: definition.scripts,
            source: definition.source,
            file_sha256: definition.file_sha256,
            inputs,
            base_commit: self.base_commit.clone(),
            base_branch: self.base_branch.clone(),
            worktree: None,
            agents: definition.agents,
            default_agent: definition.default_agent,
            judge: definition.judge,
            policy: self.policy.clone(),
            slots: self.slots,
            max_cost_micros: self.max_cost_micros,
            children: if has_children { self.children.clone() } else { BTreeMap::new() },
        }
    }
}

/// Returns the nodes that start other workflows, those of loop groups too.
#[must_use]
pub fn child_nodes(nodes: &[Node]) -> Vec<(&NodeId, &ChildWorkflowNode)> {
    let mut found = Vec::new();
    for node in nodes {
        match &node.kind {
            NodeKind::Workflow(child) => found.push((&node.id, child)),
            NodeKind::LoopGroup(group) => found.extend(child_nodes(&group.nodes)),
            NodeKind::Agent(_)
            | NodeKind::Bash(_)
            | NodeKind::Script(_)
            | NodeKind::Loop(_)
            | NodeKind::Approval(_)
            | NodeKind::Cancel { .. }
            | NodeKind::Checks(_) => {}
        }
    }
    found
}
