//! goose: how `goose run` is started. How its output is read is next door.
mod reader;

pub(super) use reader::parser;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::registry::{Agent, Program, Sessions};

const ARGS: &[&str] = &["run", "-q", "--output-format", "stream-json", "-i", "-"];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_env(&[("GOOSE_MODE", "smart_approve")], "may read; a tool that would ask is refused")),
    edits: Err("goose knows no permission for edits alone: choose `ask` or `full`"),
    full: Ok(Grant::of_env(&[("GOOSE_MODE", "auto")], "may do everything, unasked")),
    usual: Usual::Given(Permission::Ask),
};

const ABOUT: About = About {
    // The package has a version of its own.
    package: None,
    tested: Some("1.34.0"),
    install_hint: "install it with `npm install -g @aaif/goose`, or choose another with --agent",
    login_hint: "run `goose configure`, or set GOOSE_PROVIDER, GOOSE_MODEL and the provider's key",
    login_variables: &["GOOSE_PROVIDER"],
    login_files: &["~/.config/goose/config.yaml", "$XDG_CONFIG_HOME/goose/config.yaml"],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "goose",
    program: Program::Named("goose"),
    format: Format::Goose,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Chosen,
    about: ABOUT,
};

pub(super) struct Goose;

impl Agent for Goose {
    fn card(&self) -> &'static Card {
        &CARD
    }

    /// A session has a name, which is resumed by giving it again.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let mut start = self.start(job);
        start = start.flag("-n", job.session.or(job.new_session));
        if job.session.is_some() {
            start.args.push("-r".to_owned());
        }
        if let Some(model) = job.model {
            start.env.push(("GOOSE_MODEL".to_owned(), model.to_owned()));
        }
        start.finished_by(job, &[])
    }

    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        let tools = Trap::note(
            "it knows no permission for edits alone",
            "unless you say --permission full a tool that asks is refused",
        );
        vec![tools]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_session_is_named_when_it_begins_and_when_it_goes_on() {
        let base = "run -q --output-format stream-json -i -";
        let new = Goose.invocation(&Job { new_session: Some("u"), ..Job::default() });
        assert_eq!(new.args.join(" "), format!("{base} -n u"));
        let old = Goose.invocation(&Job { session: Some("s"), new_session: Some("u"), ..Job::default() });
        assert_eq!(old.args.join(" "), format!("{base} -n s -r"));
    }

    #[test] // spec: A6
    fn model_and_permission_are_variables() {
        let job = Job { model: Some("m"), permission: Some(Permission::Full), ..Job::default() };
        let env = Goose.invocation(&job).env;
        assert!(env.contains(&("GOOSE_MODE".into(), "auto".into())), "{env:?}");
        assert!(env.contains(&("GOOSE_MODEL".into(), "m".into())), "{env:?}");
    }
}
