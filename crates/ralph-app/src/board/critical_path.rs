//! The critical path of a workflow run: the chain of dependent nodes that has taken the longest, and so decides when it ends.
use std::collections::BTreeMap;

use crate::view::format_age;

/// A node with its dependencies and its working time so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimedNode {
    pub id: String,
    pub depends_on: Vec<String>,
    pub millis: u64,
}

/// The nodes of the path in the order in which they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CriticalPath(Vec<TimedNode>);

/// The longest chain that ends with a node.
#[derive(Clone, Copy)]
struct LongestChain {
    millis: u64,
    before: Option<usize>,
}

impl CriticalPath {
    /// Finds the path among nodes that come after their dependencies. Returns `None` if no node has started.
    pub(super) fn find(nodes: &[TimedNode]) -> Option<Self> {
        let mut chains: BTreeMap<&str, usize> = BTreeMap::new();
        let mut longest: Vec<LongestChain> = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            let positions = node.depends_on.iter().filter_map(|id| chains.get(id.as_str()).copied());
            // Nodes that have not started are not part of the path yet.
            let before = positions.filter(|before| longest.get(*before).is_some_and(|chain| chain.millis > 0));
            let before = before.max_by_key(|before| longest.get(*before).map_or(0, |chain| chain.millis));
            let earlier = before.and_then(|before| longest.get(before)).map_or(0, |chain| chain.millis);
            longest.push(LongestChain { millis: earlier.saturating_add(node.millis), before });
            chains.insert(&node.id, at);
        }
        let started = (0..nodes.len()).filter(|at| nodes.get(*at).is_some_and(|node| node.millis > 0));
        let mut next = started.max_by_key(|at| longest.get(*at).map_or(0, |chain| chain.millis));
        let mut path = Vec::new();
        while let Some(at) = next {
            path.extend(nodes.get(at).cloned());
            next = longest.get(at).and_then(|chain| chain.before);
        }
        path.retain(|node| node.millis > 0);
        path.reverse();
        (!path.is_empty()).then_some(Self(path))
    }

    pub(super) fn contains(&self, id: &str) -> bool {
        self.0.iter().any(|node| node.id == id)
    }

    /// Returns `plan 2m → code 14m (16m)`.
    pub(super) fn describe(&self) -> String {
        let nodes: Vec<String> = self.0.iter().map(|node| format!("{} {}", node.id, format_age(node.millis))).collect();
        let total = self.0.iter().map(|node| node.millis).sum();
        format!("{} ({})", nodes.join(" → "), format_age(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, depends_on: &[&str], minutes: u64) -> TimedNode {
        let depends_on = depends_on.iter().map(|id| (*id).to_owned()).collect();
        TimedNode { id: id.to_owned(), depends_on, millis: minutes * 60_000 }
    }

    // spec: U4
    #[test]
    fn the_critical_path_is_the_chain_that_takes_the_longest() {
        let nodes = [
            node("plan", &[], 2),
            node("docs", &["plan"], 3),
            node("code", &["plan"], 14),
            node("review", &["docs", "code"], 4),
            node("publish", &["review"], 0),
        ];
        let path = CriticalPath::find(&nodes).unwrap();
        assert_eq!(path.describe(), "plan 2m → code 14m → review 4m (20m)");
        assert_eq!((path.contains("code"), path.contains("docs"), path.contains("publish")), (true, false, false));
    }

    // spec: U4
    #[test]
    fn a_chain_of_short_nodes_can_be_longer_than_one_long_node_and_nothing_started_has_no_path() {
        let nodes = [node("long", &[], 5), node("a", &[], 3), node("b", &["a"], 3)];
        assert_eq!(CriticalPath::find(&nodes).unwrap().describe(), "a 3m → b 3m (6m)");
        assert_eq!(CriticalPath::find(&[node("a", &[], 0), node("b", &["a"], 0)]), None);
    }
}
