//! The agents that only `cargo xtask test --all-agents` installs and runs.
mod acp;
mod cline;
mod copilot;
mod gemini;
mod goose;
mod qwen;

use super::scene::{Needs, Real, Scene, Sessions, Set};
use super::tests;
