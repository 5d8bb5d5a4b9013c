//! Tests of the graph machine. [`TestRun`] plays the executor and the store.
mod approvals;
mod costs;
mod endings;
mod fan_outs;
mod groups;
mod random_walks;
mod readiness;
mod rerun;
mod resume;
mod retries;
mod slots;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::*;
use crate::criterion::{Criterion, ExternalCheck};
use crate::receipt::ProofLevel;
use crate::workflow::condition::Condition;
use crate::workflow::{
    AgentDefaults, AgentNode, AgentOptions, ApprovalNode, BashNode, ChecksNode, ChildWorkflowNode, FanOut, FanOutJoin,
    LoopControl, LoopGroupNode, LoopNode, Node, NodeId, NodeKind, PromptText, TriggerRule, Workflow, WorkflowForm,
    WorktreeUse,
};

/// A run with a store in memory.
struct TestRun {
    graph: Graph,
    settings: GraphSettings,
    state: GraphState,
    nodes: BTreeMap<(String, u32), NodeRow>,
    items: BTreeMap<(String, u32, u32), ItemRow>,
    stopping: Option<GraphEnd>,
    /// The started activities whose end was not reported.
    active: BTreeMap<String, (ActivityId, Activity)>,
    questions: BTreeMap<String, (ActivityId, PersonQuestion)>,
    timers: BTreeMap<String, (ActivityId, u64)>,
    /// The effects of the last event, without facts.
    effects: Vec<GraphEffect>,
    /// The names of all started activities.
    started: Vec<String>,
    /// How often each node settled in each iteration of its group.
    settlements: BTreeMap<(String, u32), u32>,
    /// The size of all rows that were stored.
    written_bytes: u64,
}

impl TestRun {
    fn of(nodes: Vec<Node>) -> Self {
        Self::with_slots(nodes, 8)
    }

    fn with_slots(nodes: Vec<Node>, slots: u32) -> Self {
        Self::of_workflow(&workflow(nodes), slots)
    }

    /// Compiles and starts a workflow.
    fn of_workflow(workflow: &Workflow, slots: u32) -> Self {
        let graph = Graph::compile(workflow).unwrap();
        let inputs = BTreeMap::from([("mode".to_string(), "fast".to_string())]);
        let settings = GraphSettings { slots, max_commands: 8, inputs };
        let mut run = Self {
            state: GraphState::new(&graph, settings.clone()),
            graph,
            settings,
            nodes: BTreeMap::new(),
            items: BTreeMap::new(),
            stopping: None,
            active: BTreeMap::new(),
            questions: BTreeMap::new(),
            timers: BTreeMap::new(),
            effects: Vec::new(),
            started: Vec::new(),
            settlements: BTreeMap::new(),
            written_bytes: 0,
        };
        run.send(GraphEvent::Started);
        run
    }

    /// Advances by an event: stores the facts, and remembers what is owed.
    fn send(&mut self, event: GraphEvent) {
        let effects = advance(&self.graph, &mut self.state, event);
        self.effects = Vec::new();
        for effect in effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: GraphEffect) {
        match effect.clone() {
            GraphEffect::Record(fact) => {
                assert!(self.effects.is_empty(), "facts come first");
                return self.store(fact);
            }
            GraphEffect::Start { activity, work } => {
                let name = self.name(activity);
                self.started.push(name.clone());
                assert_eq!(self.active.insert(name, (activity, work)), None, "one activity at a time");
            }
            GraphEffect::AskPerson { activity, question } => {
                self.questions.insert(self.name(activity), (activity, question));
            }
            GraphEffect::StartTimer { activity, delay_ms } => {
                self.timers.insert(self.name(activity), (activity, delay_ms));
            }
            GraphEffect::Stop { .. }
            | GraphEffect::RefuseAnswer { .. }
            | GraphEffect::Announce(_)
            | GraphEffect::Park
            | GraphEffect::Finish(_) => {}
        }
        self.effects.push(effect);
    }

