//! Any agent that speaks the Agent Client Protocol: JSON-RPC over its standard streams, version 1. It is talked to instead
//! of being given a prompt; the talk itself is next door, and pure.
mod dialogue;
mod failure;
mod listening;
mod message;
mod opening;
mod permit;
mod spend;
#[cfg(test)]
mod tests;
mod tools;
mod turn;
mod words;

use super::about::About;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::parser::{JsonStream, Parser};
use super::preset::Preset;
use super::registry::{Agent, Program, Sessions};

const ABOUT: About = About {
    package: None,
    tested: None,
    install_hint: "name the program with --agent-cmd PATH, and what makes it speak the protocol with --agent-arg",
    login_hint: "log in with the program's own command",
    login_variables: &[],
    login_files: &[],
    tells_cost: true,
};

/// It has no flags in common with others: what it asks for is answered, and what it does unasked its own settings decide.
const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &[],
        "may do what its own settings allow unasked; whatever it asks for is refused",
    )),
    edits: Ok(Grant::of_flags(
        &[],
        "may do what its own settings allow unasked; of what it asks for, reads, searches and edits in the project are \
         allowed and the rest (commands, deletions, fetches) is refused",
    )),
    full: Ok(Grant::of_flags(&[], "may do everything that it asks for")),
    usual: Usual::Given(Permission::Edits),
};

pub(super) fn parser() -> impl Parser {
    JsonStream::<dialogue::Dialogue>::default()
}

pub(super) struct Acp;

impl Agent for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn program(&self) -> Program {
        Program::Required
    }

    fn preset(&self) -> Preset {
        Preset::new(Format::Acp, &[])
    }

    /// Model, session and permission are matters of the talk.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        job.start(self.program(), &[]).finished_by(job, &[])
    }

    fn grants(&self) -> Grants {
        GRANTS
    }

    fn sessions(&self) -> Sessions {
        Sessions::Named
    }

    fn about(&self) -> About {
        ABOUT
    }
}
