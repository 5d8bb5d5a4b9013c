//! The words ralph and a supervisor exchange over a job's control socket, and how they are written down.
//! Both ends are the same binary, so there is no version and no unknown word to survive.

use std::ffi::CString;
use std::time::Duration;

use super::control::Polite;
use super::ending::{Exit, Gone, Survivor};
use super::wire::{Reader, Writer};

/// Describes the program to run. It is the first message a supervisor reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: CString,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
    pub(super) linger: Duration,
    pub(super) memory: Option<u64>,
}

/// More than any machine has: as good as no ceiling.
const NO_CEILING: u64 = u64::MAX;

/// What ralph tells a supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Stop { signal: Polite, grace: Duration },
    Kill,
    Pause,
    Resume,
}

/// What a supervisor tells ralph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// The supervisor is there and about to start the program.
    Serving {
        supervisor: u32,
    },
    Started {
        pid: u32,
    },
    CouldNotStart {
        step: Step,
        errno: i32,
    },
    Exited(Exit),
    Gone(Gone),
}

/// The step at which a start failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Making or preparing the processes.
    Fork,
    /// Entering the working directory.
    Directory,
    /// Executing the program.
    Program,
}

impl Launch {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut frame = Writer::new().bytes(self.program.as_bytes()).bytes(self.cwd.as_bytes());
        frame = frame.u64(millis(self.linger)).u64(self.memory.unwrap_or(NO_CEILING));
        for list in [&self.argv, &self.env] {
            frame = frame.u32(u32::try_from(list.len()).unwrap_or(u32::MAX));
            frame = list.iter().fold(frame, |frame, item| frame.bytes(item.as_bytes()));
        }
        frame.finish()
    }

    pub(super) fn decode(frame: &[u8]) -> Option<Launch> {
        let mut reader = Reader(frame);
        Some(Launch {
            program: c_string(&mut reader)?,
            cwd: c_string(&mut reader)?,
            linger: Duration::from_millis(reader.u64()?),
            memory: Some(reader.u64()?).filter(|limit| *limit != NO_CEILING),
            argv: reader.list(c_string)?,
            env: reader.list(c_string)?,
        })
    }
}

impl Order {
    pub(super) fn encode(self) -> Vec<u8> {
        match self {
            Order::Stop { signal: Polite::Term, grace } => Writer::new().u8(0).u64(millis(grace)),
            Order::Stop { signal: Polite::Int, grace } => Writer::new().u8(1).u64(millis(grace)),
            Order::Kill => Writer::new().u8(2),
            Order::Pause => Writer::new().u8(3),
            Order::Resume => Writer::new().u8(4),
        }
        .finish()
    }

    pub(super) fn decode(frame: &[u8]) -> Option<Order> {
        let mut reader = Reader(frame);
        match reader.u8()? {
            0 => Some(Order::Stop { signal: Polite::Term, grace: Duration::from_millis(reader.u64()?) }),
            1 => Some(Order::Stop { signal: Polite::Int, grace: Duration::from_millis(reader.u64()?) }),
            2 => Some(Order::Kill),
            3 => Some(Order::Pause),
            4 => Some(Order::Resume),
            _ => None,
        }
    }
}

impl Report {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Report::Serving { supervisor } => Writer::new().u8(6).u32(*supervisor),
            Report::Started { pid } => Writer::new().u8(0).u32(*pid),
            Report::CouldNotStart { step, errno } => Writer::new().u8(1).u8(step.encode()).i32(*errno),
            Report::Exited(Exit::Code(code)) => Writer::new().u8(2).i32(*code),
            Report::Exited(Exit::Signal(signal)) => Writer::new().u8(3).i32(*signal),
            Report::Exited(Exit::SupervisorDied) => Writer::new().u8(4),
            Report::Exited(Exit::OverMemory { used, limit }) => Writer::new().u8(7).u64(*used).u64(*limit),
            Report::Gone(gone) => write_gone(gone),
        }
        .finish()
    }

    pub(super) fn decode(frame: &[u8]) -> Option<Report> {
        let mut reader = Reader(frame);
        match reader.u8()? {
            0 => Some(Report::Started { pid: reader.u32()? }),
            1 => Some(Report::CouldNotStart { step: Step::decode(reader.u8()?)?, errno: reader.i32()? }),
            2 => Some(Report::Exited(Exit::Code(reader.i32()?))),
            3 => Some(Report::Exited(Exit::Signal(reader.i32()?))),
            4 => Some(Report::Exited(Exit::SupervisorDied)),
            5 => Some(Report::Gone(Gone { killed: reader.u32()?, leaked: reader.list(read_survivor)? })),
            6 => Some(Report::Serving { supervisor: reader.u32()? }),
            7 => Some(Report::Exited(Exit::OverMemory { used: reader.u64()?, limit: reader.u64()? })),
            _ => None,
        }
    }
}

impl Step {
    pub(super) fn encode(self) -> u8 {
        match self {
            Step::Fork => 0,
            Step::Directory => 1,
            Step::Program => 2,
        }
    }

    pub(super) fn decode(byte: u8) -> Option<Step> {
        [Step::Fork, Step::Directory, Step::Program].into_iter().find(|step| step.encode() == byte)
    }
}

fn write_gone(gone: &Gone) -> Writer {
    let count = u32::try_from(gone.leaked.len()).unwrap_or(u32::MAX);
    let head = Writer::new().u8(5).u32(gone.killed).u32(count);
    gone.leaked.iter().fold(head, |frame, left| frame.u32(left.pid).bytes(left.name.as_bytes()))
}

fn read_survivor(reader: &mut Reader<'_>) -> Option<Survivor> {
    Some(Survivor { pid: reader.u32()?, name: String::from_utf8_lossy(reader.bytes()?).into_owned() })
}

fn c_string(reader: &mut Reader<'_>) -> Option<CString> {
    CString::new(reader.bytes()?).ok()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_read_as_it_was_written() {
        let grace = Duration::from_millis(1234);
        let orders = [
            Order::Stop { signal: Polite::Term, grace },
            Order::Stop { signal: Polite::Int, grace },
            Order::Kill,
            Order::Pause,
            Order::Resume,
        ];
        for order in orders {
            assert_eq!(Order::decode(&order.encode()[4..]), Some(order));
        }
    }

    #[test]
    fn every_report_is_read_as_it_was_written() {
        let leaked = vec![Survivor { pid: 9, name: "held".into() }];
        let reports = [
            Report::Serving { supervisor: 2 },
            Report::Started { pid: 1 },
            Report::CouldNotStart { step: Step::Directory, errno: 2 },
            Report::Exited(Exit::Code(-1)),
            Report::Exited(Exit::Signal(9)),
            Report::Exited(Exit::SupervisorDied),
            Report::Exited(Exit::OverMemory { used: 1 << 40, limit: 7 }),
            Report::Gone(Gone { killed: 3, leaked }),
        ];
        for report in reports {
            assert_eq!(Report::decode(&report.encode()[4..]), Some(report));
        }
    }

    #[test]
    fn a_launch_keeps_every_byte_of_its_arguments() {
        let mut launch = Launch {
            program: c"/bin/sh".into(),
            argv: vec![c"sh".into(), CString::new(vec![0xff, b'\n', 0x80]).unwrap(), c"".into()],
            env: vec![c"A=1".into()],
            cwd: c"/".into(),
            linger: Duration::from_millis(500),
            memory: None,
        };
        for memory in [None, Some(4 << 30)] {
            launch.memory = memory;
            assert_eq!(Launch::decode(&launch.encode()[4..]).as_ref(), Some(&launch));
        }
    }
}