    fn store(&mut self, fact: GraphFact) {
        match fact {
            GraphFact::Node(row) => {
                self.written_bytes += serde_json::to_string(&row).unwrap().len() as u64;
                if row.state.outcome().is_some() {
                    *self.settlements.entry((row.key.clone(), row.generation)).or_default() += 1;
                }
                self.nodes.insert((row.key.clone(), row.generation), row);
            }
            GraphFact::Item(row) => {
                self.written_bytes += serde_json::to_string(&row).unwrap().len() as u64;
                self.items.insert((row.key.clone(), row.generation, row.item), row);
            }
            GraphFact::Stopping(end) => self.stopping = Some(end),
            GraphFact::Ended(_) => {}
        }
    }

    fn stored(&self) -> StoredGraph {
        StoredGraph {
            nodes: self.nodes.values().cloned().collect(),
            items: self.items.values().cloned().collect(),
            stopping: self.stopping.clone(),
        }
    }

    /// Ends the process, and continues the run in another one from the stored rows, through JSON.
    fn restart_process(&mut self) {
        let mut stored = self.stored();
        stored.nodes = stored.nodes.iter().map(through_json).collect();
        stored.items = stored.items.iter().map(through_json).collect();
        self.state = GraphState::restore(&self.graph, self.settings.clone(), &stored);
        self.active.clear();
        self.questions.clear();
        self.timers.clear();
        self.send(GraphEvent::Started);
    }

    fn name(&self, activity: ActivityId) -> String {
        let key = self.graph.node(activity.node).unwrap().key.clone();
        activity.item.map_or(key.clone(), |item| format!("{key}#{item}"))
    }

    fn index(&self, key: &str) -> NodeIndex {
        self.graph.find(key).unwrap()
    }

    fn running(&self) -> Vec<&str> {
        self.active.keys().map(String::as_str).collect()
    }

    fn end_activity(&mut self, name: &str, result: ActivityResult) {
        let (activity, _) = self.active.remove(name).unwrap_or_else(|| panic!("{name} is not active"));
        self.send(GraphEvent::ActivityEnded { activity, result });
    }

    fn complete(&mut self, name: &str, output: &str) {
        self.complete_with(name, output, None);
    }

    fn complete_with(&mut self, name: &str, output: &str, proof: Option<ProofLevel>) {
        self.end_activity(name, ActivityResult::Completed(NodeSuccess { output: output.into(), proof }));
    }

    fn fail(&mut self, name: &str, kind: FailureKind) {
        let failure = NodeFailure { reason: format!("{name} broke"), kind, child_outcome: None };
        self.end_activity(name, ActivityResult::Failed(failure));
    }

    fn judge(&mut self, name: &str, verdict: IterationVerdict) {
        self.end_activity(name, ActivityResult::Judged(verdict));
    }

    fn expire_timer(&mut self, name: &str) {
        let (activity, _) = self.timers.remove(name).unwrap();
        self.send(GraphEvent::RetryDelayOver { activity });
    }

    fn answer(&mut self, name: &str, answer: PersonAnswer) {
        let (activity, _) = self.questions.remove(name).unwrap();
        self.send(GraphEvent::PersonAnswered { activity, answer });
    }

    fn state_of(&self, key: &str) -> &NodeState {
        self.state.node(self.index(key)).unwrap()
    }

    /// The outcome of a node in one word, with the output of a completed one.
    fn outcome(&self, key: &str) -> String {
        match self.state_of(key).outcome() {
            None => "open".to_string(),
            Some(NodeOutcome::Completed { output, .. }) => format!("completed {}", output.text()).trim().to_string(),
            Some(NodeOutcome::Failed(failure)) => format!("failed: {}", failure.reason),
            Some(NodeOutcome::Skipped(_)) => "skipped".to_string(),
        }
    }

    fn end(&self) -> Option<&GraphEnd> {
        match self.state.phase() {
            GraphPhase::Ended(end) => Some(end),
            GraphPhase::NotStarted | GraphPhase::Running | GraphPhase::Waiting | GraphPhase::Stopping(_) => None,
        }
    }

