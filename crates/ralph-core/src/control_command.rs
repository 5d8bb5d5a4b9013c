//! What people ask of a loop from another process, and what becomes of it when they ask for more than one thing.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::event::StopSignal;

/// One thing that somebody asks of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ControlCommand {
    /// Ends the run for good.
    Cancel,
    Pause {
        when: PauseTiming,
    },
    /// Takes a pause back.
    Resume,
    /// Says something to the agent, in its next prompt.
    Guide {
        words: String,
    },
}

impl ControlCommand {
    /// Returns what it says to the agent, if it does.
    #[must_use]
    pub fn into_guidance(self) -> Option<String> {
        match self {
            Self::Guide { words } => Some(words),
            Self::Cancel | Self::Pause { .. } | Self::Resume => None,
        }
    }

    /// Tells whether it concerns a loop before it is taken up: whether that goes on at all, and with which words.
    #[must_use]
    pub fn applies_before_resume(&self) -> bool {
        match self {
            Self::Cancel | Self::Guide { .. } => true,
            Self::Pause { .. } | Self::Resume => false,
        }
    }
}

/// When a pause begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseTiming {
    /// As soon as nobody is at work: at the end of the iteration, or in a wait.
    Idle,
    /// Whatever is at work is stopped, and done again later.
    Now,
}

/// What was asked for, and is not done yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCommands {
    /// The loop shall pause as soon as nobody is at work.
    #[serde(default)]
    pub pause: bool,
    /// What the next prompt must say.
    #[serde(default)]
    pub guidance: Vec<String>,
}

impl PendingCommands {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.pause && self.guidance.is_empty()
    }
}

/// Why whatever is at work is being stopped at somebody's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRequest {
    /// The run ends for good.
    Cancel,
    /// It goes on when somebody says so.
    Pause,
    /// A pause that was taken back before everything had stopped.
    PauseTakenBack,
    /// The run ends, and can be taken up again.
    #[serde(untagged)]
    Signal(StopSignal),
}

impl StopRequest {
    /// Returns what the stop is for after another order. A cancel outranks everything, an end outranks a pause.
    #[must_use]
    pub fn after_command(self, command: &ControlCommand) -> Self {
        match (self, command) {
            (_, ControlCommand::Cancel) => Self::Cancel,
            (Self::PauseTakenBack, ControlCommand::Pause { .. }) => Self::Pause,
            (Self::Pause, ControlCommand::Resume) => Self::PauseTakenBack,
            (
                Self::Cancel | Self::Pause | Self::PauseTakenBack | Self::Signal(_),
                ControlCommand::Pause { .. } | ControlCommand::Resume | ControlCommand::Guide { .. },
            ) => self,
        }
    }

    /// Returns what the stop is for after a signal.
    #[must_use]
    pub fn after_signal(self, signal: StopSignal) -> Self {
        match self {
            Self::Cancel | Self::Signal(_) => self,
            Self::Pause | Self::PauseTakenBack => Self::Signal(signal),
        }
    }

    /// Tells whether the run is being ended, so that the next signal means: at once.
    #[must_use]
    pub fn is_ending_run(self) -> bool {
        match self {
            Self::Cancel | Self::Signal(_) => true,
            Self::Pause | Self::PauseTakenBack => false,
        }
    }

    /// Returns the reason for the journal.
    #[must_use]
    pub fn journal_reason(self) -> &'static str {
        match self {
            Self::Cancel => "ralph cancel asked the run to end",
            Self::Pause | Self::PauseTakenBack => "ralph pause asked the run to stop at once",
            Self::Signal(_) => "a signal asked the run to stop",
        }
    }

    /// Returns why an attempt was cut short.
    #[must_use]
    pub fn interruption_cause(self) -> &'static str {
        match self {
            Self::Cancel => "stopped by ralph cancel",
            Self::Pause | Self::PauseTakenBack => "stopped by ralph pause",
            Self::Signal(_) => "stopped by a signal",
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    const PAUSE_NOW: ControlCommand = ControlCommand::Pause { when: PauseTiming::Now };

    // spec: L11
    #[test]
    fn a_cancel_outranks_everything_and_an_end_outranks_a_pause() {
        let int = StopRequest::Signal(StopSignal::Int);
        let all = [StopRequest::Cancel, StopRequest::Pause, StopRequest::PauseTakenBack, int];
        assert!(all.iter().all(|halt| halt.after_command(&ControlCommand::Cancel) == StopRequest::Cancel));
        for order in [PAUSE_NOW, ControlCommand::Resume, ControlCommand::Guide { words: "x".to_string() }] {
            assert_eq!(
                (StopRequest::Cancel.after_command(&order), int.after_command(&order)),
                (StopRequest::Cancel, int)
            );
        }
        assert_eq!(StopRequest::Cancel.after_signal(StopSignal::Int), StopRequest::Cancel);
        assert_eq!(StopRequest::Pause.after_signal(StopSignal::Int), int);
        assert_eq!(
            StopRequest::Signal(StopSignal::Term).after_signal(StopSignal::Int),
            StopRequest::Signal(StopSignal::Term)
        );
    }

    // spec: L11
    #[test]
    fn of_pause_and_resume_the_last_one_counts() {
        assert_eq!(StopRequest::Pause.after_command(&ControlCommand::Resume), StopRequest::PauseTakenBack);
        assert_eq!(StopRequest::PauseTakenBack.after_command(&PAUSE_NOW), StopRequest::Pause);
        assert_eq!(StopRequest::PauseTakenBack.after_command(&ControlCommand::Resume), StopRequest::PauseTakenBack);
    }

    // spec: L13
    #[test]
    fn a_stop_that_was_stored_before_there_were_orders_is_read() {
        assert_eq!(serde_json::from_str::<StopRequest>("\"term\"").unwrap(), StopRequest::Signal(StopSignal::Term));
        for halt in [
            StopRequest::Cancel,
            StopRequest::Pause,
            StopRequest::PauseTakenBack,
            StopRequest::Signal(StopSignal::Hangup),
        ] {
            let stored = serde_json::to_string(&halt).unwrap();
            assert_eq!(serde_json::from_str::<StopRequest>(&stored).unwrap(), halt);
        }
    }
}
