//! CPU time of the board: a redraw with ten thousand tasks against one with a hundred, and a board that nothing happens to.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::many::ralph_command;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::tasks::{time_ralph_command, write_dependent_tasks};
use super::workspace::{BenchWorkspace, remove_project};
use crate::error::{Result, XtaskError};

const FEW_TASKS: usize = 100;
const MANY_TASKS: usize = 10_000;
const MAX_REDRAW_RATIO: f64 = 2.0;
/// Each key is followed by a redraw.
const REDRAW_COUNT: u32 = 200;
const IDLE_SECONDS: f64 = 10.0;
/// One per cent of a processor.
const MAX_IDLE_SHARE: f64 = 0.01;
const SCREEN_TIMEOUT: Duration = Duration::from_secs(60);

/// The resources that one board used.
struct BoardTimes {
    redraw_millis: f64,
    idle_millis: f64,
}

// spec: F6
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let many = workspace.size.scaled_count(MANY_TASKS);
    let few_times = measure_board(workspace, FEW_TASKS)?;
    let many_times = measure_board(workspace, many)?;
    let idle_limit = IDLE_SECONDS * 1_000.0 * MAX_IDLE_SHARE;
    let rows = vec![
        ComparisonRow {
            title: format!("redraw, {many} tasks against {FEW_TASKS}"),
            ours: MeasuredValue::Millis(many_times.redraw_millis),
            theirs: MeasuredValue::Millis(few_times.redraw_millis),
            ratio: many_times.redraw_millis / few_times.redraw_millis,
            limit: RatioLimit::AtMost(MAX_REDRAW_RATIO),
        },
        ComparisonRow {
            title: format!("idle for {IDLE_SECONDS} s, {many} tasks, against 1 % of a processor"),
            ours: MeasuredValue::Millis(many_times.idle_millis),
            theirs: MeasuredValue::Millis(idle_limit),
            ratio: many_times.idle_millis / idle_limit,
            limit: RatioLimit::AtMost(1.0),
        },
    ];
    Ok(BenchReport { rows, ..BenchReport::default() })
}

fn measure_board(workspace: &BenchWorkspace, tasks: usize) -> Result<BoardTimes> {
    let project = workspace.create_project("board")?;
    let file = workspace.path("board-tasks.yaml");
    write_dependent_tasks(&file, tasks)?;
    let import = file.display().to_string();
    time_ralph_command(workspace, &project, &["task", "import", &import])?;
    let screen = BoardScreen::start(workspace, &project)?;
    screen.wait_for(&format!("To do ({tasks})"))?;
    let process = screen.process()?;
    let drawing = process.join("task").join(process.file_name().unwrap_or_default());
    let before = cpu_millis(&drawing)?;
    for _ in 0..REDRAW_COUNT {
        screen.tmux(&["send-keys", "z"])?;
    }
    screen.tmux(&["send-keys", "?"])?;
    screen.wait_for("keys that are valid here")?;
    let redraw_millis = (cpu_millis(&drawing)? - before) / f64::from(REDRAW_COUNT);
    let before = all_threads_millis(&process)?;
    crate::command_line::CommandLine::parse("sleep").args([IDLE_SECONDS.to_string()]).run_quietly()?;
    let idle_millis = all_threads_millis(&process)? - before;
    drop(screen);
    remove_project(&project)?;
    Ok(BoardTimes { redraw_millis, idle_millis })
}

/// A board in a separate tmux server.
struct BoardScreen {
    socket: PathBuf,
}

impl BoardScreen {
    fn start(workspace: &BenchWorkspace, project: &Path) -> Result<Self> {
        let screen = Self { socket: workspace.path("tmux-socket") };
        let mut tmux = Command::new("tmux");
        tmux.args(["-f", "/dev/null", "-S"]).arg(&screen.socket).current_dir(project);
        for (name, value) in ralph_command(workspace, project).get_envs() {
            value.map(|value| tmux.env(name, value));
        }
        tmux.env("TERM", "xterm-256color");
        tmux.args(["new-session", "-d", "-x", "120", "-y", "40"]).arg(&workspace.ralph).arg("board");
        let started = tmux.status().map_err(|error| XtaskError::with_cause("cannot start tmux", error))?;
        if started.success() { Ok(screen) } else { Err(XtaskError::new("tmux cannot start the board")) }
    }

    fn tmux(&self, args: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        let output = tmux.arg("-S").arg(&self.socket).args(args).output();
        let output = output.map_err(|error| XtaskError::with_cause("cannot call tmux", error))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn wait_for(&self, text: &str) -> Result<()> {
        let deadline = Instant::now() + SCREEN_TIMEOUT;
        while Instant::now() < deadline {
            if self.tmux(&["capture-pane", "-p"])?.contains(text) {
                return Ok(());
            }
        }
        Err(XtaskError::new(format!("the board does not show {text:?}")))
    }

    /// Returns the folder of the process of the board below `/proc`.
    fn process(&self) -> Result<PathBuf> {
        let pid = self.tmux(&["display-message", "-p", "#{pane_pid}"])?;
        Ok(Path::new("/proc").join(pid.trim()))
    }
}

impl Drop for BoardScreen {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// Returns the CPU time of a thread.
fn cpu_millis(thread: &Path) -> Result<f64> {
    let file = thread.join("schedstat");
    let text = fs::read_to_string(&file).map_err(|error| XtaskError::with_cause(file.display(), error))?;
    let nanos: Option<f64> = text.split_whitespace().next().and_then(|number| number.parse().ok());
    nanos.map(|nanos| nanos / 1e6).ok_or_else(|| XtaskError::new(format!("{} cannot be read", file.display())))
}

/// Returns the CPU time of all threads that live.
fn all_threads_millis(process: &Path) -> Result<f64> {
    let folder = process.join("task");
    let threads = fs::read_dir(&folder).map_err(|error| XtaskError::with_cause(folder.display(), error))?;
    let times = threads.filter_map(std::result::Result::ok).map(|thread| cpu_millis(&thread.path()));
    Ok(times.filter_map(Result::ok).sum())
}
