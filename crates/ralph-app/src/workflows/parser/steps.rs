//! Reads the form `steps:`: a chain of commands, some of them side by side.
use std::collections::BTreeMap;

use ralph_core::workflow::{AgentNode, AgentOptions, Node, NodeContext, NodeId, NodeKind, PromptText, TriggerRule};
use ralph_util::yaml::DocumentNode;

use super::{DraftContent, DraftNode, node};
use crate::workflows::keys::{PARALLEL_STEP_KEYS, STEP_KEYS};
use crate::workflows::table::Table;

/// Reads the steps as a graph in which each step depends on the one before.
pub(super) fn read_steps<'a>(table: &Table<'a>) -> Option<Vec<DraftNode<'a>>> {
    let items = table.read_list("steps")?;
    if items.is_empty() {
        table.report_value("steps", "has no steps", "add at least one `- command: NAME`");
        return None;
    }
    let mut chain = StepChain { nodes: Vec::new(), previous: Vec::new(), used_ids: BTreeMap::new() };
    for (at, item) in items.iter().enumerate() {
        let Some(step) = Table::open(item, &format!("step {}", at + 1), table.problems()) else { continue };
        step.check_keys(STEP_KEYS);
        chain.add_step(&step);
    }
    Some(chain.nodes)
}

struct StepChain<'a> {
    nodes: Vec<DraftNode<'a>>,
    /// The nodes of the step before.
    previous: Vec<NodeId>,
    /// How often each command has been used.
    used_ids: BTreeMap<String, u32>,
}

impl<'a> StepChain<'a> {
    fn add_step(&mut self, step: &Table<'a>) {
        match (step.has("command"), step.has("parallel")) {
            (true, false) => {
                // A step after several has no single session to continue.
                let is_fresh = step.read_flag("clearContext").unwrap_or(false) || self.previous.len() != 1;
                let context = if is_fresh { NodeContext::Fresh } else { NodeContext::Shared };
                if let Some(node) = self.build_node(step, context) {
                    self.previous = vec![node.id.clone()];
                    self.push_node(node, step.source());
                }
            }
            (false, true) => self.add_parallel_steps(step),
            (true, true) => step.report_key("parallel", "cannot be combined with command", "write two steps"),
            (false, false) => {
                let message = format!("{}: has neither command nor parallel", step.scope());
                let hint = "write `- command: NAME`".to_owned();
                step.problems().add_error(step.position(), &message, Some(hint));
            }
        }
    }

    fn add_parallel_steps(&mut self, step: &Table<'a>) {
        let Some(items) = step.read_list("parallel") else { return };
        if items.is_empty() {
            step.report_value("parallel", "has no steps", "add at least one `- command: NAME`");
        }
        let mut ids = Vec::new();
        for item in items {
            let Some(inner) = Table::open(item, &step.child_scope("parallel"), step.problems()) else { continue };
            inner.check_keys(PARALLEL_STEP_KEYS);
            inner.read_flag("clearContext");
            if !inner.has("command") {
                inner.report_key("command", "required key is missing", "write `- command: NAME`");
            }
            if let Some(node) = self.build_node(&inner, NodeContext::Fresh) {
                ids.push(node.id.clone());
                self.push_node(node, inner.source());
            }
        }
        if !ids.is_empty() {
            self.previous = ids;
        }
    }

    fn push_node(&mut self, node: Node, source: &'a DocumentNode) {
        self.nodes.push(DraftNode { content: DraftContent::Node(Box::new(node)), source });
    }

    fn build_node(&mut self, step: &Table<'_>, context: NodeContext) -> Option<Node> {
        let name = node::read_command_name(step)?;
        let id = self.new_id(&name);
        let options = AgentOptions { context: Some(context), ..AgentOptions::default() };
        let prompt = PromptText::Command { name, with: BTreeMap::new() };
        Some(Node {
            id,
            description: None,
            depends_on: self.previous.clone(),
            when: None,
            trigger_rule: TriggerRule::AllSuccess,
            retry: None,
            always_run: false,
            output_type: None,
            output_format: None,
            inputs: BTreeMap::new(),
            kind: NodeKind::Agent(Box::new(AgentNode { prompt, options })),
        })
    }

    /// Returns the name of the command as an id, with a number if it is taken.
    fn new_id(&mut self, command: &str) -> NodeId {
        let valid = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '-' };
        let mut base: String = command.chars().map(valid).collect();
        if !base.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            base.insert_str(0, "step-");
        }
        let mut id = base.clone();
        while self.used_ids.contains_key(&id) {
            let uses = self.used_ids.entry(base.clone()).or_insert(1);
            *uses += 1;
            id = format!("{base}-{uses}");
        }
        self.used_ids.insert(id.clone(), 1);
        NodeId(id)
    }
}
