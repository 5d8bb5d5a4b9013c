//! Commands that control loops and take back work.
pub mod accept;
pub mod cancel;
pub mod guide;
pub mod limit;
pub mod pause;
pub mod reject;
pub mod retry;
pub mod undo;
