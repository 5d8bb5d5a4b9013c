//! Runs a program with `--version`, without input and with a timeout, and leaves no process behind.
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use ralph_process::{
    Job, JobCommand, JobExit, JobInput, JobListener, JobSpec, Keeper, OutputTail, OutputTiming, StdinSource, pump_job,
};
use ralph_util::duration;

/// Maximum length of the output.
const MAX_ANSWER_BYTES: usize = 4_096;

/// The result of `--version`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum VersionAnswer {
    Printed(String),
    Failed { reason: String },
}

struct VersionOutputReader(OutputTail);

impl JobListener for VersionOutputReader {
    fn on_stdout(&mut self, piece: &mut Vec<u8>, _when: OutputTiming) {
        self.0.push(piece);
    }

    fn on_stderr(&mut self, _piece: &mut Vec<u8>, _when: OutputTiming) {}
}

/// Starts the program with `--version`, outside the project: inside it, the program might load project files.
pub(super) async fn ask_version(keeper: &Keeper, program: &Path, timeout: Duration) -> VersionAnswer {
    let spec = JobSpec {
        program: program.to_path_buf(),
        args: vec!["--version".into()],
        env: std::env::vars_os().collect(),
        cwd: std::env::temp_dir(),
        run_id: uuid::Uuid::new_v4().to_string(),
        stdin: StdinSource::Null,
        linger: JobSpec::DEFAULT_LINGER,
        memory_limit: None,
    };
    let job = match keeper.spawn(spec).await {
        Ok(job) => job,
        Err(error) => return failed_answer(error.to_string()),
    };
    let mut reader = VersionOutputReader(OutputTail::new(MAX_ANSWER_BYTES));
    let exit = wait_for_exit(job, &mut reader, timeout).await;
    match exit {
        Some(Ok(JobExit::Code(0))) => VersionAnswer::Printed(reader.0.finish()),
        Some(Ok(JobExit::Code(code))) => failed_answer(format!("`--version` exited with code {code}")),
        Some(Ok(JobExit::Signal(_) | JobExit::SupervisorDied | JobExit::OverMemory { .. })) => {
            failed_answer("`--version` was killed".to_owned())
        }
        Some(Err(error)) => failed_answer(error.to_string()),
        None => failed_answer(format!("no answer to `--version` within {}", duration::format_rounded(timeout))),
    }
}

fn failed_answer(reason: String) -> VersionAnswer {
    VersionAnswer::Failed { reason }
}

/// Returns the exit of the program; `None` if it had to be killed.
async fn wait_for_exit(job: Job, reader: &mut VersionOutputReader, timeout: Duration) -> Option<io::Result<JobExit>> {
    let (orders, mut received) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump_job(job, JobInput::Whole(Vec::new()), &mut received, reader));
    tokio::select! {
        pumped = &mut pumping => Some(pumped.map(|pumped| pumped.exit)),
        () = tokio::time::sleep(timeout) => {
            let _ = orders.send(JobCommand::Kill);
            let _ = pumping.await;
            None
        }
    }
}
