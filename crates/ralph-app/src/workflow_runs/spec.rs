//! The specification of a workflow run: the resolved definition and its options, as they are stored with the run.
use std::collections::BTreeMap;

use ralph_core::policy::Policy;
use ralph_core::workflow::Workflow;
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
}
