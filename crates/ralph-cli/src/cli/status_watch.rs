//! `ralph status --watch`: in place on a terminal, a line for every change elsewhere.
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;

use ralph_core::event::StopSignal;
use ralph_core::outcome::{Ended, exit_code};
use rustix::termios::tcgetwinsize;

use super::status::{loops, text};
use super::{out, pick};
use crate::error::Failure;
use ralph_app::view::Active;
use ralph_engine::engine::{Asked, Signals, stop_self};
use ralph_engine::project::Project;
use ralph_store::Store;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(250);

/// The other screen of the terminal, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// A terminal of which nobody knows the size.
const USUAL: (usize, usize) = (24, 80);

/// Shows the loops until somebody stops it, or nobody reads any more. The terminal is left as it was found.
pub async fn watch(project: &Project, json: bool) -> Result<u8, Failure> {
    let is_screen = io::stdout().is_terminal() && !json;
    if is_screen {
        out::data(ENTER);
    }
    let mut signals = Signals::listen().map_err(|error| Failure::new(exit_code::INTERNAL, &error))?;
    let watched = tokio::select! {
        watched = show(project, json, is_screen) => watched.map(|()| 0),
        signal = stopped(&mut signals) => Ok(Ended::interrupted(signal).exit_code),
    };
    if is_screen {
        out::data(LEAVE);
    }
    watched
}

async fn stopped(signals: &mut Signals) -> StopSignal {
    loop {
        match signals.next().await {
            Asked::Stop(signal) => return signal,
            Asked::Suspend => stop_self(),
            Asked::Look => {}
        }
    }
}

async fn show(project: &Project, json: bool, is_screen: bool) -> Result<(), Failure> {
    let mut store = None;
    let mut told = Told::default();
    while out::is_read() {
        // A project may get its first run while somebody watches.
        if store.is_none() {
            store = pick::store().await?;
        }
        let loops = seen(store.as_ref(), project).await?;
        if is_screen {
            out::data(&frame(&text(&loops), size()));
        } else {
            told.changes(&loops, json).iter().for_each(|line| out::line(line));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

async fn seen(store: Option<&Store>, project: &Project) -> Result<Vec<Active>, Failure> {
    match store {
        Some(store) => loops(store, project).await,
        None => Ok(Vec::new()),
    }
}

fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_row > 0 && size.ws_col > 0);
    size.map_or(USUAL, |size| (size.ws_row.into(), size.ws_col.into()))
}

/// Returns what draws the text over the last one: each line is cut at the edge and its rest cleared, so that nothing
/// flickers and nothing is left over.
fn frame(text: &str, (rows, columns): (usize, usize)) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(rows);
    let left_out = format!("  … and {} more lines", more + 1);
    if more > 0 {
        lines.truncate(rows.saturating_sub(1));
        lines.push(&left_out);
    }
    let cut = |line: &&str| format!("{}\x1b[K", line.chars().take(columns).collect::<String>());
    format!("\x1b[H{}\x1b[J", lines.iter().map(cut).collect::<Vec<_>>().join("\r\n"))
}

/// What was told of each loop.
#[derive(Default)]
struct Told {
    loops: BTreeMap<String, String>,
}

impl Told {
    /// Returns a line for everything that has changed.
    fn changes(&mut self, loops: &[Active], json: bool) -> Vec<String> {
        let told = |view: &Active| if json { view.json().to_string() } else { view.news() };
        let now: BTreeMap<String, String> =
            loops.iter().map(|view| (view.id().to_owned(), told(view))).collect();
        let ended = self.loops.iter().filter(|(id, _)| !now.contains_key(*id)).map(|(id, last)| {
            if json {
                serde_json::json!({ "id": id, "status": "ended" }).to_string()
            } else {
                format!("{last}: ended")
            }
        });
        let new = now.iter().filter(|(id, line)| self.loops.get(*id) != Some(line));
        let lines = ended.chain(new.map(|(_, line)| line.clone())).collect();
        self.loops = now;
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U3
    #[test]
    fn a_frame_fits_the_terminal_and_clears_what_it_does_not_draw() {
        let drawn = frame("one\ntwo is long\n", (24, 5));
        assert_eq!(drawn, "\x1b[Hone\x1b[K\r\ntwo i\x1b[K\x1b[J");
        let drawn = frame("1\n2\n3\n4\n", (3, 80));
        assert_eq!(drawn, "\x1b[H1\x1b[K\r\n2\x1b[K\r\n  … and 2 more lines\x1b[K\x1b[J");
    }
}
