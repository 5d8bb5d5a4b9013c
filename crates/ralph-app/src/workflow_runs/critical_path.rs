//! The chain of nodes that decides how long a workflow run takes: each waited for the one before it.
use std::collections::BTreeMap;

use ralph_core::workflow::{Node, NodeKind, Workflow};

use super::node_report::NodeReport;

/// The nodes of the path, each with the node that it waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CriticalPath {
    predecessors: BTreeMap<String, Option<String>>,
    /// The nodes outside of groups, in the order in which they ran.
    pub nodes: Vec<String>,
}

impl CriticalPath {
    /// Finds the path to the node that ended last, or that has run longest without an end.
    #[must_use]
    pub fn find(workflow: &Workflow, reports: &[NodeReport]) -> Self {
        let mut path = Self::default();
        let nodes = path.add_graph(&workflow.nodes, reports, "");
        Self { nodes, ..path }
    }

    #[must_use]
    pub fn contains_node(&self, key: &str) -> bool {
        self.predecessors.contains_key(key)
    }

    /// Whether the node at the end of a dependency waited for this dependency longest.
    #[must_use]
    pub fn contains_edge(&self, from: &str, to: &str) -> bool {
        self.predecessors.get(to).is_some_and(|before| before.as_deref() == Some(from))
    }

    fn add_graph(&mut self, nodes: &[Node], reports: &[NodeReport], group: &str) -> Vec<String> {
        let key_of = |node: &Node| if group.is_empty() { node.id.to_string() } else { format!("{group}/{}", node.id) };
        let last_of = |candidates: &mut dyn Iterator<Item = &'_ Node>| -> Option<String> {
            let ends = candidates.filter_map(|node| {
                let key = key_of(node);
                let report = reports.iter().find(|report| report.key == key)?;
                let started = report.started_at?;
                Some((report.ended_at.unwrap_or(i64::MAX), started, key))
            });
            ends.max().map(|(_, _, key)| key)
        };
        let mut chain = Vec::new();
        let mut next = last_of(&mut nodes.iter());
        while let Some(key) = next {
            let Some(node) = nodes.iter().find(|node| key_of(node) == key) else { break };
            if let NodeKind::LoopGroup(inner) = &node.kind {
                self.add_graph(&inner.nodes, reports, &key);
            }
            next = last_of(&mut nodes.iter().filter(|other| node.depends_on.contains(&other.id)));
            self.predecessors.insert(key.clone(), next.clone());
            chain.push(key);
        }
        chain.reverse();
        chain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflows::tests::load_test_workflow;

    const DIAMOND: &str = "name: d\ndescription: d\nnodes:\n- id: start\n  bash: 'true'\n\
        - id: fast\n  depends_on: [start]\n  bash: 'true'\n- id: slow\n  depends_on: [start]\n  bash: 'true'\n\
        - id: end\n  depends_on: [fast, slow]\n  bash: 'true'\n- id: beside\n  bash: 'true'\n";

    fn report(key: &str, started_at: Option<i64>, ended_at: Option<i64>) -> NodeReport {
        NodeReport {
            key: key.to_owned(),
            status: String::new(),
            started_at,
            ended_at,
            iteration: None,
            max_iterations: None,
            cost_micros: None,
            runs: Vec::new(),
            note: None,
            condition_values: Vec::new(),
            output: None,
            history: Vec::new(),
        }
    }

    // spec: U5
    #[test]
    fn the_path_leads_through_the_dependencies_that_ended_last() {
        let workflow = load_test_workflow(DIAMOND);
        let reports = [
            report("start", Some(0), Some(10)),
            report("fast", Some(10), Some(20)),
            report("slow", Some(10), Some(90)),
            report("end", Some(90), Some(100)),
            report("beside", Some(0), Some(50)),
        ];
        let path = CriticalPath::find(&workflow, &reports);
        assert_eq!(path.nodes, ["start", "slow", "end"]);
        assert!(path.contains_edge("slow", "end"));
        assert!(!path.contains_edge("fast", "end"));
        assert!(!path.contains_node("beside"));
    }

    // spec: U5
    #[test]
    fn a_node_that_runs_is_the_end_of_the_path() {
        let workflow = load_test_workflow(DIAMOND);
        let reports = [
            report("start", Some(0), Some(10)),
            report("fast", Some(10), None),
            report("slow", Some(10), Some(90)),
            report("end", None, None),
        ];
        assert_eq!(CriticalPath::find(&workflow, &reports).nodes, ["start", "fast"]);
        assert_eq!(CriticalPath::find(&workflow, &[]), CriticalPath::default());
    }
}
