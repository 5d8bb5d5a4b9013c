//! Workflows: the list, the graph of one, and its runs with live state.
pub(super) mod definition;
mod graph_view;
pub(super) mod list;
mod node_timeline;
pub(super) mod run;
