//! Commands that control a loop from another process, and which one wins if there are several.
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::claim::ToolSignal;
use crate::event::StopSignal;
use crate::limit_change::LimitChanges;

/// A command to a running loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum ControlCommand {
    /// Ends the run permanently.
    Cancel,
    Pause {
        when: PauseTiming,
    },
    /// Resumes a paused run, or withdraws a pause.
    Resume,
    /// Adds text to the agent's next prompt.
    Guide {
        words: String,
    },
    /// Changes limits of the run.
    Limit {
        changes: LimitChanges,
    },
    /// The run's own agent tells something with a tool of `ralph mcp`.
    Report {
        report: AgentReport,
    },
}

/// A report that the agent of a run makes with a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub enum AgentReport {
    Progress {
        words: String,
    },
    /// It is done, blocked or asks for a wait.
    Signal {
        #[serde(flatten)]
        signal: ToolSignal,
    },
}

impl ControlCommand {
    /// Returns whether the last pause or resume of these commands is a pause; `None` if there is neither.
    #[must_use]
    pub fn last_pause_request(commands: &[Self]) -> Option<bool> {
        commands.iter().rev().find_map(|command| match command {
            Self::Pause { .. } => Some(true),
            Self::Resume => Some(false),
            Self::Cancel | Self::Guide { .. } | Self::Limit { .. } | Self::Report { .. } => None,
        })
    }
}

/// When a pause starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseTiming {
    /// As soon as neither agent nor checks are running: at the end of the iteration, or in a wait.
    Idle,
    /// Immediately: the running agent or check is stopped and started again on resume.
    Now,
}

/// Commands that are not carried out yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingCommands {
    /// A pause was requested.
    #[serde(default)]
    pub pause: bool,
    /// Guidance for the next prompt.
    #[serde(default)]
    pub guidance: Vec<String>,
}

impl PendingCommands {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.pause && self.guidance.is_empty()
    }
}

/// Why the agent or the checks are being stopped on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRequest {
    /// The run ends permanently.
    Cancel,
    /// The run pauses until it is resumed.
    Pause,
    /// The pause was withdrawn before everything had stopped.
    PauseTakenBack,
    /// The run ends and can be resumed.
    #[serde(untagged)]
    Signal(StopSignal),
}

impl StopRequest {
    /// Returns the request after another command. A cancel overrides everything, a signal overrides a pause.
    #[must_use]
    pub fn after_command(self, command: &ControlCommand) -> Self {
        match (self, command) {
            (_, ControlCommand::Cancel) => Self::Cancel,
            (Self::PauseTakenBack, ControlCommand::Pause { .. }) => Self::Pause,
            (Self::Pause, ControlCommand::Resume) => Self::PauseTakenBack,
            (
                Self::Cancel | Self::Pause | Self::PauseTakenBack | Self::Signal(_),
                ControlCommand::Pause { .. }
                | ControlCommand::Resume
                | ControlCommand::Guide { .. }
                | ControlCommand::Limit { .. }
                | ControlCommand::Report { .. },
            ) => self,
        }
    }

    /// Returns the request after a signal.
    #[must_use]
    pub fn after_signal(self, signal: StopSignal) -> Self {
        match self {
            Self::Cancel | Self::Signal(_) => self,
            Self::Pause | Self::PauseTakenBack => Self::Signal(signal),
        }
    }

    /// Returns whether the run is ending, so that the next signal kills the agent.
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
            Self::Pause | Self::PauseTakenBack => "ralph pause asked the run to stop immediately",
            Self::Signal(_) => "a signal asked the run to stop",
        }
    }

    /// Returns the failure of an attempt that was stopped.
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
    fn a_cancel_overrides_everything_and_a_signal_overrides_a_pause() {
        let int = StopRequest::Signal(StopSignal::Int);
        let all = [StopRequest::Cancel, StopRequest::Pause, StopRequest::PauseTakenBack, int];
        assert!(
            all.iter().all(|stop_request| stop_request.after_command(&ControlCommand::Cancel) == StopRequest::Cancel)
        );
        for command in [PAUSE_NOW, ControlCommand::Resume, ControlCommand::Guide { words: "x".to_string() }] {
            assert_eq!(
                (StopRequest::Cancel.after_command(&command), int.after_command(&command)),
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
    fn the_last_of_pause_and_resume_counts() {
        assert_eq!(StopRequest::Pause.after_command(&ControlCommand::Resume), StopRequest::PauseTakenBack);
        assert_eq!(StopRequest::PauseTakenBack.after_command(&PAUSE_NOW), StopRequest::Pause);
        assert_eq!(StopRequest::PauseTakenBack.after_command(&ControlCommand::Resume), StopRequest::PauseTakenBack);
    }

    // spec: L13
    #[test]
    fn a_stop_request_in_the_old_format_is_read() {
        assert_eq!(serde_json::from_str::<StopRequest>("\"term\"").unwrap(), StopRequest::Signal(StopSignal::Term));
        for stop_request in [
            StopRequest::Cancel,
            StopRequest::Pause,
            StopRequest::PauseTakenBack,
            StopRequest::Signal(StopSignal::Hangup),
        ] {
            let stored = serde_json::to_string(&stop_request).unwrap();
            assert_eq!(serde_json::from_str::<StopRequest>(&stored).unwrap(), stop_request);
        }
    }
}
