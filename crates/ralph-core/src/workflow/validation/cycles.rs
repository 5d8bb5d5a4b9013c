//! Finds circular dependencies.
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::workflow::node::{Node, NodeId};

/// Returns circular dependencies as positions of nodes, each of which depends on the next one and the last on the first.
/// Cycles that share a node with a returned one may be missing.
pub(super) fn find_cycles(nodes: &[Node]) -> Vec<Vec<usize>> {
    let positions: BTreeMap<&NodeId, usize> = nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let dependencies: Vec<Vec<usize>> =
        nodes.iter().map(|node| node.depends_on.iter().filter_map(|id| positions.get(id).copied()).collect()).collect();
    let mut search =
        CycleSearch { dependencies: &dependencies, states: vec![VisitState::New; nodes.len()], cycles: Vec::new() };
    (0..nodes.len()).for_each(|start| search.visit_from(start));
    search.cycles
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    /// On the current way; the number is its place there.
    Open(usize),
    Done,
}

struct CycleSearch<'a> {
    dependencies: &'a [Vec<usize>],
    states: Vec<VisitState>,
    cycles: Vec<Vec<usize>>,
}

impl CycleSearch<'_> {
    fn state(&self, at: usize) -> VisitState {
        self.states.get(at).copied().unwrap_or(VisitState::Done)
    }

    fn set_state(&mut self, at: usize, state: VisitState) {
        if let Some(slot) = self.states.get_mut(at) {
            *slot = state;
        }
    }

    /// Searches depth first, without recursion: chains may be long.
    fn visit_from(&mut self, start: usize) {
        if self.state(start) != VisitState::New {
            return;
        }
        let mut way = vec![start];
        let mut next_dependency = vec![0_usize];
        self.set_state(start, VisitState::Open(0));
        while let (Some(&here), Some(next)) = (way.last(), next_dependency.last_mut()) {
            let dependency = self.dependencies.get(here).and_then(|all| all.get(*next)).copied();
            *next += 1;
            match dependency.map(|dependency| (dependency, self.state(dependency))) {
                None => {
                    self.set_state(here, VisitState::Done);
                    way.pop();
                    next_dependency.pop();
                }
                Some((dependency, VisitState::New)) => {
                    self.set_state(dependency, VisitState::Open(way.len()));
                    way.push(dependency);
                    next_dependency.push(0);
                }
                Some((_, VisitState::Open(place))) => {
                    self.cycles.push(way.get(place..).unwrap_or_default().to_vec());
                }
                Some((_, VisitState::Done)) => {}
            }
        }
    }
}
