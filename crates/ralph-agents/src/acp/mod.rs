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
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::parser::{JsonStream, Parser};
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

const CARD: Card = Card {
    name: "acp",
    program: Program::Required,
    format: Format::Acp,
    args: &[],
    grants: GRANTS,
    sessions: Sessions::Named,
    about: ABOUT,
};

pub(super) struct Acp;

impl Agent for Acp {
    fn card(&self) -> &'static Card {
        &CARD
    }

    /// Model, session and permission are matters of the talk.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        self.start(job).finished_by(job, &[])
    }
}
