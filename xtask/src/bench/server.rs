//! The server with little and with much data, and a run with and without a dashboard that watches it.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::many::ralph_command;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::run_rounds;
use super::tasks::write_dependent_tasks;
use super::workspace::{BenchWorkspace, remove_project, time_command};
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

/// A project with little or much data.
#[derive(Debug, Clone, Copy)]
struct DataSize {
    tasks: usize,
    runs: usize,
    events_per_run: usize,
}

/// More runs than a page, so that both projects return equally long lists.
const SMALL: DataSize = DataSize { tasks: 100, runs: 100, events_per_run: 100 };
const LARGE: DataSize = DataSize { tasks: 10_000, runs: 1_000, events_per_run: 1_000 };
const LISTS: [&str; 4] = ["/api/runs?limit=50", "/api/tasks?limit=50", "/api/inbox", "/api/status"];
const CALLS_PER_LIST: usize = 500;
const STREAM_READERS: usize = 100;
const MAX_LIST_RATIO: f64 = 3.0;
const MAX_WATCHED_RUN_RATIO: f64 = 1.02;
const RUN_ITERATIONS: &str = "40";

/// Copies the first run of a database until there are enough runs and events. Old rows without checksums are accepted.
const FILL_DATABASE: &str = r"
import sqlite3, sys
path, runs, events = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
db = sqlite3.connect(path)
columns = [row[1] for row in db.execute('PRAGMA table_info(runs)')]
first = dict(zip(columns, db.execute('SELECT * FROM runs LIMIT 1').fetchone()))
body = db.execute('SELECT kind, body FROM events WHERE run = ? ORDER BY seq LIMIT 1', (first['id'],)).fetchone()
for number in range(runs):
    run = '%08x-0000-7000-8000-%012x' % (number, number)
    row = dict(first, id=run, started_at=first['started_at'] - number, facts=events, sum=None, settings_sum=None, loop_sum=None)
    db.execute('INSERT INTO runs (%s) VALUES (%s)' % (', '.join(columns), ', '.join('?' * len(columns))), [row[c] for c in columns])
    rows = ((run, seq, first['started_at'], body[0], body[1]) for seq in range(1, events + 1))
    db.executemany('INSERT INTO events (run, seq, at, kind, body) VALUES (?, ?, ?, ?, ?)', rows)
db.commit()
";

// spec: U5
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let mut rows = compare_lists(workspace)?;
    rows.push(compare_watched_run(workspace)?);
    Ok(BenchReport { rows, ..BenchReport::default() })
}

fn compare_lists(workspace: &BenchWorkspace) -> Result<Vec<ComparisonRow>> {
    let large = DataSize {
        tasks: workspace.size.scaled_count(LARGE.tasks),
        runs: workspace.size.scaled_count(LARGE.runs),
        ..LARGE
    };
    let small = measure_lists(workspace, "server-small", SMALL)?;
    let large = measure_lists(workspace, "server-large", large)?;
    let row = |((path, small), large): ((&&str, &f64), &f64)| ComparisonRow {
        title: format!("p99 of {path}: much against little data"),
        ours: MeasuredValue::Millis(*large),
        theirs: MeasuredValue::Millis(*small),
        ratio: large / small,
        limit: RatioLimit::AtMost(MAX_LIST_RATIO),
    };
    Ok(LISTS.iter().zip(&small).zip(&large).map(row).collect())
}

