//! The log of a workflow run: printed, or followed until the run ends or waits for a person.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;

use ralph_app::run::is_orphaned;
use ralph_app::view::short_id;
use ralph_app::workflow_runs::{FoundWorkflowRun, WorkflowLog, find_workflow_run};
use ralph_core::outcome::exit_code;
use ralph_engine::project::Project;
use ralph_store::{Store, WorkflowRunRow};
use ralph_util::sanitize::sanitize_text;
use serde_json::Value;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// How often the log is read for new lines.
const READ_INTERVAL: Duration = Duration::from_millis(200);

/// Prints the log of a workflow run, and follows it until the run ends.
pub fn print_log(project: &Project, part: Option<&str>, is_followed: bool) -> Result<u8, CommandError> {
    block_on(async {
        let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
        let mut log = LogReader::open(project, &run)?;
        if !is_followed {
            log.print_new_lines(print_log_line);
            store.close().await;
            return Ok(exit_code::COMPLETED);
        }
        tokio::select! {
            followed = log.follow(project, &store, print_log_line) => followed.map(|_| exit_code::COMPLETED),
            _ = tokio::signal::ctrl_c() => Ok(exit_code::SIGINT),
        }
    })
}

/// Follows a workflow run to its end, and returns its exit code.
pub async fn attach(project: &Project, part: Option<&str>, is_json: bool) -> Result<u8, CommandError> {
    let FoundWorkflowRun { store, run } = find_workflow_run(project, part).await?;
    let mut log = LogReader::open(project, &run)?;
    let short = short_id(&run.id).to_owned();
    let print: fn(&str) = if is_json { out::print_line } else { print_log_line };
    let ended = tokio::select! {
        followed = log.follow(project, &store, print) => followed?,
        _ = tokio::signal::ctrl_c() => {
            out::print_note(&format!("\nthe workflow run {short} continues; `ralph attach {short}` follows it again"));
            return Ok(exit_code::SIGINT);
        }
    };
    if ended.status == "waiting" {
        out::print_note(&format!(
            "the workflow run {short} waits for a person: `ralph show {short}` shows the question"
        ));
        return Ok(exit_code::BLOCKED);
    }
    if ended.ended_at.is_none() {
        out::print_note(&format!("the workflow run {short} was interrupted: `ralph resume {short}` continues it"));
    }
    Ok(ended.exit_code.and_then(|code| u8::try_from(code).ok()).unwrap_or(exit_code::NOT_COMPLETE))
}

/// Reads the log of a run from its beginning.
struct LogReader {
    run: String,
    lines: BufReader<File>,
    /// The beginning of a line that is not complete.
    partial: String,
}

impl LogReader {
    fn open(project: &Project, run: &WorkflowRunRow) -> Result<Self, CommandError> {
        let path = WorkflowLog::path_of(project, &run.id);
        let file = File::open(&path).map_err(|error| {
            CommandError::preflight_error(format!("the log of workflow run {} cannot be read", short_id(&run.id)))
                .with_cause(format!("{}: {error}", path.display()))
        })?;
        Ok(Self { run: run.id.clone(), lines: BufReader::new(file), partial: String::new() })
    }

    fn print_new_lines(&mut self, print: fn(&str)) {
        while let Ok(count) = self.lines.read_line(&mut self.partial) {
            if count == 0 || !self.partial.ends_with('\n') {
                return;
            }
            print(self.partial.trim_end());
            self.partial.clear();
        }
    }

    /// Prints lines until no process drives the run.
    async fn follow(
        &mut self,
        project: &Project,
        store: &Store,
        print: fn(&str),
    ) -> Result<WorkflowRunRow, CommandError> {
        loop {
            // Read before the lines, so that the lines before the end are printed.
            let is_over = is_orphaned(project, &self.run);
            let row = store.workflow_run(&self.run).await.map_err(ralph_app::error::AppError::from)?;
            self.print_new_lines(print);
            match row {
                Some(row) if is_over => return Ok(row),
                Some(_) => tokio::time::sleep(READ_INTERVAL).await,
                None => return Err(CommandError::preflight_error("the workflow run is no longer stored")),
            }
        }
    }
}

fn print_log_line(line: &str) {
    if let Some(text) = serde_json::from_str(line).ok().and_then(|line| log_line(&line)) {
        out::print_message(&sanitize_text(&text));
    }
}

fn log_line(line: &Value) -> Option<String> {
    let field = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default();
    let node = field("node");
    Some(match field("event") {
        "assistant" => format!("{node}  {}", field("text").trim_end()),
        "tool" => format!("{node}  > {} {}", field("name"), field("detail")),
        "error" => format!("{node}  error: {}", field("text")),
        "message" => field("text").to_owned(),
        "child.started" => format!("{node}  workflow {}, run {}", field("workflow"), short_id(field("child"))),
        "node.started" => format!("{node}  started"),
        "node.completed" => format!("{node}  completed"),
        "node.failed" => format!("{node}  failed: {}", field("reason")),
        "node.skipped" => format!("{node}  skipped: {}", field("reason")),
        "question.asked" => format!("{node}  asks: {}", field("text")),
        "question.answered" => format!("{node}  {}, by {}", field("decision"), field("person")),
        "workflow.finished" => format!("{}: {}", field("status"), field("reason")),
        _ => return None,
    })
}
