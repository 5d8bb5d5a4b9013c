//! Tasks: the board, the list, and the page of one task.
pub(super) mod board;
pub(super) mod list;
pub(super) mod task_page;
