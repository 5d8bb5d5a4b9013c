//! The messages that ralph and a supervisor exchange over a job's control socket, and their encoding.
//! Both ends are the same binary, so the protocol has no version and need not tolerate unknown messages.

use std::ffi::CString;
use std::time::Duration;

use crate::job::job_completion::{JobExit, LeakedProcess, TreeCleanup};
use crate::job::job_control::TerminationSignal;
use crate::protocol::frame::{FrameReader, FrameWriter};

/// The program to run. This is the first message that a supervisor reads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProgramLaunch {
    pub(crate) program: CString,
    pub(crate) argv: Vec<CString>,
    pub(crate) env: Vec<CString>,
    pub(crate) cwd: CString,
    pub(crate) linger: Duration,
    pub(crate) memory_limit: Option<u64>,
}

/// Encodes "no memory limit".
const NO_MEMORY_LIMIT: u64 = u64::MAX;

/// A command from ralph to a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupervisorCommand {
    Stop { signal: TerminationSignal, grace: Duration },
    Kill,
    Pause,
    Resume,
}

/// A report from a supervisor to ralph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SupervisorReport {
    /// The supervisor is running and about to start the program.
    Ready {
        supervisor: u32,
    },
    Started {
        pid: u32,
    },
    LaunchFailed {
        step: LaunchStep,
        errno: i32,
    },
    Exited(JobExit),
    TreeGone(TreeCleanup),
}

/// The step at which a launch failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaunchStep {
    /// Creating or preparing the processes.
    CreateProcess,
    /// Changing to the working directory.
    ChangeDirectory,
    /// Executing the program.
    ExecuteProgram,
}

impl ProgramLaunch {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut frame = FrameWriter::new().push_bytes(self.program.as_bytes()).push_bytes(self.cwd.as_bytes());
        frame = frame.push_u64(to_millis(self.linger)).push_u64(self.memory_limit.unwrap_or(NO_MEMORY_LIMIT));
        for list in [&self.argv, &self.env] {
            frame = frame.push_u32(u32::try_from(list.len()).unwrap_or(u32::MAX));
            frame = list.iter().fold(frame, |frame, item| frame.push_bytes(item.as_bytes()));
        }
        frame.finish()
    }

    pub(crate) fn decode(frame: &[u8]) -> Option<ProgramLaunch> {
        let mut reader = FrameReader(frame);
        Some(ProgramLaunch {
            program: read_c_string(&mut reader)?,
            cwd: read_c_string(&mut reader)?,
            linger: Duration::from_millis(reader.read_u64()?),
            memory_limit: Some(reader.read_u64()?).filter(|limit| *limit != NO_MEMORY_LIMIT),
            argv: reader.read_list(read_c_string)?,
            env: reader.read_list(read_c_string)?,
        })
    }
}

impl SupervisorCommand {
    pub(crate) fn encode(self) -> Vec<u8> {
        match self {
            SupervisorCommand::Stop { signal: TerminationSignal::Term, grace } => {
                FrameWriter::new().push_u8(0).push_u64(to_millis(grace))
            }
            SupervisorCommand::Stop { signal: TerminationSignal::Int, grace } => {
                FrameWriter::new().push_u8(1).push_u64(to_millis(grace))
            }
            SupervisorCommand::Kill => FrameWriter::new().push_u8(2),
            SupervisorCommand::Pause => FrameWriter::new().push_u8(3),
            SupervisorCommand::Resume => FrameWriter::new().push_u8(4),
        }
        .finish()
    }

    pub(crate) fn decode(frame: &[u8]) -> Option<SupervisorCommand> {
        let mut reader = FrameReader(frame);
        match reader.read_u8()? {
            0 => Some(SupervisorCommand::Stop {
                signal: TerminationSignal::Term,
                grace: Duration::from_millis(reader.read_u64()?),
            }),
            1 => Some(SupervisorCommand::Stop {
                signal: TerminationSignal::Int,
                grace: Duration::from_millis(reader.read_u64()?),
            }),
            2 => Some(SupervisorCommand::Kill),
            3 => Some(SupervisorCommand::Pause),
            4 => Some(SupervisorCommand::Resume),
            _ => None,
        }
    }
}

