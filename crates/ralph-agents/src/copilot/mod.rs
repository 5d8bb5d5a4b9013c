//! GitHub Copilot CLI: how it is started headless. How its output is read is next door.
mod reader;
mod record;
mod usage;

pub(super) use reader::parser;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::registry::{Agent, Program, Sessions};

/// Every message comes whole at its end; without `--stream off` it would come in pieces before that, too.
const ARGS: &[&str] = &["--output-format", "json", "--no-ask-user", "--stream", "off"];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(&[], "may read; a tool that needs a permission is denied")),
    edits: Ok(Grant::of_flags(
        &["--allow-tool", "write"],
        "may edit files in the project, also by simple commands; others (tests, git) are denied",
    )),
    full: Ok(Grant::of_flags(&["--yolo"], "may do everything, unasked: all tools, paths and addresses")),
    usual: Usual::Given(Permission::Edits),
};

/// An update in the middle of a loop changes the program under it.
const ENV: &[(&str, &str)] = &[("COPILOT_AUTO_UPDATE", "false")];

const ABOUT: About = About {
    package: Some("@github/copilot"),
    tested: Some("1.0.102"),
    install_hint: "install it with `npm install -g @github/copilot`, or choose another with --agent",
    login_hint: "run `copilot` once and `/login`, or set GITHUB_TOKEN; a provider of your own needs COPILOT_PROVIDER_BASE_URL",
    login_variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"],
    login_files: &["~/.copilot/config.json", "$COPILOT_HOME/config.json"],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "copilot",
    program: Program::Named("copilot"),
    format: Format::Copilot,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Chosen,
    about: ABOUT,
};

pub(super) struct Copilot;

impl Agent for Copilot {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let mut start = self.start(job).flag("--model", job.model);
        match (job.session, job.new_session) {
            (Some(session), _) => start.args.push(format!("--resume={session}")),
            (None, new) => start = start.flag("--session-id", new),
        }
        if job.args.is_none() {
            start = start.flag("--usage-output-file", job.usage_file);
        }
        start.finished_by(job, ENV)
    }

    fn writes_usage(&self) -> bool {
        true
    }

    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        let spend = Trap::note(
            "it reports no cost, and its tokens only when it ends: a limit on cost cannot hold, one on tokens holds between attempts",
            "limit iterations and time instead",
        );
        vec![spend]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_new_session_gets_our_id_and_an_old_one_is_resumed() {
        let base = "--output-format json --no-ask-user --stream off --allow-tool write";
        let new = Copilot.invocation(&Job { new_session: Some("u"), model: Some("m"), ..Job::default() });
        assert_eq!(new.args.join(" "), format!("{base} --model m --session-id u"));
        let old = Copilot.invocation(&Job { session: Some("s"), new_session: Some("u"), ..Job::default() });
        assert_eq!(old.args.join(" "), format!("{base} --resume=s"));
    }

    #[test] // spec: A6, L8
    fn it_is_told_where_to_write_what_it_used_unless_the_user_has_arguments_of_his_own() {
        let job = Job { usage_file: Some("/u"), ..Job::default() };
        let args = Copilot.invocation(&job).args.join(" ");
        assert!(args.ends_with("--usage-output-file /u"), "{args}");
        let own = ["--output-format".to_owned(), "json".to_owned()];
        assert_eq!(Copilot.invocation(&Job { args: Some(&own), ..job }).args, own);
    }
}
