//! The terminal as the progress line sees it: a little narrower than it is. The line is filled up to its end, and what the
//! terminal itself shows for Ctrl-C would begin the next row. Whoever removes the line would remove that row instead.
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use super::line_width::LineWidth;

/// Room for what a terminal shows for a key such as Ctrl-C: `^C`.
const ECHO_COLUMNS: usize = 3;

/// The width of a terminal that does not know its own.
const DEFAULT_COLUMNS: usize = 80;

/// A terminal that is narrower than this has no room to spare.
const NARROW_COLUMNS: usize = 40;

/// Writes a whole picture at once, so that it does not flicker.
#[derive(Debug, Default)]
pub(super) struct ProgressTerminal {
    buffer: Mutex<String>,
}

impl ProgressTerminal {
    fn lock_buffer(&self) -> MutexGuard<'_, String> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_text(&self, text: &str) {
        self.lock_buffer().push_str(text);
    }

    /// Moves the cursor. Terminals take no step at all for one step.
    fn move_cursor(&self, count: usize, direction: char) {
        if count > 0 {
            self.append_text(&format!("\x1b[{count}{direction}"));
        }
    }
}

impl TermLike for ProgressTerminal {
    fn width(&self) -> u16 {
        let columns = LineWidth::Terminal.max_columns().unwrap_or(DEFAULT_COLUMNS);
        let room = if columns < NARROW_COLUMNS { columns } else { columns - ECHO_COLUMNS };
        u16::try_from(room).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.move_cursor(n, 'D');
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.append_text(&format!("{s}\n"));
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.append_text(s);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.append_text("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let picture = std::mem::take(&mut *self.lock_buffer());
        let mut stderr = io::stderr().lock();
        stderr.write_all(picture.as_bytes()).and_then(|()| stderr.flush())
    }
}
