//! `ralph status --watch`: updates in place on a terminal; otherwise prints one line for every change.
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use ralph_core::outcome::{RunEnd, exit_code};
use rustix::termios::tcgetwinsize;

use crate::commands::look::status::format_loop_list;
use crate::commands::out;
use crate::error::CommandError;
use crate::hints;
use ralph_app::control::ActiveWorkReader;
use ralph_app::view::ActiveWork;
use ralph_engine::project::Project;
use ralph_engine::run_driver::SignalStream;

/// How often the loops are read.
const STATUS_REFRESH_INTERVAL: Duration = Duration::from_millis(250);

/// Switches to the alternate screen of the terminal and hides the cursor.
const ENTER_ALTERNATE_SCREEN: &str = "\x1b[?1049h\x1b[?25l";
/// Shows the cursor and switches back.
const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?25h\x1b[?1049l";

#[derive(Clone, Copy)]
struct TerminalSize {
    rows: usize,
    columns: usize,
}

/// The size of a terminal that does not report one.
const DEFAULT_TERMINAL_SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };

/// Shows the loops until a signal arrives or the reader closes stdout. Restores the terminal.
pub async fn watch_status(project: &Project, json: bool) -> Result<u8, CommandError> {
    let is_screen = io::stdout().is_terminal() && !json;
    if is_screen {
        out::print_data(ENTER_ALTERNATE_SCREEN);
    }
    let mut signals =
        SignalStream::listen().map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
    let watched = tokio::select! {
        watched = show_loops(project, json, is_screen) => watched.map(|()| 0),
        signal = signals.wait_for_stop() => Ok(RunEnd::interrupted_by_signal(signal).exit_code),
    };
    if is_screen {
        out::print_data(LEAVE_ALTERNATE_SCREEN);
    }
    watched
}

async fn show_loops(project: &Project, json: bool, is_screen: bool) -> Result<(), CommandError> {
    let mut reader = ActiveWorkReader::new(project);
    let mut tracker = LoopChangeTracker::default();
    while out::has_reader() {
        let loops = reader.read().await?;
        if is_screen {
            out::print_data(&render_frame(&format_loop_list(&loops), terminal_size()));
        } else {
            tracker.changed_lines(&loops, json).iter().for_each(|line| out::print_line(line));
        }
        tokio::time::sleep(STATUS_REFRESH_INTERVAL).await;
    }
    Ok(())
}

fn terminal_size() -> TerminalSize {
    let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
    size.map_or(DEFAULT_TERMINAL_SIZE, |size| TerminalSize { rows: size.ws_row.into(), columns: size.ws_col.into() })
}

/// Returns the control sequence that draws the text over the previous frame. Lines are truncated and their remainder is
/// cleared, which avoids flicker and stale text.
fn render_frame(text: &str, size: TerminalSize) -> String {
    let TerminalSize { rows, columns } = size;
    let mut lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(rows);
    let more_line = format!("  … and {} more lines", more + 1);
    if more > 0 {
        lines.truncate(rows.saturating_sub(1));
        lines.push(&more_line);
    }
    let cut = |line: &&str| format!("{}\x1b[K", line.chars().take(columns).collect::<String>());
    format!("\x1b[H{}\x1b[J", lines.iter().map(cut).collect::<Vec<_>>().join("\r\n"))
}

/// The last printed line of each loop.
#[derive(Default)]
struct LoopChangeTracker {
    printed_lines: BTreeMap<String, String>,
}

impl LoopChangeTracker {
    /// Returns one line for each loop that has changed or ended.
    fn changed_lines(&mut self, loops: &[ActiveWork], json: bool) -> Vec<String> {
        let line_of = |view: &ActiveWork| {
            if json { view.to_json().to_string() } else { view.line_without_elapsed_time(&hints::for_loop_remedy) }
        };
        let now: BTreeMap<String, String> = loops.iter().map(|view| (view.id().to_owned(), line_of(view))).collect();
        let ended = self.printed_lines.iter().filter(|(id, _)| !now.contains_key(*id)).map(|(id, last)| {
            if json { serde_json::json!({ "id": id, "status": "ended" }).to_string() } else { format!("{last}: ended") }
        });
        let new = now.iter().filter(|(id, line)| self.printed_lines.get(*id) != Some(line));
        let lines = ended.chain(new.map(|(_, line)| line.clone())).collect();
        self.printed_lines = now;
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U3
    #[test]
    fn a_frame_fits_the_terminal_and_clears_what_it_does_not_draw() {
        let drawn = render_frame("one\ntwo is long\n", TerminalSize { rows: 24, columns: 5 });
        assert_eq!(drawn, "\x1b[Hone\x1b[K\r\ntwo i\x1b[K\x1b[J");
        let drawn = render_frame("1\n2\n3\n4\n", TerminalSize { rows: 3, columns: 80 });
        assert_eq!(drawn, "\x1b[H1\x1b[K\r\n2\x1b[K\r\n  … and 2 more lines\x1b[K\x1b[J");
    }
}
