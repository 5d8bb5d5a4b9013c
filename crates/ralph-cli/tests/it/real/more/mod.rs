//! The agents that only `cargo xtask test --all-agents` installs and runs.
mod acp;
mod cline;
mod copilot;
mod gemini;
mod goose;
mod pi;
mod presets;
mod qwen;

use super::fixture::{AgentSet, AgentSpec, EditPermission, Fixture, SessionStorage};
use super::tests;
