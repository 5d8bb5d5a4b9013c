//! Workflows: what a recorded node costs beside the program that it starts, how files and graphs are loaded, and the memory
//! of many waiting runs.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::memory::measure_peak;
use super::report::{BenchReport, ComparisonRow, MeasuredValue, RatioLimit};
use super::round_times::{RoundTimes, run_rounds};
use super::workspace::{BenchWorkspace, time_command};
use crate::command_line::CommandLine;
use crate::error::{Result, XtaskError};

const CHAIN_NODES: usize = 500;
const READY_NODES: usize = 1_000;
const FOLDER_FILES: usize = 261;
const LARGE_GRAPH: usize = 10_000;
const WAITING_RUNS: usize = 1_000;
const MAX_WAITING_MEGABYTES: f64 = 50.0;

/// Exit codes of `ralph workflow run`.
const NODE_FAILED: i32 = 3;
const WAITS: i32 = 6;

/// Starts bash once per node and commits one row each, with nothing else.
const BARE_CHAIN: &str = r#"
import os, sqlite3, sys
if os.path.exists(sys.argv[2]): os.remove(sys.argv[2])
db = sqlite3.connect(sys.argv[2], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = NORMAL")
db.execute("CREATE TABLE nodes (id INTEGER PRIMARY KEY, state TEXT)")
environment = dict(os.environ)
for number in range(int(sys.argv[1])):
    pid = os.posix_spawnp("bash", ["bash", "-c", ":"], environment)
    assert os.waitpid(pid, 0)[1] == 0
    db.execute("INSERT INTO nodes (state) VALUES (?)", ('{"state":"completed"}',))
"#;

/// As many programs at once as ralph runs.
const BARE_READY: &str = "seq \"$1\" | xargs -n 1 -P 64 bash -c : ";

// spec: W3, W7
pub(super) fn run(workspace: &BenchWorkspace) -> Result<BenchReport> {
    let bench = WorkflowBench { workspace, project: create_project(workspace)? };
    let mut report = BenchReport::default();
    bench.add_chain(&mut report)?;
    bench.add_ready_nodes(&mut report)?;
    bench.add_validation(&mut report)?;
    bench.add_loading(&mut report)?;
    bench.add_resuming(&mut report)?;
    bench.add_waiting(&mut report)?;
    report.notes.push(workspace.location_note());
    Ok(report)
}

/// Creates a project with one commit.
fn create_project(workspace: &BenchWorkspace) -> Result<PathBuf> {
    let project = workspace.create_project("workflows")?;
    let git = CommandLine::parse("git -c user.name=A -c user.email=a@example.invalid -C");
    git.args([project.display().to_string()])
        .args(["commit", "--quiet", "--allow-empty", "-m", "first"])
        .run_quietly()?;
    Ok(project)
}

struct WorkflowBench<'a> {
    workspace: &'a BenchWorkspace,
    project: PathBuf,
}

