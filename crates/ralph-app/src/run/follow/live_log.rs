//! Reads the raw log of a running attempt while it grows. If the reader is too far behind, it skips to
//! the end of the log.
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use ralph_agents::{AgentEvent, StreamParser};
use ralph_engine::run_driver::RunObserver;
use ralph_util::private_files;

/// If more than this is unread, the reader skips ahead.
const MAX_CATCH_UP_BYTES: u64 = 256 * 1024;
/// How much before the end of the log it then continues.
const TAIL_BYTES: u64 = 16 * 1024;
/// Of the events read at once, only the last ones are shown.
const MAX_EVENTS_AT_ONCE: usize = 200;

/// How much of a long log is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogExtent {
    /// A reader that is far behind skips to the end.
    Tail,
    Complete,
}

/// Reads one attempt's log.
pub(super) struct LiveLog {
    path: PathBuf,
    /// `None` until the log exists: it is created with the first byte of the agent.
    file: Option<File>,
    read_offset: u64,
    parser: Box<dyn StreamParser>,
    extent: LogExtent,
}

impl LiveLog {
    pub(super) fn new(path: PathBuf, parser: Box<dyn StreamParser>, extent: LogExtent) -> Self {
        Self { path, file: None, read_offset: 0, parser, extent }
    }

    /// Shows the events that were written since the last call. Read errors are ignored.
    pub(super) fn catch_up(&mut self, observer: &mut dyn RunObserver) {
        loop {
            let bytes = self.read_new_bytes().unwrap_or_default();
            let mut events = Vec::new();
            self.parser.push(&bytes, &mut events);
            self.show_events(&events, observer);
            if bytes.is_empty() || self.extent == LogExtent::Tail {
                return;
            }
        }
    }

    fn show_events(&self, events: &[AgentEvent], observer: &mut dyn RunObserver) {
        let most = match self.extent {
            LogExtent::Tail => MAX_EVENTS_AT_ONCE,
            LogExtent::Complete => usize::MAX,
        };
        let last = events.get(events.len().saturating_sub(most)..).unwrap_or_default();
        last.iter().for_each(|event| observer.on_agent_event(event));
    }

    /// Shows the remaining events after the agent has ended.
    pub(super) fn finish(mut self, observer: &mut dyn RunObserver) {
        self.catch_up(observer);
        let mut events = Vec::new();
        self.parser.finish(&mut events);
        self.show_events(&events, observer);
    }

    fn read_new_bytes(&mut self) -> io::Result<Vec<u8>> {
        let file = match self.file.take() {
            Some(file) => self.file.insert(file),
            None => self.file.insert(private_files::open_regular_file(&self.path)?),
        };
        let length = file.metadata()?.len();
        let mut bytes = Vec::new();
        let is_near = length.saturating_sub(self.read_offset) <= MAX_CATCH_UP_BYTES;
        if is_near || self.extent == LogExtent::Complete {
            self.read_offset += file.take(MAX_CATCH_UP_BYTES).read_to_end(&mut bytes)? as u64;
            return Ok(bytes);
        }
        self.read_offset = file.seek(SeekFrom::Start(length - TAIL_BYTES))?;
        self.read_offset += file.take(TAIL_BYTES).read_to_end(&mut bytes)? as u64;
        // The first line may be incomplete.
        let complete = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        Ok(bytes.split_off(complete))
    }
}
