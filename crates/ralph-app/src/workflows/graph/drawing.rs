//! The graph as boxes and curves with their places, for screens that draw it with the state of a run.
use std::collections::BTreeMap;

use ralph_core::workflow::{Node, NodeId, NodeKind, Workflow};

use super::svg::{GROUP_HEADING, GraphLayout, MARGIN, NodeBox, Point, edge_path, shorten};
use super::{kind_name, node_detail};

/// The places of all nodes and their dependencies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphDrawing {
    pub width: usize,
    pub height: usize,
    /// A loop group comes before its nodes.
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<DrawnEdge>,
}

/// The box of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnNode {
    /// The ids of the groups around the node and its own, joined by `/`.
    pub key: String,
    /// Cut to the width of a box.
    pub label: String,
    pub kind: &'static str,
    /// Cut to the width of a box.
    pub detail: String,
    pub when: Option<String>,
    pub is_group: bool,
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

/// The curve of a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnEdge {
    /// The keys of the nodes at its ends.
    pub from: String,
    pub to: String,
    /// The `d` attribute of a `<path>`.
    pub path: String,
    /// Whether the node at its end has a condition.
    pub is_optional: bool,
}

impl GraphDrawing {
    #[must_use]
    pub fn new(workflow: &Workflow) -> Self {
        let layout = GraphLayout::new(&workflow.nodes);
        let (width, height) = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN);
        let mut drawing = Self { width, height, ..Self::default() };
        drawing.add_graph(&workflow.nodes, &layout, "", Point { x: MARGIN, y: MARGIN });
        drawing
    }

    fn add_graph(&mut self, nodes: &[Node], layout: &GraphLayout<'_>, group: &str, origin: Point) {
        let boxes: BTreeMap<&NodeId, &NodeBox<'_>> = nodes.iter().map(|node| &node.id).zip(&layout.boxes).collect();
        let key_of = |id: &NodeId| if group.is_empty() { id.to_string() } else { format!("{group}/{id}") };
        for (node, to) in nodes.iter().zip(&layout.boxes) {
            for (id, from) in node.depends_on.iter().filter_map(|id| Some((id, boxes.get(id)?))) {
                let (path, is_optional) = (edge_path(from, to, origin), node.when.is_some());
                self.edges.push(DrawnEdge { from: key_of(id), to: key_of(&node.id), path, is_optional });
            }
        }
        for (node, node_box) in nodes.iter().zip(&layout.boxes) {
            let key = key_of(&node.id);
            let (x, y) = (origin.x + node_box.at.x, origin.y + node_box.at.y);
            self.nodes.push(DrawnNode {
                label: shorten(node.id.as_str()),
                kind: kind_name(&node.kind),
                detail: shorten(&node_detail(node)),
                when: node.when.as_ref().map(|condition| condition.source.clone()),
                is_group: matches!(node.kind, NodeKind::LoopGroup(_)),
                x,
                y,
                width: node_box.width,
                height: node_box.height,
                key: key.clone(),
            });
            if let Some((nodes, inner)) = &node_box.inner {
                self.add_graph(nodes, inner, &key, Point { x: x + MARGIN, y: y + GROUP_HEADING });
            }
        }
    }
}