impl WorkflowBench<'_> {
    fn add_chain(&self, report: &mut BenchReport) -> Result<()> {
        if !CommandLine::parse("python3 --version").can_run() {
            report.notes.push("python3 is not installed: the chain was not measured".to_owned());
            return Ok(());
        }
        let count = self.workspace.size.scaled_count(CHAIN_NODES);
        self.write_workflow("chain", &bash_nodes(count, true, ":"))?;
        let number = count.to_string();
        let database = self.workspace.path("bare.sqlite").display().to_string();
        let mut ours = || self.run_workflow("chain", 0);
        let mut bare = || {
            let mut command = Command::new("python3");
            command.args(["-c", BARE_CHAIN, &number, &database]).current_dir(self.workspace.path(""));
            time_command(command, 0)
        };
        let rounds = run_rounds(self.workspace.rounds, &mut [&mut ours, &mut bare])?;
        let title = "a chain of bash nodes / bare spawns with one commit each";
        report.rows.push(row(title, &rounds, RatioLimit::AtMost(1.15)));
        Ok(())
    }

    fn add_ready_nodes(&self, report: &mut BenchReport) -> Result<()> {
        let count = self.workspace.size.scaled_count(READY_NODES);
        self.write_workflow("ready", &bash_nodes(count, false, ":"))?;
        let number = count.to_string();
        let mut ours = || self.run_workflow("ready", 0);
        let mut bare = || time_command(self.workspace.shell_command(BARE_READY, &[Path::new(&number)]), 0);
        let rounds = run_rounds(self.workspace.rounds, &mut [&mut ours, &mut bare])?;
        let title = format!("{count} ready nodes / bare spawns at the same time");
        report.rows.push(row(&title, &rounds, RatioLimit::AtMost(1.25)));
        Ok(())
    }

    fn add_validation(&self, report: &mut BenchReport) -> Result<()> {
        let count = self.workspace.size.scaled_count(FOLDER_FILES);
        let folder = self.workspace.path("files/.ralph/workflows");
        create_folder(&folder)?;
        for number in 0..count {
            let name = format!("file-{number}");
            write_file(&folder.join(format!("{name}.yaml")), &realistic_workflow(&name, number))?;
        }
        let root = self.workspace.path("files");
        CommandLine::parse("git init --quiet").args([root.display().to_string()]).run_quietly()?;
        let mut ours = || {
            let mut command = self.ralph(&["workflow", "validate"]);
            command.current_dir(&root);
            time_command(command, 0)
        };
        let mut cat = || time_command(self.workspace.shell_command("cat \"$1\"/*", &[&folder]), 0);
        let rounds = run_rounds(self.workspace.rounds.max(5), &mut [&mut ours, &mut cat])?;
        report.rows.push(row(&format!("validation of {count} files / cat"), &rounds, RatioLimit::AtMost(10.0)));
        Ok(())
    }

    fn add_loading(&self, report: &mut BenchReport) -> Result<()> {
        let large = self.workspace.size.scaled_count(LARGE_GRAPH);
        let files: Vec<PathBuf> = [large, large / 10]
            .iter()
            .map(|count| {
                let path = self.workspace.path(&format!("graph-{count}.yaml"));
                write_file(&path, &workflow_text("graph", &bash_nodes(*count, true, ":"))).map(|()| path)
            })
            .collect::<Result<_>>()?;
        let load = |path: &Path| {
            let mut command = self.ralph(&["workflow", "validate"]);
            command.arg(path);
            time_command(command, 0)
        };
        let (mut more, mut less) = (|| load(&files[0]), || load(&files[1]));
        let rounds = run_rounds(self.workspace.rounds, &mut [&mut more, &mut less])?;
        let title = format!("loading a graph of {large} nodes / {}", large / 10);
        report.rows.push(row(&title, &rounds, RatioLimit::AtMost(12.0)));
        Ok(())
    }

    /// The last node fails, so that every resume runs it again.
    fn add_resuming(&self, report: &mut BenchReport) -> Result<()> {
        let large = self.workspace.size.scaled_count(LARGE_GRAPH);
        let runs: Vec<String> = [large, large / 10]
            .iter()
            .map(|count| {
                let name = format!("resume-{count}");
                let last = "  - id: last\n    depends_on: [n0]\n    bash: exit 1\n";
                self.write_workflow(&name, &format!("{}{last}", bash_nodes(*count, false, ":")))?;
                self.run_workflow(&name, NODE_FAILED)?;
                self.newest_run()
            })
            .collect::<Result<_>>()?;
        let resume = |run: &str| time_command(self.ralph(&["resume", run, "--json"]), NODE_FAILED);
        let (mut more, mut less) = (|| resume(&runs[0]), || resume(&runs[1]));
        let rounds = run_rounds(self.workspace.rounds, &mut [&mut more, &mut less])?;
        let title = format!("resuming past {large} finished nodes / {}", large / 10);
        report.rows.push(row(&title, &rounds, RatioLimit::AtMost(12.0)));
        Ok(())
    }

    /// Every item of a list has a separate run that asks a person.
    fn add_waiting(&self, report: &mut BenchReport) -> Result<()> {
        let count = self.workspace.size.scaled_count(WAITING_RUNS);
        self.write_workflow("asking", "  - id: ask\n    approval: {message: 'Continue?'}\n")?;
        let items = (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
        let nodes = format!(
            "  - id: list\n    bash: echo '[{items}]'\n  - id: ask\n    depends_on: [list]\n    workflow: asking\n    \
             fan_out: {{items: $list.output, max_parallel: {count}}}\n"
        );
        self.write_workflow("waiting", &nodes)?;
        let peak = measure_peak(self.ralph(&["workflow", "run", "waiting", "--no-worktree", "--json"]), WAITS)?;
        report.rows.push(ComparisonRow {
            title: format!("peak memory, {count} waiting runs in one process"),
            ours: MeasuredValue::Megabytes(peak),
            theirs: MeasuredValue::Megabytes(MAX_WAITING_MEGABYTES),
            ratio: peak / MAX_WAITING_MEGABYTES,
            limit: RatioLimit::AtMost(1.0),
        });
        Ok(())
    }

    fn run_workflow(&self, name: &str, expected: i32) -> Result<Duration> {
        time_command(self.ralph(&["workflow", "run", name, "--no-worktree", "--json"]), expected)
    }

    fn ralph(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.workspace.ralph);
        command.args(args).current_dir(&self.project);
        command.env("HOME", self.workspace.path("home")).env("XDG_CONFIG_HOME", self.workspace.path("config"));
        command.env("XDG_STATE_HOME", self.workspace.path("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Writes a workflow of the user, which needs no approval.
    fn write_workflow(&self, name: &str, nodes: &str) -> Result<()> {
        let folder = self.workspace.path("config/ralph/workflows");
        create_folder(&folder)?;
        write_file(&folder.join(format!("{name}.yaml")), &workflow_text(name, nodes))
    }

    fn newest_run(&self) -> Result<String> {
        let output = self.ralph(&["runs", "--json", "-n", "1"]).stdout(Stdio::piped()).output();
        let output = output.map_err(|error| XtaskError::with_cause("cannot list runs", error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let id = text.split_once("\"id\":\"").and_then(|(_, rest)| rest.split_once('"')).map(|(id, _)| id.to_owned());
        id.ok_or_else(|| XtaskError::new(format!("ralph runs printed no id: {text}")))
    }
}

fn row(title: &str, rounds: &RoundTimes, limit: RatioLimit) -> ComparisonRow {
    ComparisonRow {
        title: title.to_owned(),
        ours: MeasuredValue::Millis(rounds.median_seconds(0) * 1000.0),
        theirs: MeasuredValue::Millis(rounds.median_seconds(1) * 1000.0),
        ratio: rounds.median_ratio(0, 1),
        limit,
    }
}

fn workflow_text(name: &str, nodes: &str) -> String {
    format!("name: {name}\ndescription: a benchmark\nnodes:\n{nodes}")
}

fn bash_nodes(count: usize, is_chain: bool, script: &str) -> String {
    let node = |number: usize| {
        let dependency =
            if is_chain && number > 0 { format!("    depends_on: [n{}]\n", number - 1) } else { String::new() };
        format!("  - id: n{number}\n{dependency}    bash: '{script}'\n")
    };
    (0..count).map(node).collect()
}

/// A workflow of common size: agents, scripts and conditions, with long prompts.
fn realistic_workflow(name: &str, seed: usize) -> String {
    let mut text =
        format!("name: {name}\ndescription: |\n  Use when: number {seed}.\n  Triggers: \"{name}\"\nnodes:\n");
    for number in 0..8 {
        let before = if number > 0 { format!("    depends_on: [step{}]\n", number - 1) } else { String::new() };
        let body = match (number + seed) % 3 {
            0 => "    bash: |\n      set -e\n      git status --short\n      echo done\n".to_owned(),
            1 => format!(
                "    prompt: |\n{}",
                "      Read the files, think about the change, and describe it.\n".repeat(8)
            ),
            _ => "    prompt: Judge it.\n    allowed_tools: [Read, Grep]\n    output_format: {type: object, \
                  properties: {verdict: {type: string}}, required: [verdict]}\n"
                .to_owned(),
        };
        text.push_str(&format!("  - id: step{number}\n{before}{body}"));
    }
    text
}

fn create_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| XtaskError::with_cause(folder.display(), error))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| XtaskError::with_cause(path.display(), error))
}
