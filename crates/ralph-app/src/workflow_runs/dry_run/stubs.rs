//! Stubs: what the nodes of a dry run give instead of working.
use std::collections::BTreeMap;
use std::path::Path;

use ralph_core::workflow::graph::{CompiledNode, Graph};
use ralph_core::workflow::{NodeKind, value_text};
use ralph_util::{suggest, yaml};
use serde::Deserialize;
use serde_json::Value;

use super::source::DryRunSource;
use crate::workflows::{read_text_file, to_json};

const MAX_STUB_FILE_BYTES: usize = 8 << 20;

/// The stubs of all nodes, by the path of the node: `ID`, or `GROUP/ID` in a loop group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StubSet {
    stubs: BTreeMap<String, Vec<NodeStub>>,
}

/// The result of a node in one attempt, iteration or question.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NodeStub {
    pub output: Option<Value>,
    /// The reason of a failure.
    pub fail: Option<String>,
    /// Whether the failure may pass by itself, so that it is retried.
    pub transient: bool,
    /// For loops and loop groups: whether the iteration completes them.
    pub done: Option<bool>,
    pub decision: Option<String>,
    /// The text of the person.
    pub text: Option<String>,
    /// The list of a fan-out.
    pub items: Option<Vec<Value>>,
    /// The stubs of its items; the last one repeats.
    pub each: Vec<NodeStub>,
    /// The stubs of the nodes of a child workflow.
    pub nodes: Option<StubSet>,
}

/// The form of a stub in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StubTable {
    output: Option<Value>,
    fail: Option<String>,
    #[serde(default)]
    transient: bool,
    done: Option<bool>,
    decision: Option<String>,
    text: Option<Value>,
    items: Option<Vec<Value>>,
    #[serde(default)]
    each: Vec<Value>,
    nodes: Option<Value>,
}

/// Why stubs cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StubError {
    #[error("{file}: {reason}")]
    Unreadable { file: String, reason: String },
    #[error("{file}:{line}:{column}: {message}")]
    Syntax { file: String, line: u64, column: u64, message: String },
    #[error("stubs are a table of nodes")]
    NotATable,
    #[error("stub of {node}: {reason}")]
    Invalid { node: String, reason: String },
    #[error("there is a stub for {node}, which is not a node of the workflow; {hint}")]
    UnknownNode { node: String, hint: String },
    #[error("stub of {node}: `{key}` has no effect for {reason}")]
    NoEffect { node: String, key: &'static str, reason: String },
}

impl StubError {
    /// Returns the error with this path before the name of its node.
    fn below(mut self, path: &str) -> Self {
        match &mut self {
            Self::Invalid { node, .. } | Self::UnknownNode { node, .. } | Self::NoEffect { node, .. } => {
                *node = format!("{path} > {node}");
            }
            Self::Unreadable { .. } | Self::Syntax { .. } | Self::NotATable => {}
        }
        self
    }
}

/// Reads a YAML file as JSON.
pub(super) fn read_yaml_file(path: &Path) -> Result<Value, StubError> {
    let file = path.display().to_string();
    let text = read_text_file(path, MAX_STUB_FILE_BYTES)
        .map_err(|reason| StubError::Unreadable { file: file.clone(), reason })?;
    let document = yaml::parse(&text).map_err(|error| StubError::Syntax {
        file,
        line: error.line,
        column: error.column,
        message: error.message,
    })?;
    Ok(to_json(&document))
}

/// Reads a file of stubs.
pub fn read_stub_file(path: &Path) -> Result<StubSet, StubError> {
    StubSet::from_json(&read_yaml_file(path)?)
}

impl StubSet {
    /// Reads the stubs of nodes from a table.
    pub fn from_json(value: &Value) -> Result<Self, StubError> {
        let nodes = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(nodes) => nodes,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(StubError::NotATable);
            }
        };
        let mut stubs = BTreeMap::new();
        for (node, value) in nodes {
            let invalid = |reason| StubError::Invalid { node: node.clone(), reason };
            let sequence = match value {
                Value::Array(values) if values.is_empty() => return Err(invalid("the list is empty".to_owned())),
                Value::Array(values) => values.iter().map(NodeStub::from_json).collect::<Result<_, _>>(),
                single => NodeStub::from_json(single).map(|stub| vec![stub]),
            };
            stubs.insert(node.clone(), sequence.map_err(invalid)?);
        }
        Ok(Self { stubs })
    }

    /// Checks that every stub belongs to a node, and that the node can use it.
    pub(super) fn check(&self, graph: &Graph, source: &DryRunSource) -> Result<(), StubError> {
        let nodes: BTreeMap<&str, &CompiledNode> = graph.nodes().map(|(_, node)| (node.key.as_str(), node)).collect();
        for (key, sequence) in &self.stubs {
            let Some(node) = nodes.get(key.as_str()) else {
                let known: Vec<&str> = nodes.keys().copied().collect();
                return Err(StubError::UnknownNode { node: key.clone(), hint: suggest::suggestion_hint(key, &known) });
            };
            for stub in sequence {
                stub.check(node, source)?;
            }
        }
        Ok(())
    }

    /// Returns the stub for this use of a node, from 0. The last one repeats.
    pub(super) fn find(&self, node: &str, position: usize) -> Option<&NodeStub> {
        let sequence = self.stubs.get(node)?;
        sequence.get(position).or_else(|| sequence.last())
    }
}

