//! Workflows: the list, the graph of one, and its runs with live state.
pub(super) mod definition;
mod graph_view;
pub(super) mod list;
pub(super) mod run;