    fn proof(&self) -> Option<ProofLevel> {
        self.end().unwrap().proof_level()
    }
}

/// Returns the value as it is read from the store.
fn through_json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn workflow(nodes: Vec<Node>) -> Workflow {
    Workflow {
        name: "test".to_string(),
        description: "A test".to_string(),
        form: WorkflowForm::Nodes,
        agent: AgentDefaults::default(),
        worktree: WorktreeUse::Default,
        is_interactive: false,
        mutates_checkout: true,
        requires_evidence: false,
        inputs: BTreeMap::new(),
        returns: None,
        outcome_field: None,
        nodes,
    }
}

fn node(id: &str, depends_on: &[&str], kind: NodeKind) -> Node {
    Node {
        id: NodeId(id.to_string()),
        description: None,
        depends_on: depends_on.iter().map(|id| NodeId((*id).to_string())).collect(),
        when: None,
        trigger_rule: TriggerRule::AllSuccess,
        retry: None,
        always_run: false,
        output_type: None,
        output_format: None,
        inputs: BTreeMap::new(),
        kind,
    }
}

fn bash(id: &str, depends_on: &[&str]) -> Node {
    node(id, depends_on, NodeKind::Bash(BashNode { script: "true".to_string(), timeout_ms: 1_000 }))
}

fn agent(id: &str, depends_on: &[&str]) -> Node {
    let prompt = PromptText::Inline("work".to_string());
    node(id, depends_on, NodeKind::Agent(Box::new(AgentNode { prompt, options: AgentOptions::default() })))
}

fn checks(id: &str, depends_on: &[&str]) -> Node {
    node(id, depends_on, NodeKind::Checks(ChecksNode { criteria: vec![test_check()] }))
}

fn test_check() -> Criterion {
    Criterion::from(ExternalCheck::from_shell_text("make test"))
}

fn agent_loop(id: &str, control: LoopControl) -> Node {
    let prompt = PromptText::Inline("work".to_string());
    let options = AgentOptions::default();
    node(id, &[], NodeKind::Loop(Box::new(LoopNode { prompt, control, until_field: None, options })))
}

fn approval(id: &str, depends_on: &[&str], approval: ApprovalNode) -> Node {
    node(id, depends_on, NodeKind::Approval(approval))
}

fn question(message: &str) -> ApprovalNode {
    ApprovalNode { message: message.to_string(), capture_response: false, on_reject: None, decisions: Vec::new() }
}

fn group(id: &str, depends_on: &[&str], control: LoopControl, nodes: Vec<Node>) -> Node {
    node(id, depends_on, NodeKind::LoopGroup(Box::new(LoopGroupNode { control, nodes })))
}

/// The control of a loop that ends with the line `DONE`.
fn until_done(max_iterations: u32) -> LoopControl {
    LoopControl { until: Some("DONE".to_string()), max_iterations, ..LoopControl::default() }
}

fn child(id: &str, depends_on: &[&str], fan_out: Option<FanOut>) -> Node {
    let child = ChildWorkflowNode {
        workflow: "child".to_string(),
        input: None,
        with: BTreeMap::new(),
        own_worktree: false,
        fan_out,
    };
    node(id, depends_on, NodeKind::Workflow(child))
}

fn fan_out(max_parallel: u32, join: FanOutJoin) -> Option<FanOut> {
    Some(FanOut { items: "$list.output".to_string(), item_name: "item".to_string(), max_parallel, join })
}

fn cancel(id: &str, depends_on: &[&str]) -> Node {
    node(id, depends_on, NodeKind::Cancel { reason: "not on main".to_string() })
}

fn when(condition: &str, node: Node) -> Node {
    Node { when: Some(Condition::parse(condition).unwrap()), ..node }
}

fn rule(trigger_rule: TriggerRule, node: Node) -> Node {
    Node { trigger_rule, ..node }
}
