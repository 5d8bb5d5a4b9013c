//! Claude Code: how it is started headless. How its output is read is next door.
mod bulk;
mod failure;
mod reader;
mod record;
mod spend;

pub(super) use reader::{parser, parser_of_copies};

use ralph_core::judge::SYSTEM;

use super::about::{About, Machine, Trap};
use super::card::Card;
use super::format::Format;
use super::grant::{Grant, Grants, Permission, Usual};
use super::job::{Invocation, Job};
use super::obstacle::{Obstacle, Surroundings};
use super::registry::{Agent, Program, Sessions};

/// `stream-json` is refused without `--verbose`.
const ARGS: &[&str] = &["-p", "--output-format", "stream-json", "--verbose"];

/// No tools, no settings or memories of the user's or the project's, and no session file.
const ONE_SHOT: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--safe-mode",
    "--strict-mcp-config",
    "--no-session-persistence",
    "--tools",
    "",
    "--system-prompt",
    SYSTEM,
];

/// A background task would keep the process alive after its final result.
const ENV: &[(&str, &str)] = &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")];

const GRANTS: Grants = Grants {
    ask: Ok(Grant::of_flags(
        &["--permission-mode", "default"],
        "may do only what its own settings allow; everything else is denied",
    )),
    edits: Ok(Grant::of_flags(
        &["--permission-mode", "acceptEdits"],
        "may edit files in the project, also by simple commands; others (tests, git) only where its own settings allow them",
    )),
    full: Ok(Grant::of_flags(&["--dangerously-skip-permissions"], "may do everything, unasked")),
    usual: Usual::Given(Permission::Edits),
};

/// Either of these tells Claude that root is harmless here. Setting it is the user's decision.
const ROOT_IS_SAFE: &[&str] = &["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"];

const ABOUT: About = About {
    package: Some("@anthropic-ai/claude-code"),
    tested: Some("2.1.325"),
    install_hint: "install it with `npm install -g @anthropic-ai/claude-code`, or choose another with --agent",
    login_hint: "run `claude` once and log in, or set ANTHROPIC_API_KEY",
    login_variables: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_USE_BEDROCK",
        "CLAUDE_CODE_USE_VERTEX",
    ],
    login_files: &["~/.claude/.credentials.json", "$CLAUDE_CONFIG_DIR/.credentials.json"],
    tells_cost: true,
};

const CARD: Card = Card {
    name: "claude",
    program: Program::Named("claude"),
    format: Format::Claude,
    args: ARGS,
    grants: GRANTS,
    sessions: Sessions::Named,
    about: ABOUT,
};

pub(super) struct Claude;

impl Agent for Claude {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let start = self.start(job);
        start.flag("--model", job.model).flag("--resume", job.session).finished_by(job, ENV)
    }

    fn one_shot(&self, job: &Job<'_>) -> Option<Invocation> {
        let job = Job { args: None, extra_args: &[], ..*job };
        Some(job.start(self.program(), ONE_SHOT).flag("--model", job.model).finished_by(&job, ENV))
    }

    fn cheap_model(&self) -> Option<&'static str> {
        Some("haiku")
    }

    fn oddities(&self, machine: &Machine<'_>) -> Vec<Trap> {
        let root =
            self.obstacle(&Job { permission: Some(Permission::Full), ..Job::default() }, &machine.around);
        let root = root.map(|found| Trap::note(found.what, found.hint));
        root.into_iter().collect()
    }

    fn obstacle(&self, job: &Job<'_>, around: &Surroundings<'_>) -> Option<Obstacle> {
        let is_full = job.permission == Some(Permission::Full);
        let is_refused = is_full && around.is_root && !ROOT_IS_SAFE.iter().any(|name| (around.is_set)(name));
        is_refused.then(|| {
            Obstacle::new(
                "claude refuses permission `full` as root",
                "run ralph as another user; or, if this machine is a sandbox that may be broken, set IS_SANDBOX=1",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test] // spec: A1, A6
    fn a_plain_job_streams_json_and_may_edit() {
        let start = Claude.invocation(&Job { prompt: "go", ..Job::default() });
        assert_eq!(start.program, "claude");
        assert_eq!(
            start.args.join(" "),
            "-p --output-format stream-json --verbose --permission-mode acceptEdits"
        );
        assert_eq!(start.env, [("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS".to_owned(), "1".to_owned())]);
        assert_eq!(Claude.preset().args, start.args);
    }

    #[test] // spec: A6
    fn model_session_permission_and_extra_arguments_become_flags() {
        let extra = ["--max-turns".to_owned(), "7".to_owned()];
        let job = Job {
            model: Some("haiku"),
            session: Some("abc"),
            permission: Some(Permission::Full),
            extra_args: &extra,
            ..Job::default()
        };
        let args = Claude.invocation(&job).args.join(" ");
        assert!(
            args.ends_with("--dangerously-skip-permissions --model haiku --resume abc --max-turns 7"),
            "{args}"
        );
        assert!(!args.contains("acceptEdits"));
    }

    #[test] // spec: A2, A6
    fn own_arguments_replace_the_preset_but_not_what_was_asked_for() {
        let own = ["-p".to_owned()];
        let job = Job { args: Some(&own), model: Some("opus"), ..Job::default() };
        assert_eq!(Claude.invocation(&job).args, ["-p", "--model", "opus"]);
        let job = Job { args: Some(&own), permission: Some(Permission::Ask), ..Job::default() };
        assert_eq!(Claude.invocation(&job).args, ["-p", "--permission-mode", "default"]);
    }
}
