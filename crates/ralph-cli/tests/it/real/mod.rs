//! The real agents, from the npm registry, against the scripted model server. Hermetic: an empty environment, a home of
//! their own, and, where it is permitted, a network in which there is nothing but the server.
//! `cargo xtask test` installs them; `more/` runs with `--all-agents` alone.
pub mod in_session;
mod isolation;
mod scene;
pub mod server;
mod stories;

mod acp;
mod claude;
mod codex;
mod more;
mod opencode;

/// Makes a test of each story for one agent.
macro_rules! tests {
    ($agent:ident: $($story:ident),+ $(,)?) => {
        $(
            #[test]
            fn $story() {
                $crate::real::stories::$story(&$agent);
            }
        )+
    };
}
use tests;
