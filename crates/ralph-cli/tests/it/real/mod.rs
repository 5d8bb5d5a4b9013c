//! The real agents, from the npm registry, against the scripted model server. Hermetic: an empty environment, a home of
//! their own, and, where it is permitted, a network in which there is nothing but the server.
//! `cargo xtask test` installs them; `more/` runs with `--all-agents` alone.
mod fixture;
pub mod in_session;
mod isolation;
mod overnight;
mod scenarios;
pub mod server;
pub mod work_permission;

mod acp;
mod claude;
mod codex;
mod mcp;
mod more;
mod opencode;
mod workflows;

/// Defines a test of each scenario for one agent.
macro_rules! tests {
    ($agent:ident: $($story:ident),+ $(,)?) => {
        $(
            #[test]
            fn $story() {
                $crate::real::scenarios::$story(&$agent);
            }
        )+
    };
}
use tests;
