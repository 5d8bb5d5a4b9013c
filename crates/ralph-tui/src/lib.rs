//! `ralph board`: the terminal board. It calls the use cases of `ralph-app` and draws their results; it decides nothing itself.
//!
//! `model` and `keys` are pure: state and input in, state and actions out. `draw` turns the state into cells. `loader` reads
//! and performs orders in separate threads, so that drawing never waits. `terminal` owns the screen and puts it back. `plain` prints
//! changes as lines instead.
mod board_options;
mod draw;
mod keys;
mod loader;
mod model;
mod plain;
mod terminal;

pub use board_options::{BackgroundResume, BoardError, BoardOptions, BoardWords, DetailView};
pub use plain::plain_session::run_plain_board;
pub use terminal::board_session::run_board;
