//! Gemini CLI: how it is started headless. How its output is read is next door.
mod reader;
mod repeat;

pub(super) use reader::parser;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::event::{AgentEvent, ErrorKind};
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::registry::{Agent, Program, Sessions};
use super::untold::Exit;

const ARGS: &[&str] = &["-o", "stream-json"];

/// In a folder that it does not trust it gives up at once, so more than its own settings allow means trust too.
const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &["--approval-mode", "default"],
        "may read; tools that edit or run commands are not there, and the folder must be one that it trusts",
    )),
    edits: Ok(Grant::of_flags(
        &["--skip-trust", "--approval-mode", "auto_edit"],
        "may edit files; it cannot run commands (tests, git); it trusts the project's own Gemini settings",
    )),
    full: Ok(Grant::of_flags(
        &["--skip-trust", "--approval-mode", "yolo"],
        "may do everything, unasked; it trusts the project's own Gemini settings",
    )),
    usual: Usual::Given(Permission::Edits),
};

/// What it exits with in a folder that it does not trust, and what to do then.
const UNTRUSTED: i32 = 55;
const TRUST: &str = "trust the folder in Gemini itself, or use --permission edits";

const ABOUT: About = About {
    package: Some("@google/gemini-cli"),
    tested: Some("0.61.0"),
    install_hint: "install it with `npm install -g @google/gemini-cli`, or choose another with --agent",
    login_hint: "run `gemini` once and log in, or set GEMINI_API_KEY",
    login_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    login_files: &["~/.gemini/oauth_creds.json"],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "gemini",
    program: Program::Named("gemini"),
    format: Format::Gemini,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Chosen,
    about: ABOUT,
};

pub(super) struct Gemini;

impl Agent for Gemini {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job).flag("-m", job.model);
        start.session("--resume", "--session-id", job).finished_by(job, &[])
    }

    fn oddities(&self, _machine: &Machine<'_>) -> Vec<Trap> {
        let trust = Trap::note(
            "with permission `ask` it works only in folders that it trusts (exit code 55 elsewhere)",
            TRUST,
        );
        vec![trust]
    }

    fn aside(&self, line: &str) -> Option<AgentEvent> {
        repeat::told_by(line)
    }

    fn remedy(&self, exit: Exit) -> &'static str {
        match exit {
            Exit::Code(UNTRUSTED) => TRUST,
            Exit::Code(_) | Exit::Signal(_) | Exit::Unknown => ABOUT.login_hint,
        }
    }

    /// Of the status of an API error the lowest eight bits are left.
    fn exit_meaning(&self, code: i32) -> Option<(ErrorKind, &'static str)> {
        match code {
            41 => Some((ErrorKind::Auth, "it is not logged in")),
            42 => Some((ErrorKind::Unknown, "it did not accept its arguments or the session to resume")),
            52 => Some((ErrorKind::Unknown, "its settings are wrong")),
            53 => Some((ErrorKind::Budget, "it reached its own limit of turns")),
            UNTRUSTED => Some((ErrorKind::Auth, "it does not trust this folder")),
            144 => Some((ErrorKind::Unknown, "the API refused the request (400)")),
            145 => Some((ErrorKind::Auth, "the API refused the key (401)")),
            147 => Some((ErrorKind::Auth, "the API refused access (403)")),
            148 => Some((ErrorKind::Model, "the API does not know the model (404)")),
            173 => Some((ErrorKind::RateLimit, "the API limits the rate (429)")),
            244 | 247 => Some((ErrorKind::Overloaded, "the API failed (500, 503)")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_edits_in_a_folder_that_is_trusted_for_it() {
        let start = Gemini.invocation(&Job { prompt: "go", new_session: Some("u"), ..Job::default() });
        assert_eq!(
            start.args.join(" "),
            "-o stream-json --skip-trust --approval-mode auto_edit --session-id u"
        );
    }

    #[test] // spec: A6
    fn where_it_must_ask_its_own_trust_holds() {
        let job = Job { permission: Some(Permission::Ask), session: Some("s"), ..Job::default() };
        assert_eq!(
            Gemini.invocation(&job).args.join(" "),
            "-o stream-json --approval-mode default --resume s"
        );
    }
}
