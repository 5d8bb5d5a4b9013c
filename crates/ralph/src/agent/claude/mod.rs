//! Claude Code: how it is started headless. How its output is read is next door.
mod bulk;
mod failure;
mod reader;
mod record;
mod spend;

pub(super) use reader::parser;

use super::format::Format;
use super::job::{Invocation, Job, Permission};
use super::preset::Preset;
use super::registry::{Agent, Program};

/// `stream-json` is refused without `--verbose`.
const ARGS: &[&str] = &["-p", "--output-format", "stream-json", "--verbose"];

/// A background task would keep the process alive after its final result.
const ENV: &[(&str, &str)] = &[("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1")];

pub(super) struct Claude;

impl Agent for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn program(&self) -> Program {
        Program::Named("claude")
    }

    fn preset(&self) -> Preset {
        let args = [ARGS, permission_flags(Permission::Edits)].concat();
        Preset::new(Format::Claude, &args).with_cli("claude")
    }

    fn invocation(&self, job: &Job<'_>) -> Invocation {
        let permission = job.permission.or_else(|| job.args.is_none().then_some(Permission::Edits));
        let mut start = job.start(self.program(), ARGS);
        start.args.extend(permission.into_iter().flat_map(permission_flags).map(|&flag| flag.to_owned()));
        start.flag("--model", job.model).flag("--resume", job.session).finished_by(job, ENV)
    }

    fn install_hint(&self) -> &'static str {
        "install it with `npm install -g @anthropic-ai/claude-code`, or choose another with --agent"
    }
}

fn permission_flags(permission: Permission) -> &'static [&'static str] {
    match permission {
        Permission::Ask => &["--permission-mode", "default"],
        Permission::Edits => &["--permission-mode", "acceptEdits"],
        Permission::Full => &["--dangerously-skip-permissions"],
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
