//! Finds nodes by id, in a graph and in the loop groups inside it.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::workflow::node::{Node, NodeId, NodeKind};

/// A node and the positions that lead to it.
pub(super) struct IndexedNode<'a> {
    pub(super) node: &'a Node,
    pub(super) path: Vec<usize>,
}

impl IndexedNode<'_> {
    /// Returns whether the node is in the same graph as the node at this path.
    pub(super) fn has_same_graph(&self, path: &[usize]) -> bool {
        graph_of(&self.path) == graph_of(path)
    }

    /// Returns whether the node at this path can read the output: the graph of the node is its own or one around it.
    pub(super) fn is_visible_from(&self, path: &[usize]) -> bool {
        path.starts_with(graph_of(&self.path))
    }
}

/// Returns the path of the loop group that contains a node; empty for the workflow.
fn graph_of(path: &[usize]) -> &[usize] {
    path.split_last().map_or(&[], |(_, group)| group)
}

/// All nodes by id.
pub(super) struct GraphIndex<'a> {
    nodes: BTreeMap<&'a NodeId, IndexedNode<'a>>,
    duplicates: Vec<(Vec<usize>, &'a NodeId)>,
}

impl<'a> GraphIndex<'a> {
    pub(super) fn new(nodes: &'a [Node]) -> Self {
        let mut index = Self { nodes: BTreeMap::new(), duplicates: Vec::new() };
        index.add_graph(nodes, &mut Vec::new());
        index
    }

    fn add_graph(&mut self, nodes: &'a [Node], path: &mut Vec<usize>) {
        for (at, node) in nodes.iter().enumerate() {
            path.push(at);
            if self.nodes.contains_key(&node.id) {
                self.duplicates.push((path.clone(), &node.id));
            } else {
                self.nodes.insert(&node.id, IndexedNode { node, path: path.clone() });
            }
            if let NodeKind::LoopGroup(group) = &node.kind {
                self.add_graph(&group.nodes, path);
            }
            path.pop();
        }
    }

    /// Returns the nodes whose id is taken.
    pub(super) fn duplicates(&self) -> &[(Vec<usize>, &'a NodeId)] {
        &self.duplicates
    }

    pub(super) fn find(&self, id: &NodeId) -> Option<&IndexedNode<'a>> {
        self.nodes.get(id)
    }

    /// Returns an id that differs only in letter case or in `-` and `_`, or that begins or ends like it.
    pub(super) fn find_similar(&self, id: &NodeId) -> Option<&NodeId> {
        const MAX_COMPARED: usize = 1_000;
        let wanted = simplify(id);
        let candidates = || self.nodes.keys().copied().take(MAX_COMPARED);
        candidates()
            .find(|known| simplify(known).eq(&wanted))
            .or_else(|| candidates().find(|known| differs_by_one_edit(&simplify(known), &wanted)))
    }

    /// Returns whether a node runs before another one. `None`: too far away to tell in bounded time.
    pub(super) fn runs_before(&self, id: &NodeId, later: &Node) -> Option<bool> {
        const MAX_VISITED: usize = 256;
        let mut open: Vec<&NodeId> = later.depends_on.iter().collect();
        let mut at = 0;
        while let Some(next) = open.get(at).copied() {
            if next == id {
                return Some(true);
            }
            if open.len() > MAX_VISITED {
                return None;
            }
            let dependencies = self.find(next).map(|found| found.node.depends_on.as_slice()).unwrap_or_default();
            for dependency in dependencies {
                if !open.contains(&dependency) {
                    open.push(dependency);
                }
            }
            at += 1;
        }
        Some(false)
    }
}

fn simplify(id: &NodeId) -> Vec<u8> {
    id.as_str().bytes().filter(|byte| !b"-_".contains(byte)).map(|byte| byte.to_ascii_lowercase()).collect()
}

/// Returns whether one inserted, removed or replaced byte makes the texts equal.
fn differs_by_one_edit(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() < 3 || long.len() - short.len() > 1 {
        return false;
    }
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    let (rest_short, rest_long) = (short.get(same..).unwrap_or_default(), long.get(same + 1..).unwrap_or_default());
    if short.len() == long.len() {
        rest_short.get(1..).unwrap_or_default() == rest_long
    } else {
        rest_short == rest_long
    }
}
