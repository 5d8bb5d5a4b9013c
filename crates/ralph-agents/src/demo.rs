//! The built-in scripted agent: this binary plays one, so that everything can be tried without an account.
//! It speaks Claude's format. What it does is written where the command lives; here is only how to start it.
use super::about::About;
use super::card::Card;
use super::format::Format;
use super::grant::Grants;
use super::job::{Invocation, Job};
use super::registry::{Agent, Program, Sessions};

const ARGS: &[&str] = &["demo-agent"];

const ABOUT: About = About {
    package: None,
    tested: None,
    install_hint: "it is part of ralph itself",
    login_hint: "it needs no account",
    login_variables: &[],
    login_files: &[],
    tells_cost: true,
};

const CARD: Card = Card {
    name: "demo",
    program: Program::OwnBinary,
    format: Format::Claude,
    args: ARGS,
    grants: Grants::own(
        "the demo agent takes no permissions from ralph",
        "edits files of its own demonstration only",
    ),
    sessions: Sessions::Fresh,
    about: ABOUT,
};

pub(super) struct Demo;

impl Agent for Demo {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        self.start(job).finished_by(job, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A9
    fn the_demo_agent_is_this_binary_in_another_role() {
        let start = Demo.invocation(&Job { program: Some("/opt/ralph"), prompt: "go", ..Job::default() });
        assert_eq!(
            (start.program.as_str(), start.args.as_slice()),
            ("/opt/ralph", ["demo-agent".to_owned()].as_slice())
        );
        assert_eq!(Demo.format(), Format::Claude);
    }
}
