//! Codex: how `codex exec` is started. How its output is read is next door.
mod reader;
mod record;

pub(super) use reader::parser;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::registry::{Agent, PoliteSignal, Program, Sessions};

/// Outside of a repository it would refuse, and whether one is needed is not its business; without the server it
/// would try to connect for ever.
const ARGS: &[&str] =
    &["exec", "--json", "--skip-git-repo-check", "-c", "features.unbounded_connection_retries=false"];

/// No session file, no rules, documents or skills of the user's or the project's. What is left of its tools can change
/// nothing in this sandbox, and finds an empty folder.
const ONE_SHOT: &[&str] = &[
    "exec",
    "--json",
    "--ephemeral",
    "--ignore-rules",
    "--skip-git-repo-check",
    "--sandbox",
    "read-only",
    "-c",
    "web_search=\"disabled\"",
    "-c",
    "project_doc_max_bytes=0",
    "-c",
    "features.shell_tool=false",
    "-c",
    "features.unified_exec=false",
    "-c",
    "features.plugins=false",
    "-c",
    "features.apps=false",
    "-c",
    "features.hooks=false",
    "-c",
    "features.goals=false",
    "-c",
    "features.multi_agent=false",
    "-c",
    "features.view_image=false",
    "-c",
    "features.skill_search=false",
    "-c",
    "features.tool_suggest=false",
    "-c",
    "features.unbounded_connection_retries=false",
];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &["--sandbox", "read-only"],
        "may read everything and run commands that change nothing; without network",
    )),
    edits: Ok(Grant::of_flags(
        &["--sandbox", "workspace-write"],
        "may edit files and run commands in the project; without network, and .git is read-only, so it cannot commit",
    )),
    full: Ok(Grant::of_flags(
        &["--dangerously-bypass-approvals-and-sandbox"],
        "may do everything, unasked and without a sandbox",
    )),
    usual: Usual::Given(Permission::Edits),
};

const ABOUT: About = About {
    package: Some("@openai/codex"),
    tested: Some("0.166.0"),
    install_hint: "install it with `npm install -g @openai/codex`, or choose another with --agent",
    login_hint: "run `codex login`, or set CODEX_API_KEY",
    login_variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    login_files: &["~/.codex/auth.json", "$CODEX_HOME/auth.json"],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "codex",
    program: Program::Named("codex"),
    format: Format::Codex,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Named,
    about: ABOUT,
};

pub(super) struct Codex;

impl Agent for Codex {
    fn card(&self) -> &'static Card {
        &CARD
    }

    /// `resume` knows fewer flags than `exec`, so it comes behind all of them. Without an argument the prompt is
    /// standard input; behind `resume ID` that must be said.
    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job);
        let mut start = start.flag("--model", job.model).finished_by(job, &[]);
        if let Some(thread) = job.session {
            start.args.extend(["resume", thread, "-"].map(str::to_owned));
        }
        start
    }

    fn one_shot(&self, job: &Job<'_>) -> Option<Invocation> {
        let job = Job { args: None, extra_args: &[], ..*job };
        Some(job.start(self.program(), ONE_SHOT).flag("--model", job.model).finished_by(&job, &[]))
    }

    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        let git = Trap::note(
            "with permission `edits` it has no network, and .git is read-only, so it cannot commit",
            "--permission full; or --agent-arg=--add-dir --agent-arg=.git",
        );
        vec![git]
    }

    /// On SIGTERM its grandchildren would survive.
    fn polite_signal(&self) -> PoliteSignal {
        PoliteSignal::Int
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_is_confined_to_the_project() {
        let start = Codex.invocation(&Job { prompt: "go", ..Job::default() });
        assert_eq!(
            start.args.join(" "),
            "exec --json --skip-git-repo-check -c features.unbounded_connection_retries=false \
             --sandbox workspace-write"
        );
        assert_eq!(Codex.preset().args, start.args);
        assert_eq!(Codex.polite_signal(), PoliteSignal::Int);
    }

    #[test] // spec: A6
    fn a_resumed_thread_stands_behind_every_flag() {
        let extra = ["--add-dir".to_owned(), ".git".to_owned()];
        let job = Job {
            model: Some("m"),
            session: Some("t-1"),
            permission: Some(Permission::Full),
            extra_args: &extra,
            ..Job::default()
        };
        let args = Codex.invocation(&job).args.join(" ");
        assert!(
            args.ends_with(
                "--dangerously-bypass-approvals-and-sandbox --model m --add-dir .git resume t-1 -"
            ),
            "{args}"
        );
    }
}
