//! Asks a program for its version. It gets no input, a limit of time, and nothing of it is left behind.
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc;

use ralph_process::{Exit, Input, Job, JobSpec, Keeper, Listener, Order, Stdin, Tail, When, pump};
use ralph_util::duration;

/// A version is short.
const ANSWER: usize = 4_096;

/// What came of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Said(String),
    Silent { why: String },
}

struct Ear(Tail);

impl Listener for Ear {
    fn stdout(&mut self, piece: &mut Vec<u8>, _when: When) {
        self.0.push(piece);
    }

    fn stderr(&mut self, _piece: &mut Vec<u8>, _when: When) {}
}

/// Starts the program with `--version`. It stands in a folder of no meaning: in a project it might load things.
pub(super) async fn version(keeper: &Keeper, program: &Path, patience: Duration) -> Answer {
    let spec = JobSpec {
        program: program.to_path_buf(),
        args: vec!["--version".into()],
        env: std::env::vars_os().collect(),
        cwd: std::env::temp_dir(),
        run_id: uuid::Uuid::new_v4().to_string(),
        stdin: Stdin::Null,
        linger: JobSpec::LINGER,
        memory: None,
    };
    let job = match keeper.spawn(spec).await {
        Ok(job) => job,
        Err(error) => return silent(error.to_string()),
    };
    let mut ear = Ear(Tail::new(ANSWER));
    let exit = listen(job, &mut ear, patience).await;
    match exit {
        Some(Ok(Exit::Code(0))) => Answer::Said(ear.0.finish()),
        Some(Ok(Exit::Code(code))) => silent(format!("`--version` ended with exit code {code}")),
        Some(Ok(Exit::Signal(_) | Exit::SupervisorDied | Exit::OverMemory { .. })) => {
            silent("`--version` was killed".to_owned())
        }
        Some(Err(error)) => silent(error.to_string()),
        None => silent(format!("it did not answer `--version` within {}", duration::show(patience))),
    }
}

fn silent(why: String) -> Answer {
    Answer::Silent { why }
}

/// Returns how the program ended; none if it had to be killed.
async fn listen(job: Job, ear: &mut Ear, patience: Duration) -> Option<io::Result<Exit>> {
    let (orders, mut received) = mpsc::unbounded_channel();
    let mut pumping = std::pin::pin!(pump(job, Input::Whole(Vec::new()), &mut received, ear));
    tokio::select! {
        pumped = &mut pumping => Some(pumped.map(|pumped| pumped.exit)),
        () = tokio::time::sleep(patience) => {
            let _ = orders.send(Order::Kill);
            let _ = pumping.await;
            None
        }
    }
}
