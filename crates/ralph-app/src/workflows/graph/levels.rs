//! Sorts the nodes of a graph into levels: each node is one level below the lowest of its dependencies.
use std::collections::BTreeMap;

use ralph_core::workflow::{Node, NodeId};

/// Returns the level of each node, from 0. The graph has no cycles.
pub(super) fn node_levels(nodes: &[Node]) -> Vec<usize> {
    let positions: BTreeMap<&NodeId, usize> = nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let dependencies: Vec<Vec<usize>> =
        nodes.iter().map(|node| node.depends_on.iter().filter_map(|id| positions.get(id).copied()).collect()).collect();
    let mut open: Vec<usize> = dependencies.iter().map(Vec::len).collect();
    let mut dependants = vec![Vec::new(); nodes.len()];
    for (at, needed) in dependencies.iter().enumerate() {
        for dependency in needed {
            if let Some(list) = dependants.get_mut(*dependency) {
                list.push(at);
            }
        }
    }
    let mut levels = vec![0; nodes.len()];
    let mut ready: Vec<usize> = (0..nodes.len()).filter(|at| open.get(*at) == Some(&0)).collect();
    while let Some(at) = ready.pop() {
        let next_level = levels.get(at).copied().unwrap_or(0) + 1;
        for dependant in dependants.get(at).cloned().unwrap_or_default() {
            if let Some(level) = levels.get_mut(dependant) {
                *level = next_level.max(*level);
            }
            if let Some(count) = open.get_mut(dependant) {
                *count -= 1;
                if *count == 0 {
                    ready.push(dependant);
                }
            }
        }
    }
    levels
}
