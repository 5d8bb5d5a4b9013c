//! Charts over many runs, and the comparison of two.
mod bar_chart;
pub(super) mod compare;
pub(super) mod stats_page;
