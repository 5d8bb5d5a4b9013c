//! Whose turn it is: the locks of a landing, and how long somebody waits for them.
use std::time::{Duration, Instant};

use ralph_core::outcome::{Ended, exit_code};
use tokio::sync::mpsc;

use crate::error::Failure;
use ralph_engine::engine::{Asks, Clock, stop_for_commands};
use ralph_engine::lock::{self, Held, Owner, Sharing};
use ralph_engine::project::Project;
use ralph_util::private;

/// How long a worker waits for its turn, and how often it looks.
const LONGEST: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(200);

/// How long a lock is waited for that somebody else has, and who is heard meanwhile.
pub struct Patience {
    until: Option<Instant>,
    pub asks: Asks,
}

pub enum Turn {
    Ours(Held),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

impl Patience {
    /// Waits for nobody, and hears every signal from now on.
    pub fn none() -> Result<Self, Failure> {
        let asks = Asks::signals().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        Ok(Self { until: None, asks })
    }

    /// Waits for a while, and hears what is passed on.
    pub fn turn(asks: Asks) -> Self {
        Self { until: Some(Instant::now() + LONGEST), asks }
    }

    /// Takes a lock of the project that nobody else may have meanwhile.
    pub async fn take(&mut self, project: &Project, name: &str) -> Result<Turn, Failure> {
        loop {
            let refused = match alone(project, name).await {
                Ok(held) => return Ok(Turn::Ours(held)),
                Err(refused) => refused,
            };
            let waits = self.until.is_some_and(|until| Instant::now() < until);
            if !waits || refused.exit_code != exit_code::STATE {
                return Err(refused);
            }
            if let Some(code) = stopped(&mut self.asks).await {
                return Ok(Turn::Stopped(code));
            }
        }
    }
}

/// Waits a moment. Returns the exit code if somebody asks for a stop.
async fn stopped(asks: &mut Asks) -> Option<u8> {
    let (orders, _) = mpsc::unbounded_channel();
    tokio::select! {
        signal = stop_for_commands(asks, &orders) => Some(Ended::interrupted(signal).exit_code),
        () = tokio::time::sleep(LOOK) => None,
    }
}

/// Takes a lock of the project, unless somebody has it.
pub async fn alone(project: &Project, name: &str) -> Result<Held, Failure> {
    let state = project.state();
    private::folder(&state).map_err(|error| Failure::new(exit_code::STATE, &error))?;
    let owner = Owner::of("land", Clock::start().now());
    Ok(lock::take(&state.join(name), Sharing::Alone, &owner).await?)
}
