//! Asks a judge: an agent's program with its tools off, once, in an empty folder. The question goes by standard input.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Zoned;
use ralph_core::attempt::Spend;
use ralph_core::evidence::CheckEnding;
use ralph_core::judge::OnError;

use super::Verifier;
use super::orders::Orders;
use super::program::{self, Program, Ran};
use crate::agent::{Agent, AgentEvent, Attempt, Exit, Format, Job, Parser, Summary, parser};
use crate::process::{JobSpec, Listener, RawLog, Stdin, When};

/// A judge: whom to ask, and what a silence means.
pub struct Judge {
    /// What the user calls it.
    pub name: String,
    pub adapter: &'static dyn Agent,
    pub format: Format,
    /// The program instead of the adapter's own.
    pub program: Option<String>,
    /// Arguments for a program that the adapter knows nothing of.
    pub args: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
    pub model: Option<String>,
    pub on_error: OnError,
    pub timeout: Duration,
    /// The commit that the work began from.
    pub base: String,
}

/// What a judge said, in its own words, and what it used.
pub(super) struct Said {
    pub(super) text: Result<String, String>,
    pub(super) model: Option<String>,
    pub(super) spend: Spend,
    pub(super) leftovers: u32,
}

/// Asks once. Question and answer are in the log.
pub(super) async fn ask(
    verifier: &Verifier,
    judge: &Judge,
    (question, model): (&str, Option<&str>),
    mut log: RawLog,
    orders: &mut Orders,
) -> Said {
    log.write(&mut format!("{question}\n[ralph: the answer of {}]\n", judge.name).into_bytes());
    let folder = match EmptyFolder::new() {
        Ok(folder) => folder,
        Err(error) => return Said::nothing(format!("it has no folder to stand in: {error}")),
    };
    let Some(program) = start(verifier, judge, (question, model), &folder.0) else {
        return Said::nothing("it cannot be asked without its tools".to_owned());
    };
    let mut ear = Ear::new(judge.format, log);
    let ran = program::run(&verifier.keeper, program, &mut ear, orders).await;
    ear.said(judge, &ran)
}

fn start(
    verifier: &Verifier,
    judge: &Judge,
    (question, model): (&str, Option<&str>),
    folder: &Path,
) -> Option<Program> {
    let start = judge.adapter.one_shot(&Job {
        prompt: question,
        model: model.or(judge.model.as_deref()).or(judge.adapter.cheap_model()),
        program: judge.program.as_deref(),
        args: judge.args.as_deref(),
        env: &judge.env,
        ..Job::default()
    })?;
    let ground = &verifier.ground;
    let is_replaced = |name: &OsString| {
        let set = start.env.iter().map(|(set, _)| set);
        start.env_remove.iter().chain(set).any(|other| *name == **other)
    };
    let mut env: Vec<_> = ground.env.iter().filter(|(name, _)| !is_replaced(name)).cloned().collect();
    env.extend(start.env.into_iter().map(|(name, value)| (name.into(), value.into())));
    let job = JobSpec {
        program: start.program.into(),
        args: start.args.into_iter().map(OsString::from).collect(),
        env,
        cwd: folder.to_path_buf(),
        run_id: ground.run_id.clone(),
        stdin: Stdin::Pipe,
        linger: JobSpec::LINGER,
        memory: None,
    };
    Some(Program { job, input: start.stdin.0.into_bytes(), time: judge.timeout })
}

impl Said {
    fn nothing(why: String) -> Self {
        Self { text: Err(why), model: None, spend: Spend::default(), leftovers: 0 }
    }
}

/// A folder with nothing in it, gone when it is dropped.
struct EmptyFolder(PathBuf);

impl EmptyFolder {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let path = std::env::temp_dir().join(format!("ralph-judge-{}", uuid::Uuid::new_v4()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for EmptyFolder {
    fn drop(&mut self) {
        // It was made by us, with a name that nobody knew.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads a judge's output in its agent's format.
struct Ear {
    parser: Box<dyn Parser>,
    summary: Summary,
    events: Vec<AgentEvent>,
    log: RawLog,
}

impl Ear {
    fn new(format: Format, log: RawLog) -> Self {
        Self { parser: parser(format), summary: Summary::default(), events: Vec::new(), log }
    }

    fn note(&mut self) {
        self.events.drain(..).for_each(|event| self.summary.note(&event));
    }

    fn said(mut self, judge: &Judge, ran: &Ran) -> Said {
        self.parser.finish(&mut self.events);
        self.note();
        // A log that is not whole does not change what was said.
        let _ = self.log.finish();
        let exit = match &ran.ending {
            CheckEnding::Exited { code } => Exit::Code(*code),
            CheckEnding::Signalled { signal } => Exit::Signal(*signal),
            CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => Exit::Unknown,
        };
        let attempt = self.summary.attempt(judge.adapter, self.parser.counts(), exit, &Zoned::now());
        let spend = spend(&attempt);
        let model = attempt.model.clone();
        Said { text: words(attempt, &ran.ending, judge), model, spend, leftovers: ran.leftovers }
    }
}

impl Listener for Ear {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.parser.push(piece, &mut self.events);
        self.note();
        self.log.write(piece);
    }

    fn stderr(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.log.write(piece);
    }
}

/// Returns the last words of a judge that ended well, and of no other.
fn words(attempt: Attempt, ending: &CheckEnding, judge: &Judge) -> Result<String, String> {
    match ending {
        CheckEnding::NotStarted { why } => Err(format!("{why}; {}", judge.adapter.about().install_hint)),
        CheckEnding::TimedOut => Err("it took too long, and was stopped".to_owned()),
        CheckEnding::Signalled { .. } | CheckEnding::Exited { .. } => match attempt.error {
            Some(error) => Err(error.message),
            None => Ok(attempt.final_text.unwrap_or_default()),
        },
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "negative becomes zero")]
fn spend(attempt: &Attempt) -> Spend {
    Spend {
        input_tokens: attempt.input_tokens,
        output_tokens: attempt.output_tokens,
        cost_micros: attempt.cost_usd.map(|dollars| (dollars * 1_000_000.0 + 0.5) as u64),
    }
}
