//! The terminal as the progress line sees it: a little narrower than it is. The line is filled up to its end, and what the
//! terminal itself shows for Ctrl-C would begin the next row. Whoever removes the line would remove that row instead.
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::TermLike;

use super::screen::Screen;

/// Room for what a terminal shows for a key such as Ctrl-C: `^C`.
const ECHO: usize = 3;

/// The width of a terminal that does not know its own.
const USUAL: usize = 80;

/// A terminal that is narrower than this has no room to spare.
const NARROW: usize = 40;

/// Writes a whole picture at once, so that it does not flicker.
#[derive(Debug, Default)]
pub(super) struct Bottom {
    picture: Mutex<String>,
}

impl Bottom {
    fn picture(&self) -> MutexGuard<'_, String> {
        self.picture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, text: &str) {
        self.picture().push_str(text);
    }

    /// Moves the cursor. Terminals take no step at all for one step.
    fn step(&self, count: usize, direction: char) {
        if count > 0 {
            self.put(&format!("\x1b[{count}{direction}"));
        }
    }
}

impl TermLike for Bottom {
    fn width(&self) -> u16 {
        let columns = Screen::Terminal.columns().unwrap_or(USUAL);
        let room = if columns < NARROW { columns } else { columns - ECHO };
        u16::try_from(room).unwrap_or(u16::MAX)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.step(n, 'A');
        Ok(())
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.step(n, 'B');
        Ok(())
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.step(n, 'C');
        Ok(())
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.step(n, 'D');
        Ok(())
    }

    fn write_line(&self, s: &str) -> io::Result<()> {
        self.put(&format!("{s}\n"));
        Ok(())
    }

    fn write_str(&self, s: &str) -> io::Result<()> {
        self.put(s);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.put("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        let picture = std::mem::take(&mut *self.picture());
        let mut stderr = io::stderr().lock();
        stderr.write_all(picture.as_bytes()).and_then(|()| stderr.flush())
    }
}
