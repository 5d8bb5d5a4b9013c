//! Qwen Code. Its output has Claude's shape, without a cost; what the API refuses it also writes as if it were the
//! agent's words.
use super::about::About;
use super::card::Card;
use super::claude;
use super::event::ErrorKind;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::parser::Parser;
use super::registry::{Agent, Program, Sessions};

const ARGS: &[&str] = &["-o", "stream-json"];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &["--approval-mode", "default"],
        "may read; tools that edit or run commands are not there",
    )),
    edits: Ok(Grant::of_flags(
        &["--approval-mode", "auto-edit"],
        "may edit files; it cannot run commands (tests, git)",
    )),
    full: Ok(Grant::of_flags(&["--approval-mode", "yolo"], "may do everything, unasked")),
    usual: Usual::Given(Permission::Edits),
};

pub(super) fn parser() -> impl Parser {
    claude::parser_of_copies()
}

const ABOUT: About = About {
    package: Some("@qwen-code/qwen-code"),
    tested: Some("0.24.4"),
    install_hint: "install it with `npm install -g @qwen-code/qwen-code` (node 22 or newer), or choose another with --agent",
    login_hint: "run `qwen` once and log in, or set OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL)",
    login_variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
    login_files: &["~/.qwen/oauth_creds.json"],
    tells_cost: false,
};

const CARD: Card = Card {
    name: "qwen",
    program: Program::Named("qwen"),
    format: Format::Qwen,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Chosen,
    about: ABOUT,
};

pub(super) struct Qwen;

impl Agent for Qwen {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job).flag("-m", job.model);
        start.session("--resume", "--session-id", job).finished_by(job, &[])
    }

    fn exit_meaning(&self, code: i32) -> Option<(ErrorKind, &'static str)> {
        match code {
            53 => Some((ErrorKind::Budget, "it reached its own limit of turns")),
            55 => Some((ErrorKind::Budget, "it reached its own limit of time or tool calls")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{events, final_text};
    use crate::{AgentEvent, Before};

    #[test] // spec: A5, S2
    fn what_the_api_refused_is_not_what_the_agent_said() {
        let said = |text: &str| {
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"SAID"}]}}"#
                .replace("SAID", text)
        };
        let result = r#"{"type":"result","subtype":"error_during_execution","is_error":true}"#;
        let found = events(Format::Qwen, &[&said("[API Error: 401 no key]"), result].join("\n"));
        assert_eq!(final_text(&found), "");
        assert!(found.contains(&AgentEvent::Error {
            kind: ErrorKind::Auth,
            message: "error_during_execution".into(),
            fatal: true
        }));
        let found = events(Format::Qwen, &said("I saw [API Error: 401] in the log"));
        assert_eq!(final_text(&found), "I saw [API Error: 401] in the log");
    }

    #[test] // spec: A5, L8
    fn a_resumed_session_pays_only_for_what_is_new() {
        let recorded = include_bytes!("../transcripts/qwen/sid-resume.stdout");
        let (mut parser, mut out) = (crate::parser(Format::Qwen), Vec::new());
        parser.continues(Before { input_tokens: Some(203), output_tokens: Some(40), ..Before::default() });
        parser.push(recorded, &mut out);
        let added = AgentEvent::Usage { input_tokens: Some(203), output_tokens: Some(40), cost_usd: None };
        assert!(out.contains(&added), "{out:?}");
    }

    #[test] // spec: A1, A6
    fn a_new_session_gets_our_id_and_an_old_one_is_resumed() {
        let new = Qwen.invocation(&Job { new_session: Some("u"), ..Job::default() });
        assert_eq!(new.args.join(" "), "-o stream-json --approval-mode auto-edit --session-id u");
        let old = Qwen.invocation(&Job { session: Some("s"), new_session: Some("u"), ..Job::default() });
        assert_eq!(old.args.join(" "), "-o stream-json --approval-mode auto-edit --resume s");
    }
}
