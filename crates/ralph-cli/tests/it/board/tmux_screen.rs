//! A terminal in which a command runs: a separate tmux server, without a configuration.
use std::path::PathBuf;
use std::process::Command;

use crate::harness::{Project, wait_until};

pub struct TmuxScreen {
    socket: PathBuf,
}

/// The size of a screen, in cells.
#[derive(Clone, Copy)]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
}

impl ScreenSize {
    pub const SMALL: Self = Self { columns: 80, rows: 24 };
    pub const LARGE: Self = Self { columns: 200, rows: 60 };
}

/// Returns the mark of the processes that a board of this project starts.
pub fn board_mark(project: &Project) -> String {
    format!("board-{}", project.mark)
}

impl TmuxScreen {
    /// Starts `ralph board` in the project.
    pub fn start_board(project: &Project, size: ScreenSize) -> Self {
        Self::start(project, size, "exec \"$RALPH\" board")
    }

    /// Starts a shell command in the project, with `$RALPH` as the path of the binary.
    pub fn start(project: &Project, size: ScreenSize, command: &str) -> Self {
        let socket = project.outside(&format!("tmux-{}", uuid::Uuid::new_v4().simple()));
        let screen = Self { socket };
        let mut tmux = project.ralph(["board"]).replace_program(Command::new("tmux")).command();
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        // The invariants of other calls must not wait for the board to end.
        tmux.env("RALPH_TEST_MARK", board_mark(project));
        tmux.env("RALPH", env!("CARGO_BIN_EXE_ralph")).env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        tmux.args(["-f", "/dev/null", "-S"]).arg(&screen.socket);
        let session = ["new-session", "-d", "-x", &columns, "-y", &rows, "/bin/sh", "-c", command];
        assert!(tmux.args(session).status().unwrap().success());
        screen
    }

    fn tmux(&self, args: &[&str]) -> std::process::Output {
        Command::new("tmux").arg("-S").arg(&self.socket).args(args).output().unwrap()
    }

    /// Presses keys, as tmux names them.
    pub fn press(&self, keys: &[&str]) {
        keys.iter().for_each(|key| drop(self.tmux(&["send-keys", key])));
    }

    /// Types a text.
    pub fn type_text(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    pub fn resize(&self, size: ScreenSize) {
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Returns what the screen shows.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns the title that programs have given to the terminal.
    pub fn title(&self) -> String {
        String::from_utf8_lossy(&self.tmux(&["display-message", "-p", "#{pane_title}"]).stdout).trim().to_owned()
    }

    /// Presses and releases the left button of the mouse on the first line that shows a text.
    #[track_caller]
    pub fn click_on(&self, text: &str) {
        let shown = self.shown();
        let row = shown.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text:?}:\n{shown}"));
        // As a terminal reports it to a program that reads the mouse, with rows and columns from 1.
        self.type_text(&format!("\u{1b}[<0;5;{row}M\u{1b}[<0;5;{row}m", row = row + 1));
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let mut last = String::new();
        wait_until(&format!("the screen shows {text:?}"), || {
            last = self.shown();
            last.contains(text)
        });
    }

    /// Returns the child of the command, which is a shell.
    pub fn child(&self) -> rustix::process::Pid {
        let shell = String::from_utf8_lossy(&self.tmux(&["display-message", "-p", "#{pane_pid}"]).stdout).into_owned();
        let shell = shell.trim();
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children")).unwrap();
        rustix::process::Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
    }

    /// Waits until the command has ended.
    pub fn wait_for_end(&self) {
        wait_until("the command on the screen has ended", || !self.tmux(&["has-session"]).status.success());
    }
}

impl Drop for TmuxScreen {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}