impl NodeStub {
    fn from_json(value: &Value) -> Result<Self, String> {
        if value.is_null() {
            return Err("it is empty; write a text, or a table such as {output: …}".to_owned());
        }
        if !value.is_object() {
            return Ok(Self { output: Some(value.clone()), ..Self::default() });
        }
        let table: StubTable = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
        let StubTable { output, fail, transient, done, decision, text, items, each, nodes } = table;
        if output.is_some() && fail.is_some() {
            return Err("a node has either `output` or `fail`".to_owned());
        }
        if nodes.is_some() && (output.is_some() || fail.is_some()) {
            return Err("with `output` or `fail`, the `nodes` of the child workflow do not run".to_owned());
        }
        let nodes = nodes.as_ref().map(StubSet::from_json).transpose();
        if transient && fail.is_none() {
            return Err("`transient` needs `fail`".to_owned());
        }
        Ok(Self {
            output,
            fail,
            transient,
            done,
            decision,
            text: text.as_ref().map(|text| value_text(text).into_owned()),
            items,
            each: each.iter().map(Self::from_json).collect::<Result<_, _>>()?,
            nodes: nodes.map_err(|error| error.to_string())?,
        })
    }

    /// Returns the output as text.
    pub(super) fn output_text(&self) -> Option<String> {
        self.output.as_ref().map(|output| value_text(output).into_owned())
    }

    fn used_keys(&self) -> Vec<&'static str> {
        let keys = [
            ("output", self.output.is_some()),
            ("fail", self.fail.is_some()),
            ("done", self.done.is_some()),
            ("decision", self.decision.is_some()),
            ("text", self.text.is_some()),
            ("items", self.items.is_some()),
            ("each", !self.each.is_empty()),
            ("nodes", self.nodes.is_some()),
        ];
        keys.into_iter().filter(|(_, is_used)| *is_used).map(|(key, _)| key).collect()
    }

    fn check(&self, node: &CompiledNode, source: &DryRunSource) -> Result<(), StubError> {
        let (allowed, reason) = usable_keys(&node.definition.kind);
        self.check_keys(&node.key, allowed, reason)?;
        let NodeKind::Workflow(child) = &node.definition.kind else { return Ok(()) };
        self.check_nodes(&node.key, &child.workflow, source)?;
        for (position, item) in self.each.iter().enumerate() {
            let key = format!("{}[{position}]", node.key);
            item.check_keys(&key, CHILD_KEYS, "an item of a fan-out")?;
            item.check_nodes(&key, &child.workflow, source)?;
        }
        Ok(())
    }

    fn check_keys(&self, node: &str, allowed: &[&str], reason: &str) -> Result<(), StubError> {
        match self.used_keys().into_iter().find(|key| !allowed.contains(key)) {
            Some(key) => Err(StubError::NoEffect { node: node.to_owned(), key, reason: reason.to_owned() }),
            None => Ok(()),
        }
    }

    /// Checks the stubs of the nodes of a child workflow.
    fn check_nodes(&self, node: &str, workflow: &str, source: &DryRunSource) -> Result<(), StubError> {
        let Some(stubs) = &self.nodes else { return Ok(()) };
        let invalid = |reason| StubError::Invalid { node: node.to_owned(), reason };
        let child = source.children.get(workflow);
        let child = child.ok_or_else(|| invalid(format!("the workflow {workflow} cannot be loaded")))?;
        let graph = child.compile().map_err(|error| invalid(error.to_string()))?;
        stubs.check(&graph, source).map_err(|error| error.below(node))
    }
}

/// The keys of stubs of a child workflow.
const CHILD_KEYS: &[&str] = &["output", "fail", "nodes"];

/// Returns the keys of stubs that a kind of node uses, and what the kind is called.
fn usable_keys(kind: &NodeKind) -> (&'static [&'static str], &'static str) {
    match kind {
        NodeKind::Agent(_) | NodeKind::Bash(_) | NodeKind::Script(_) => {
            (&["output", "fail"], "an agent, bash or script node")
        }
        NodeKind::Checks(_) => (&["fail"], "a checks node"),
        NodeKind::Loop(node) if node.control.interactive => {
            (&["output", "fail", "done", "decision", "text"], "an interactive loop")
        }
        NodeKind::Loop(_) => (&["output", "fail", "done"], "a loop that asks no person"),
        NodeKind::LoopGroup(group) => {
            let is_judged = group.control.until_bash.is_some() || !group.control.checks.is_empty();
            match (is_judged, group.control.interactive) {
                (true, true) => (&["done", "fail", "decision", "text"], "an interactive loop group"),
                (true, false) => (&["done", "fail"], "a loop group that asks no person"),
                (false, true) => (&["decision", "text"], "a loop group without `until_bash` and `checks`"),
                (false, false) => (&[], "a loop group that ends by the output of its nodes"),
            }
        }
        NodeKind::Approval(_) => (&["decision", "text"], "an approval"),
        NodeKind::Cancel { .. } => (&[], "a cancel node"),
        NodeKind::Workflow(child) if child.fan_out.is_some() => (&["items", "each", "fail"], "a fan-out"),
        NodeKind::Workflow(_) => (CHILD_KEYS, "a child workflow"),
    }
}
