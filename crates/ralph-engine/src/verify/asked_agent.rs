//! Asks a judge: an agent's program with its tools off, once, in an empty folder. The question goes by standard input.
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use ralph_core::attempt::Spend;
use ralph_core::evidence::CheckEnding;

use super::Verifier;
use super::judge::{Question, Said};
use super::orders::Orders;
use super::program::{self, Program, Ran};
use ralph_agents::{Agent, AgentEvent, Attempt, Exit, Format, Job, Parser, Summary, parser};
use ralph_process::{JobSpec, Listener, RawLog, Stdin, When};

/// An agent that is asked without its tools.
pub struct AskedAgent {
    pub adapter: &'static dyn Agent,
    pub format: Format,
    /// The program instead of the adapter's own.
    pub program: Option<String>,
    /// Arguments for a program that the adapter knows nothing of.
    pub args: Option<Vec<String>>,
    pub env: Vec<(String, String)>,
}

pub(super) async fn ask(
    verifier: &Verifier,
    agent: &AskedAgent,
    question: &Question<'_>,
    log: RawLog,
    orders: &mut Orders,
) -> Said {
    let folder = match EmptyFolder::new() {
        Ok(folder) => folder,
        Err(error) => return Said::nothing(format!("it has no folder to stand in: {error}")),
    };
    let Some(program) = start(verifier, agent, question, &folder.0) else {
        return Said::nothing("it cannot be asked without its tools");
    };
    let mut ear = Ear::new(agent.format, log);
    let ran = program::run(&verifier.keeper, program, &mut ear, orders).await;
    ear.said(agent, &ran)
}

fn start(verifier: &Verifier, agent: &AskedAgent, question: &Question<'_>, folder: &Path) -> Option<Program> {
    let start = agent.adapter.one_shot(&Job {
        prompt: question.text,
        model: question.model.or(agent.adapter.cheap_model()),
        program: agent.program.as_deref(),
        args: agent.args.as_deref(),
        env: &agent.env,
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
    Some(Program { job, input: start.stdin.0.into_bytes(), time: question.time })
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

    fn said(mut self, agent: &AskedAgent, ran: &Ran) -> Said {
        self.parser.finish(&mut self.events);
        self.note();
        // A log that is not whole does not change what was said.
        let _ = self.log.finish();
        let exit = match &ran.ending {
            CheckEnding::Exited { code } => Exit::Code(*code),
            CheckEnding::Signalled { signal } => Exit::Signal(*signal),
            CheckEnding::TimedOut | CheckEnding::NotStarted { .. } => Exit::Unknown,
        };
        let attempt = self.summary.attempt(agent.adapter, self.parser.counts(), exit, &Zoned::now());
        let spend = spend(&attempt);
        let model = attempt.model.clone();
        Said { text: words(attempt, &ran.ending, agent), model, spend, leftovers: ran.leftovers }
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
fn words(attempt: Attempt, ending: &CheckEnding, agent: &AskedAgent) -> Result<String, String> {
    match ending {
        CheckEnding::NotStarted { why } => Err(format!("{why}; {}", agent.adapter.about().install_hint)),
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
