//! Asks an agent CLI as the judge: one call without tools, in an empty folder, with the question on stdin.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use ralph_core::attempt::ModelSpend;
use ralph_core::evidence::CheckEnding;
use ralph_core::judge::JudgeFailure;

use crate::verify::CheckContext;
use crate::verify::judges::claim_judge::{JudgeQuestion, JudgeReply};
use crate::verify::program::{self, CheckProgram, ProgramResult};
use crate::verify::verification_control::VerificationControl;
use ralph_agents::{
    Agent, AgentErrorKind, AgentEvent, AgentExit, AttemptError, AttemptSummary, AttemptSummaryBuilder, LaunchRequest,
    OutputFormat, StreamParser, parser_for_format,
};
use ralph_process::{JobListener, JobSpec, OutputTiming, RawLog, StdinSource};

/// An agent CLI that judges with its tools disabled.
pub struct AgentJudge {
    pub adapter: &'static dyn Agent,
    pub format: OutputFormat,
    /// Replaces the program of the adapter.
    pub program: Option<String>,
    /// Arguments for a program that the adapter does not know.
    pub args: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
}

pub(in crate::verify) async fn ask_agent(
    context: &CheckContext,
    agent: &AgentJudge,
    question: &JudgeQuestion<'_>,
    log: RawLog,
    control: &mut VerificationControl,
) -> JudgeReply {
    let folder = match EmptyJudgeFolder::new() {
        Ok(folder) => folder,
        Err(error) => return JudgeReply::failed(format!("cannot create its working directory: {error}")),
    };
    let Some(program) = prepare_program(context, agent, question, &folder.0) else {
        return JudgeReply::failed("it cannot run with its tools disabled");
    };
    let mut output = JudgeOutputReader::new(agent.format, log);
    let result = program::run_program(&context.keeper, program, &mut output, control).await;
    output.into_reply(agent, &result)
}

fn prepare_program(
    context: &CheckContext,
    agent: &AgentJudge,
    question: &JudgeQuestion<'_>,
    folder: &Path,
) -> Option<CheckProgram> {
    let start = agent.adapter.build_one_shot(&LaunchRequest {
        prompt: question.text,
        model: question.model.or(agent.adapter.cheap_model()),
        program_override: agent.program.as_deref(),
        args_override: agent.args.as_deref(),
        env: &agent.env,
        ..LaunchRequest::default()
    })?;
    let environment = &context.environment;
    let is_replaced = |name: &OsString| {
        let set = start.env.iter().map(|(set, _)| set);
        start.env_remove.iter().chain(set).any(|other| *name == **other)
    };
    let mut env: Vec<_> = environment.env.iter().filter(|(name, _)| !is_replaced(name)).cloned().collect();
    env.extend(start.env.into_iter().map(|(name, value)| (name.into(), value.into())));
    let job = JobSpec {
        program: start.program.into(),
        args: start.args.into_iter().map(OsString::from).collect(),
        env,
        cwd: folder.to_path_buf(),
        run_id: environment.run_id.clone(),
        stdin: StdinSource::Pipe,
        linger: JobSpec::DEFAULT_LINGER,
        memory_limit: None,
    };
    Some(CheckProgram { job, input: start.stdin.0.into_bytes(), timeout: question.timeout })
}

/// An empty folder that is removed when this value is dropped.
struct EmptyJudgeFolder(PathBuf);

impl EmptyJudgeFolder {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("ralph-judge-{}", uuid::Uuid::new_v4()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for EmptyJudgeFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads a judge's output in its agent's format.
struct JudgeOutputReader {
    parser: Box<dyn StreamParser>,
    summary: AttemptSummaryBuilder,
    events: Vec<AgentEvent>,
    log: RawLog,
}

impl JudgeOutputReader {
    fn new(format: OutputFormat, log: RawLog) -> Self {
        Self { parser: parser_for_format(format), summary: AttemptSummaryBuilder::default(), events: Vec::new(), log }
    }

    fn summarize_events(&mut self) {
        self.events.drain(..).for_each(|event| self.summary.record_event(&event));
    }

    fn into_reply(mut self, agent: &AgentJudge, result: &ProgramResult) -> JudgeReply {
        self.parser.finish(&mut self.events);
        self.summarize_events();
        // An incomplete log does not change the answer.
        let _ = self.log.finish();
        let exit = match &result.ending {
            CheckEnding::Exited { code } => AgentExit::Code(*code),
            CheckEnding::Signalled { signal } => AgentExit::Signal(*signal),
            CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => AgentExit::Unknown,
        };
        let attempt = self.summary.into_summary(agent.adapter, self.parser.record_counts(), exit, &Zoned::now());
        let spend = attempt_spend(&attempt);
        let model = attempt.model.clone();
        JudgeReply { text: final_text(attempt, &result.ending, agent), model, spend, leftovers: result.leftovers }
    }
}

impl JobListener for JudgeOutputReader {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.parser.push(piece, &mut self.events);
        self.summarize_events();
        self.log.write(piece);
    }

    fn on_stderr(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.log.write(piece);
    }
}

/// Returns the final message of a judge that succeeded, else the reason of its failure.
fn final_text(attempt: AttemptSummary, ending: &CheckEnding, agent: &AgentJudge) -> Result<String, JudgeFailure> {
    match ending {
        CheckEnding::NotStarted { why } => Err(JudgeFailure::Permanent {
            reason: match agent.adapter.profile().install.command() {
                Some(command) => format!("{why}; install it with `{command}`"),
                None => why.clone(),
            },
        }),
        CheckEnding::TimedOut => Err(JudgeFailure::AgentFailed { reason: "it timed out and was killed".to_owned() }),
        CheckEnding::Signalled { .. } | CheckEnding::Exited { .. } => match attempt.error {
            Some(AttemptError { kind, message, .. }) => Err(match kind {
                AgentErrorKind::Auth | AgentErrorKind::Budget | AgentErrorKind::Context | AgentErrorKind::Model => {
                    JudgeFailure::Permanent { reason: message }
                }
                AgentErrorKind::RateLimit
                | AgentErrorKind::Overloaded
                | AgentErrorKind::Network
                | AgentErrorKind::Format
                | AgentErrorKind::Crash
                | AgentErrorKind::Unknown => JudgeFailure::AgentFailed { reason: message },
            }),
            None => Ok(attempt.final_text.unwrap_or_default()),
        },
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast turns a negative cost into zero")]
fn attempt_spend(attempt: &AttemptSummary) -> ModelSpend {
    ModelSpend {
        input_tokens: attempt.input_tokens,
        output_tokens: attempt.output_tokens,
        cost_micros: attempt.cost_usd.map(|dollars| (dollars * 1_000_000.0 + 0.5) as u64),
    }
}
