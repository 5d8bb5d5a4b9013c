//! The built-in scripted agent: this binary plays one, so that everything can be tried without an account.
//! It speaks Claude's format. What it does is written where the command lives; here is only how to start it.
use super::about::About;
use super::format::Format;
use super::grant::Grants;
use super::job::{Invocation, Job};
use super::preset::Preset;
use super::registry::{Agent, Program};

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

pub(super) struct Demo;

impl Agent for Demo {
    fn name(&self) -> &'static str {
        "demo"
    }

    fn program(&self) -> Program {
        Program::OwnBinary
    }

    fn preset(&self) -> Preset {
        Preset::new(Format::Claude, ARGS)
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        job.start(self.program(), ARGS).finished_by(job, &[])
    }

    fn about(&self) -> About {
        ABOUT
    }

    fn grants(&self) -> Grants {
        Grants::own(
            "the demo agent takes no permissions from ralph",
            "edits files of its own demonstration only",
        )
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
