//! Asks a program for its version. It gets no input, a limit of time, and nothing of it is left behind.
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use ralph_process::{
    Job, JobCommand, JobExit, JobInput, JobListener, JobSpec, Keeper, OutputTail, OutputTiming, StdinSource, pump_job,
};
use ralph_util::duration;

/// A version is short.
const MAX_ANSWER_BYTES: usize = 4_096;

/// What came of the question.
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

/// Starts the program with `--version`. It stands in a folder of no meaning: in a project it might load things.
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
    let mut ear = VersionOutputReader(OutputTail::new(MAX_ANSWER_BYTES));
    let exit = wait_for_exit(job, &mut ear, timeout).await;
    match exit {
        Some(Ok(JobExit::Code(0))) => VersionAnswer::Printed(ear.0.finish()),
        Some(Ok(JobExit::Code(code))) => failed_answer(format!("`--version` ended with exit code {code}")),
        Some(Ok(JobExit::Signal(_) | JobExit::SupervisorDied | JobExit::OverMemory { .. })) => {
            failed_answer("`--version` was killed".to_owned())
        }
        Some(Err(error)) => failed_answer(error.to_string()),
        None => failed_answer(format!("it did not answer `--version` within {}", duration::format_rounded(timeout))),
    }
}

fn failed_answer(reason: String) -> VersionAnswer {
    VersionAnswer::Failed { reason }
}

/// Returns how the program ended; none if it had to be killed.
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
