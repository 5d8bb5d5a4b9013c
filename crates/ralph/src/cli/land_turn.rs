//! Whose turn it is: the locks of a landing, and how long somebody waits for them.
use std::time::{Duration, Instant};

use ralph_core::outcome::{Ended, exit_code};

use crate::engine::{Asked, Clock, Signals};
use crate::error::Failure;
use crate::lock::{self, Held, Owner, Sharing};
use crate::private;
use crate::project::Project;

/// How long a worker waits for its turn, and how often it looks.
const LONGEST: Duration = Duration::from_secs(600);
const LOOK: Duration = Duration::from_millis(200);

/// How long a lock is waited for that somebody else has.
pub enum Patience {
    None,
    /// For a while, and no longer than until a signal comes.
    Turn {
        until: Instant,
        signals: Box<Signals>,
    },
}

pub enum Turn {
    Ours(Held),
    /// A signal stopped it: the exit code.
    Stopped(u8),
}

impl Patience {
    /// Hears every signal from now on.
    pub fn turn() -> Result<Self, Failure> {
        let signals = Signals::listen().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
        Ok(Self::Turn { until: Instant::now() + LONGEST, signals: Box::new(signals) })
    }

    /// Takes a lock of the project that nobody else may have meanwhile.
    pub async fn take(&mut self, project: &Project, name: &str) -> Result<Turn, Failure> {
        loop {
            let refused = match alone(project, name).await {
                Ok(held) => return Ok(Turn::Ours(held)),
                Err(refused) => refused,
            };
            match self {
                Self::Turn { until, signals }
                    if refused.exit_code == exit_code::STATE && Instant::now() < *until =>
                {
                    if let Some(code) = stopped(signals).await {
                        return Ok(Turn::Stopped(code));
                    }
                }
                Self::Turn { .. } | Self::None => return Err(refused),
            }
        }
    }
}

/// Waits a moment. Returns the exit code if a signal came.
async fn stopped(signals: &mut Signals) -> Option<u8> {
    tokio::select! {
        asked = signals.next() => match asked {
            Asked::Stop(signal) => Some(Ended::interrupted(signal).exit_code),
            Asked::Suspend | Asked::Look => None,
        },
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
