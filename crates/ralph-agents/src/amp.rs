//! Amp. Its output has Claude's shape, without a cost.
use super::about::About;
use super::card::Card;
use super::claude;
use super::format::Format;
use super::grant::Grants;
use super::job::{Invocation, Job};
use super::obstacle::{Obstacle, Surroundings};
use super::parser::Parser;
use super::registry::{Agent, Program, Sessions};

const ARGS: &[&str] = &["-x", "--stream-json"];

const KEY: &str = "AMP_API_KEY";

pub(super) fn parser() -> impl Parser {
    claude::parser()
}

const ABOUT: About = About {
    package: Some("@sourcegraph/amp"),
    tested: Some("0.0.1790142911"),
    install_hint: "install it with `npm install -g @sourcegraph/amp`, or choose another with --agent",
    login_hint: "set AMP_API_KEY in the environment, or under `env:` of the agent in your own configuration",
    login_variables: &["AMP_API_KEY"],
    login_files: &[],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "amp",
    program: Program::Named("amp"),
    format: Format::Amp,
    args: ARGS,
    grants: Grants::own(
        "amp takes its permissions from its own settings (amp.permissions, amp.dangerouslyAllowAll)",
        "may do what its own settings allow (amp.permissions, amp.dangerouslyAllowAll)",
    ),
    sessions: Sessions::Named,
    about: ABOUT,
};

pub(super) struct Amp;

impl Agent for Amp {
    fn card(&self) -> &'static Card {
        &CARD
    }

    /// What it calls a mode (low, medium, high, ultra) chooses its model. A thread is resumed by a command in front.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let mut start = self.start(job).flag("-m", job.model).finished_by(job, &[]);
        if let Some(thread) = job.session {
            start.args.splice(0..0, ["threads", "continue", thread].map(str::to_owned));
        }
        start
    }

    /// Without a key it asks for one, and waits for ever.
    fn obstacle(&self, _job: &Job<'_>, around: &Surroundings<'_>) -> Option<Obstacle> {
        let is_missing = !(around.is_set)(KEY);
        is_missing.then(|| {
            Obstacle::new(
                format!("amp needs {KEY}: without it, it waits for a login that nobody can give"),
                ABOUT.login_hint,
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_thread_is_resumed_by_a_command_in_front() {
        let job = Job { model: Some("high"), session: Some("T-1"), ..Job::default() };
        assert_eq!(
            Amp.invocation(&job).args,
            ["threads", "continue", "T-1", "-x", "--stream-json", "-m", "high"]
        );
    }

    #[test] // spec: A1, L5
    fn without_a_key_it_is_not_started() {
        let around = |is_set| Surroundings { is_root: false, is_set };
        assert!(Amp.obstacle(&Job::default(), &around(&|_| true)).is_none());
        let obstacle = Amp.obstacle(&Job::default(), &around(&|_| false)).unwrap();
        assert!(obstacle.what.contains("AMP_API_KEY"), "{obstacle}");
    }
}
