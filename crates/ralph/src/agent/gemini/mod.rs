//! Gemini CLI: how it is started headless. How its output is read is next door.
mod reader;

pub(super) use reader::parser;

use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::preset::Preset;
use super::registry::{Agent, Program, Sessions};

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

pub(super) struct Gemini;

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn program(&self) -> Program {
        Program::Named("gemini")
    }

    fn preset(&self) -> Preset {
        Preset::new(Format::Gemini, ARGS).granted(&GRANTS).with_cli("gemini")
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = job.start(self.program(), ARGS).granted(job, &GRANTS).flag("-m", job.model);
        start.session("--resume", "--session-id", job).finished_by(job, &[])
    }

    fn grants(&self) -> Grants {
        GRANTS
    }

    fn sessions(&self) -> Sessions {
        Sessions::Chosen
    }

    fn install_hint(&self) -> &'static str {
        "install it with `npm install -g @google/gemini-cli`, or choose another with --agent"
    }

    fn login_hint(&self) -> &'static str {
        "run `gemini` once and log in, or set GEMINI_API_KEY"
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
