//! Cline: how it is started headless. How its output is read is next door. It cannot resume without a terminal, and
//! leaves a daemon behind that no signal to its group reaches.
mod ask;
mod reader;
mod record;
mod run;

pub(super) use reader::parser;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::registry::{Agent, Program, Sessions};

/// A prompt from standard input alone is refused, so some words stand on the command line; with white space in them,
/// or they would be taken for the name of a command.
const ARGS: &[&str] = &["--json", "Follow the instructions below."];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(&["--auto-approve", "false"], "may use no tool that asks: it can only talk")),
    edits: Err("cline approves all tools or none: choose `ask` or `full`"),
    full: Ok(Grant::of_flags(&["--auto-approve", "true"], "may do everything, unasked")),
    usual: Usual::Given(Permission::Ask),
};

/// An update in the middle of a loop changes the program under it.
const ENV: &[(&str, &str)] = &[("CLINE_NO_AUTO_UPDATE", "1")];

const ABOUT: About = About {
    package: Some("cline"),
    tested: Some("3.0.65"),
    install_hint: "install it with `npm install -g cline`, or choose another with --agent",
    login_hint: "run `cline auth`",
    login_variables: &[],
    login_files: &["~/.cline/data/settings/providers.json"],
    tells_cost: true,
};

const CARD: Card = Card {
    name: "cline",
    program: Program::Named("cline"),
    format: Format::Cline,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Fresh,
    about: ABOUT,
};

pub(super) struct Cline;

impl Agent for Cline {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job);
        start.flag("-m", job.model).finished_by(job, ENV)
    }

    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        let fresh = Trap::note(
            "it cannot resume a session without a terminal: every iteration starts afresh",
            "put what must be remembered into files, or choose another agent",
        );
        let tools = Trap::note(
            "it approves all tools or none",
            "unless you say --permission full it can change nothing",
        );
        vec![fresh, tools]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_approves_no_tool_by_itself() {
        let start = Cline.invocation(&Job { prompt: "go", model: Some("m"), ..Job::default() });
        assert_eq!(
            start.args,
            ["--json", "Follow the instructions below.", "--auto-approve", "false", "-m", "m"]
        );
    }

    #[test] // spec: A6, L10
    fn it_cannot_resume_and_is_given_no_session() {
        let start = Cline.invocation(&Job { session: Some("conv_1"), ..Job::default() });
        assert!(!Cline.can_resume());
        assert!(start.args.iter().all(|arg| arg != "conv_1"));
    }
}
