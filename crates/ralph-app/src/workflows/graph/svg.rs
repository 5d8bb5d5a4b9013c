//! The graph as SVG: levels from left to right, loop groups with their nodes inside.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use ralph_core::workflow::{Node, NodeId, NodeKind, Workflow};

use super::levels::node_levels;
use super::{kind_name, node_detail};

const BOX_WIDTH: usize = 200;
const BOX_HEIGHT: usize = 56;
const COLUMN_GAP: usize = 60;
const ROW_GAP: usize = 20;
pub(super) const MARGIN: usize = 20;
/// The height of the heading of a loop group.
pub(super) const GROUP_HEADING: usize = 48;
/// Longest text in a box.
const MAX_TEXT_CHARS: usize = 26;

/// Draws the graph. The result is a complete document without scripts and links.
#[must_use]
pub fn draw_svg(workflow: &Workflow) -> String {
    let layout = GraphLayout::new(&workflow.nodes);
    let (width, height) = (layout.width + 2 * MARGIN, layout.height + 2 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"sans-serif\" font-size=\"13\">\n<title>{}</title>\n{STYLE}\n",
        escape_xml(&workflow.name)
    );
    draw_graph(&workflow.nodes, &layout, Point { x: MARGIN, y: MARGIN }, &mut svg);
    svg.push_str("</svg>\n");
    svg
}

const STYLE: &str = "<style>rect{fill:#fff;stroke:#556;rx:6}.agent{fill:#e8f0ff}.shell{fill:#f2f2f2}.person{fill:#fff4d6}\
.check{fill:#e6f6e6}.cancel{fill:#fde7e7}.group{fill:#fafaff;stroke-dasharray:5 3}path{fill:none;stroke:#889}\
path.optional{stroke-dasharray:4 3}text{fill:#223}.detail{fill:#667;font-size:11px}</style>";

#[derive(Clone, Copy)]
pub(super) struct Point {
    pub(super) x: usize,
    pub(super) y: usize,
}

/// The places of the nodes of one graph.
pub(super) struct GraphLayout<'a> {
    pub(super) boxes: Vec<NodeBox<'a>>,
    pub(super) width: usize,
    pub(super) height: usize,
}

pub(super) struct NodeBox<'a> {
    pub(super) at: Point,
    pub(super) width: usize,
    pub(super) height: usize,
    /// The graph inside a loop group.
    pub(super) inner: Option<(&'a [Node], GraphLayout<'a>)>,
}

impl<'a> GraphLayout<'a> {
    pub(super) fn new(nodes: &'a [Node]) -> Self {
        let levels = node_levels(nodes);
        let mut boxes: Vec<NodeBox<'a>> = nodes.iter().map(NodeBox::new).collect();
        let level_count = levels.iter().max().map_or(0, |level| level + 1);
        let (mut x, mut height) = (0, 0);
        for level in 0..level_count {
            let (mut y, mut width) = (0, 0);
            for (node_box, _) in boxes.iter_mut().zip(&levels).filter(|(_, at)| **at == level) {
                node_box.at = Point { x, y };
                y += node_box.height + ROW_GAP;
                width = width.max(node_box.width);
            }
            height = height.max(y.saturating_sub(ROW_GAP));
            x += width + COLUMN_GAP;
        }
        Self { boxes, width: x.saturating_sub(COLUMN_GAP), height }
    }
}

impl<'a> NodeBox<'a> {
    fn new(node: &'a Node) -> Self {
        let at = Point { x: 0, y: 0 };
        match &node.kind {
            NodeKind::LoopGroup(group) => {
                let layout = GraphLayout::new(&group.nodes);
                let (width, height) =
                    (layout.width.max(BOX_WIDTH) + 2 * MARGIN, layout.height + GROUP_HEADING + MARGIN);
                Self { at, width, height, inner: Some((&group.nodes, layout)) }
            }
            NodeKind::Agent(_)
            | NodeKind::Bash(_)
            | NodeKind::Script(_)
            | NodeKind::Loop(_)
            | NodeKind::Approval(_)
            | NodeKind::Cancel { .. }
            | NodeKind::Workflow(_)
            | NodeKind::Checks(_) => Self { at, width: BOX_WIDTH, height: BOX_HEIGHT, inner: None },
        }
    }
}

fn draw_graph(nodes: &[Node], layout: &GraphLayout<'_>, origin: Point, svg: &mut String) {
    let boxes: BTreeMap<&NodeId, &NodeBox<'_>> = nodes.iter().map(|node| &node.id).zip(&layout.boxes).collect();
    for (node, to) in nodes.iter().zip(&layout.boxes) {
        for from in node.depends_on.iter().filter_map(|id| boxes.get(id)) {
            draw_edge(from, to, origin, node.when.is_some(), svg);
        }
    }
    for (node, node_box) in nodes.iter().zip(&layout.boxes) {
        draw_node(node, node_box, origin, svg);
    }
}

fn draw_edge(from: &NodeBox<'_>, to: &NodeBox<'_>, origin: Point, is_optional: bool, svg: &mut String) {
    let class = if is_optional { " class=\"optional\"" } else { "" };
    let _ = writeln!(svg, "<path{class} d=\"{}\"/>", edge_path(from, to, origin));
}

/// Returns the curve from the right of one box to the left of another.
pub(super) fn edge_path(from: &NodeBox<'_>, to: &NodeBox<'_>, origin: Point) -> String {
    let (x1, y1) = (origin.x + from.at.x + from.width, origin.y + from.at.y + from.height / 2);
    let (x2, y2) = (origin.x + to.at.x, origin.y + to.at.y + to.height / 2);
    let middle = usize::midpoint(x1, x2);
    format!("M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}")
}

fn draw_node(node: &Node, node_box: &NodeBox<'_>, origin: Point, svg: &mut String) {
    let (x, y) = (origin.x + node_box.at.x, origin.y + node_box.at.y);
    let (width, height) = (node_box.width, node_box.height);
    let kind = kind_name(&node.kind);
    let detail = match node_detail(node) {
        detail if detail.is_empty() => kind.to_owned(),
        detail => format!("{kind}: {detail}"),
    };
    let condition = node.when.as_ref().map(|condition| format!("\nwhen {}", condition.source)).unwrap_or_default();
    let _ = writeln!(
        svg,
        "<g><title>{title}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\
         <text x=\"{text_x}\" y=\"{id_y}\">{id}</text><text class=\"detail\" x=\"{text_x}\" y=\"{detail_y}\">{detail}</text></g>",
        title = escape_xml(&format!("{} ({detail}){condition}", node.id)),
        class = style_class(&node.kind),
        text_x = x + 10,
        id_y = y + 22,
        id = escape_xml(&shorten(node.id.as_str())),
        detail_y = y + 40,
        detail = escape_xml(&shorten(&detail)),
    );
    if let Some((nodes, inner)) = &node_box.inner {
        draw_graph(nodes, inner, Point { x: x + MARGIN, y: y + GROUP_HEADING }, svg);
    }
}

fn style_class(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Agent(_) | NodeKind::Loop(_) => "agent",
        NodeKind::Bash(_) | NodeKind::Script(_) => "shell",
        NodeKind::LoopGroup(_) => "group",
        NodeKind::Approval(_) => "person",
        NodeKind::Cancel { .. } => "cancel",
        NodeKind::Workflow(_) => "child",
        NodeKind::Checks(_) => "check",
    }
}

pub(super) fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Escapes text for XML, and removes characters that XML does not allow.
fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}