/// Returns the 99th percentile of the time of each list, in milliseconds, while readers are attached to streams.
fn measure_lists(workspace: &BenchWorkspace, name: &str, size: DataSize) -> Result<Vec<f64>> {
    let project = create_filled_project(workspace, name, size)?;
    let server = ServerProcess::start(workspace, &project)?;
    let readers = (0..STREAM_READERS).map(|_| server.open("/api/changes/stream")).collect::<Result<Vec<_>>>()?;
    let mut percentiles = Vec::new();
    for path in LISTS {
        let mut times = Vec::new();
        for _ in 0..CALLS_PER_LIST {
            let started = Instant::now();
            server.read(path)?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        times.sort_by(f64::total_cmp);
        percentiles.push(times[times.len() * 99 / 100]);
    }
    drop(readers);
    server.stop();
    remove_project(&project)?;
    Ok(percentiles)
}

fn create_filled_project(workspace: &BenchWorkspace, name: &str, size: DataSize) -> Result<std::path::PathBuf> {
    let project = workspace.create_project(name)?;
    let file = workspace.path("server-tasks.yaml");
    write_dependent_tasks(&file, size.tasks)?;
    run_ralph(workspace, &project, &["task", "import", &file.display().to_string()])?;
    run_ralph(workspace, &project, &["run", "x", "--agent", "demo", "--json"])?;
    let database = find_database(&workspace.path("trees").join("ralph/projects"), name)?;
    let [runs, events] = [size.runs, size.events_per_run].map(|count| count.to_string());
    CommandLine::parse("python3 -c").args([FILL_DATABASE.to_owned(), database, runs, events]).run_quietly()?;
    Ok(project)
}

/// Returns the database of the project whose folder has this name.
fn find_database(projects: &Path, name: &str) -> Result<String> {
    let entries = std::fs::read_dir(projects).map_err(|error| XtaskError::with_cause(projects.display(), error))?;
    let of_project = entries
        .flatten()
        .map(|entry| entry.path())
        .find(|folder| std::fs::read_to_string(folder.join("project")).is_ok_and(|text| text.contains(name)));
    let folder = of_project.ok_or_else(|| XtaskError::new(format!("the state of {name} was not found")))?;
    Ok(folder.join("ralph.db").display().to_string())
}

fn compare_watched_run(workspace: &BenchWorkspace) -> Result<ComparisonRow> {
    let project = workspace.create_project("server-watched")?;
    run_ralph(workspace, &project, &["run", "x", "--agent", "demo", "--json"])?;
    let server = ServerProcess::start(workspace, &project)?;
    let run_once = || {
        let mut command = ralph_command(workspace, &project);
        command.args(["run", "x", "--agent", "text", "--agent-cmd"]).arg(&workspace.agent).args(["--agent-arg=work"]);
        command.args([
            "--max-iterations",
            RUN_ITERATIONS,
            "--stall",
            "0",
            "--promise",
            super::workspace::UNSAID_PROMISE,
        ]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        time_command(command, super::workspace::EXHAUSTED_EXIT_CODE)
    };
    let mut alone = run_once;
    let mut watched = || {
        let readers = (0..STREAM_READERS).map(|_| server.open("/api/changes/stream")).collect::<Result<Vec<_>>>()?;
        let time = run_once();
        drop(readers);
        time
    };
    let times = run_rounds(workspace.rounds, &mut [&mut alone, &mut watched])?;
    let (alone, watched) = (times.median_seconds(0), times.median_seconds(1));
    server.stop();
    remove_project(&project)?;
    Ok(ComparisonRow {
        title: format!("a run with {STREAM_READERS} readers against one without"),
        ours: MeasuredValue::Seconds(watched),
        theirs: MeasuredValue::Seconds(alone),
        ratio: watched / alone,
        limit: RatioLimit::AtMost(MAX_WATCHED_RUN_RATIO),
    })
}

fn run_ralph(workspace: &BenchWorkspace, project: &Path, args: &[&str]) -> Result<Duration> {
    let mut command = ralph_command(workspace, project);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    time_command(command, 0)
}

/// A server of a project.
pub(crate) struct ServerProcess {
    child: Child,
    address: String,
}

impl ServerProcess {
    fn start(workspace: &BenchWorkspace, project: &Path) -> Result<Self> {
        Self::start_command(ralph_command(workspace, project))
    }

    /// Starts a server with a prepared command, and waits until it listens.
    pub(crate) fn start_command(mut command: Command) -> Result<Self> {
        command.args(["serve", "--port", "0"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let failed = |error| XtaskError::with_cause("cannot start the server", error);
        let mut child = command.spawn().map_err(failed)?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let mut reader = BufReader::new(stdout);
            reader.read_line(&mut line).map_err(failed)?;
            // The rest is read, so that the server can write it.
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()));
        }
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        if address.is_empty() {
            return Err(XtaskError::new("the server did not print its address"));
        }
        Ok(Self { child, address })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request without waiting for the answer.
    pub(crate) fn open(&self, path: &str) -> Result<TcpStream> {
        let failed = |error| XtaskError::with_cause(format!("cannot read {path}"), error);
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).map_err(failed)?;
        Ok(stream)
    }

    /// Reads a whole answer. Fails unless it is a success.
    pub(crate) fn read(&self, path: &str) -> Result<String> {
        let mut answer = String::new();
        self.open(path)?
            .read_to_string(&mut answer)
            .map_err(|error| XtaskError::with_cause(format!("cannot read {path}"), error))?;
        if answer.starts_with("HTTP/1.1 200 ") {
            return Ok(answer);
        }
        Err(XtaskError::new(format!("{path} was answered with {:.100}", answer)))
    }

    pub(crate) fn stop(mut self) {
        // SIGTERM; a server that has ended already needs no signal.
        drop(CommandLine::parse(&format!("kill {}", self.child.id())).run_quietly());
        drop(self.child.wait());
    }
}
