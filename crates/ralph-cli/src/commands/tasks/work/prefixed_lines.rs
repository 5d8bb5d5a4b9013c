//! The lines of a stage, each with the name of its task.
use std::io::{self, Write};
use std::sync::Arc;

use super::stage_activities::StageActivities;

/// Prints each line to stderr with a prefix, wrapped to the width of a terminal.
pub(super) struct PrefixedLineWriter {
    prefix: String,
    buffer: Vec<u8>,
    activities: Arc<StageActivities>,
}

impl Write for PrefixedLineWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            match *byte {
                b'\n' => self.end_line(),
                byte => self.buffer.push(byte),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl PrefixedLineWriter {
    pub(super) fn new(prefix: String, activities: Arc<StageActivities>) -> Self {
        Self { prefix, buffer: Vec::new(), activities }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.buffer);
        if !line.trim_ascii().is_empty() {
            self.activities.print_note(&format!("{}  {}", self.prefix, String::from_utf8_lossy(&line)));
        }
    }
}