impl SupervisorReport {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            SupervisorReport::Ready { supervisor } => FrameWriter::new().push_u8(6).push_u32(*supervisor),
            SupervisorReport::Started { pid } => FrameWriter::new().push_u8(0).push_u32(*pid),
            SupervisorReport::LaunchFailed { step, errno } => {
                FrameWriter::new().push_u8(1).push_u8(step.encode()).push_i32(*errno)
            }
            SupervisorReport::Exited(JobExit::Code(code)) => FrameWriter::new().push_u8(2).push_i32(*code),
            SupervisorReport::Exited(JobExit::Signal(signal)) => FrameWriter::new().push_u8(3).push_i32(*signal),
            SupervisorReport::Exited(JobExit::SupervisorDied) => FrameWriter::new().push_u8(4),
            SupervisorReport::Exited(JobExit::OverMemory { used, limit }) => {
                FrameWriter::new().push_u8(7).push_u64(*used).push_u64(*limit)
            }
            SupervisorReport::TreeGone(cleanup) => encode_cleanup(cleanup),
        }
        .finish()
    }

    pub(crate) fn decode(frame: &[u8]) -> Option<SupervisorReport> {
        let mut reader = FrameReader(frame);
        match reader.read_u8()? {
            0 => Some(SupervisorReport::Started { pid: reader.read_u32()? }),
            1 => Some(SupervisorReport::LaunchFailed {
                step: LaunchStep::decode(reader.read_u8()?)?,
                errno: reader.read_i32()?,
            }),
            2 => Some(SupervisorReport::Exited(JobExit::Code(reader.read_i32()?))),
            3 => Some(SupervisorReport::Exited(JobExit::Signal(reader.read_i32()?))),
            4 => Some(SupervisorReport::Exited(JobExit::SupervisorDied)),
            5 => Some(SupervisorReport::TreeGone(TreeCleanup {
                killed: reader.read_u32()?,
                leaked: reader.read_list(read_leaked_process)?,
            })),
            6 => Some(SupervisorReport::Ready { supervisor: reader.read_u32()? }),
            7 => Some(SupervisorReport::Exited(JobExit::OverMemory {
                used: reader.read_u64()?,
                limit: reader.read_u64()?,
            })),
            _ => None,
        }
    }
}

impl LaunchStep {
    pub(crate) fn encode(self) -> u8 {
        match self {
            LaunchStep::CreateProcess => 0,
            LaunchStep::ChangeDirectory => 1,
            LaunchStep::ExecuteProgram => 2,
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<LaunchStep> {
        [LaunchStep::CreateProcess, LaunchStep::ChangeDirectory, LaunchStep::ExecuteProgram]
            .into_iter()
            .find(|step| step.encode() == byte)
    }
}

fn encode_cleanup(cleanup: &TreeCleanup) -> FrameWriter {
    let count = u32::try_from(cleanup.leaked.len()).unwrap_or(u32::MAX);
    let head = FrameWriter::new().push_u8(5).push_u32(cleanup.killed).push_u32(count);
    cleanup.leaked.iter().fold(head, |frame, leaked| frame.push_u32(leaked.pid).push_bytes(leaked.name.as_bytes()))
}

fn read_leaked_process(reader: &mut FrameReader<'_>) -> Option<LeakedProcess> {
    Some(LeakedProcess { pid: reader.read_u32()?, name: String::from_utf8_lossy(reader.read_bytes()?).into_owned() })
}

fn read_c_string(reader: &mut FrameReader<'_>) -> Option<CString> {
    CString::new(reader.read_bytes()?).ok()
}

fn to_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_decodes_to_what_was_encoded() {
        let grace = Duration::from_millis(1234);
        let commands = [
            SupervisorCommand::Stop { signal: TerminationSignal::Term, grace },
            SupervisorCommand::Stop { signal: TerminationSignal::Int, grace },
            SupervisorCommand::Kill,
            SupervisorCommand::Pause,
            SupervisorCommand::Resume,
        ];
        for command in commands {
            assert_eq!(SupervisorCommand::decode(&command.encode()[4..]), Some(command));
        }
    }

    #[test]
    fn every_report_decodes_to_what_was_encoded() {
        let leaked = vec![LeakedProcess { pid: 9, name: "held".into() }];
        let reports = [
            SupervisorReport::Ready { supervisor: 2 },
            SupervisorReport::Started { pid: 1 },
            SupervisorReport::LaunchFailed { step: LaunchStep::ChangeDirectory, errno: 2 },
            SupervisorReport::Exited(JobExit::Code(-1)),
            SupervisorReport::Exited(JobExit::Signal(9)),
            SupervisorReport::Exited(JobExit::SupervisorDied),
            SupervisorReport::Exited(JobExit::OverMemory { used: 1 << 40, limit: 7 }),
            SupervisorReport::TreeGone(TreeCleanup { killed: 3, leaked }),
        ];
        for report in reports {
            assert_eq!(SupervisorReport::decode(&report.encode()[4..]), Some(report));
        }
    }

    #[test]
    fn a_launch_keeps_every_byte_of_its_arguments() {
        let mut launch = ProgramLaunch {
            program: c"/bin/sh".into(),
            argv: vec![c"sh".into(), CString::new(vec![0xff, b'\n', 0x80]).unwrap(), c"".into()],
            env: vec![c"A=1".into()],
            cwd: c"/".into(),
            linger: Duration::from_millis(500),
            memory_limit: None,
        };
        for memory in [None, Some(4 << 30)] {
            launch.memory_limit = memory;
            assert_eq!(ProgramLaunch::decode(&launch.encode()[4..]).as_ref(), Some(&launch));
        }
    }
}
