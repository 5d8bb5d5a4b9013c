//! The terminal for the progress line, reported a little narrower than it is. The progress line fills its row, so the `^C`
//! that the terminal echoes would start a new row, and clearing the progress line would clear that row instead.
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle, TermLike};

use super::line_width::LineWidth;

/// Room for the echo of a key such as Ctrl-C: `^C`.
const ECHO_COLUMNS: usize = 3;

/// The width of a terminal that does not report one.
const DEFAULT_COLUMNS: usize = 80;

/// A terminal narrower than this is used in full.
const NARROW_COLUMNS: usize = 40;

/// Returns the last line of a terminal, with a prefix, the elapsed time and a message.
pub fn build_progress_line() -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear);
    bar.set_draw_target(ProgressDrawTarget::term_like_with_hz(Box::new(ProgressTerminal::default()), 10));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} · {elapsed} {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Buffers a whole frame and writes it at once, to avoid flicker.
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

    /// Moves the cursor. A count of 0 is skipped because terminals treat it as 1.
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
        let frame = std::mem::take(&mut *self.lock_buffer());
        let mut stderr = io::stderr().lock();
        stderr.write_all(frame.as_bytes()).and_then(|()| stderr.flush())
    }
}
