//! Prints the lines until a signal stops this process or the output has no reader. Runs are not affected.
use std::io::Write;
use std::time::Duration;

use ralph_app::board::{BoardReader, BoardSnapshot};
use ralph_core::event::StopSignal;
use ralph_engine::run_driver::SignalStream;
use ralph_util::redact::redact_text;

use super::change_lines::change_lines;
use crate::board_options::{BoardError, BoardOptions};

/// How often changes are looked for. Without one this costs a few system calls.
const CHANGE_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Shows the board as plain lines. Returns the signal that ended it; `None` if the output has no reader any more.
pub fn run_plain_board(options: &BoardOptions) -> Result<Option<StopSignal>, BoardError> {
    let terminal_error = |source| BoardError::Terminal { source };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(terminal_error)?;
    runtime.block_on(async {
        let mut signals = SignalStream::listen().map_err(terminal_error)?;
        tokio::select! {
            () = print_changes(options) => Ok(None),
            signal = signals.wait_for_stop() => Ok(Some(signal)),
        }
    })
}

/// Returns when the lines cannot be written any more.
async fn print_changes(options: &BoardOptions) {
    let mut reader = BoardReader::new(&options.project);
    let mut output = (options.open_terminal)();
    let mut shown: Option<BoardSnapshot> = None;
    let mut problem: Option<String> = None;
    while (options.has_reader)() {
        let lines = match reader.read_changes().await {
            Err(error) => {
                let text = format!("the project cannot be read: {error}").replace('\n', " ");
                let is_new = problem.as_ref() != Some(&text);
                problem = Some(text.clone());
                if is_new { vec![text] } else { Vec::new() }
            }
            Ok(changed) => {
                let recovered = problem.take().map(|_| "the project can be read again".to_owned());
                let mut lines: Vec<String> = recovered.into_iter().collect();
                if let Some(snapshot) = changed {
                    lines.extend(change_lines(shown.as_ref(), &snapshot, &options.words));
                    shown = Some(snapshot);
                }
                lines
            }
        };
        let written = lines.iter().try_for_each(|line| writeln!(output, "{}", redact_text(line)));
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
        tokio::time::sleep(CHANGE_POLL_INTERVAL).await;
    }
}
