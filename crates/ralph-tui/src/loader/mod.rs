//! Reads the project and performs orders, in separate threads.
pub(crate) mod follow_output;
mod load_detail;
pub(crate) mod loader_thread;
mod perform_order;
pub(crate) mod reading_slot;
