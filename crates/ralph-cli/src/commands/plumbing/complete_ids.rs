//! `ralph complete-ids`: the ids that a completion script offers. Prints nothing where there are none, and never fails.
use clap::Args;
use ralph_app::background_worker::{BackgroundWorker, list_workers};
use ralph_app::config::KnownTemplate;
use ralph_app::plan::select_templates;
use ralph_app::run::list_runs;
use ralph_app::tasks::{ListedTask, TaskListFilter, list_tasks};
use ralph_app::view::{run_title, short_id};
use ralph_engine::project::Project;
use ralph_store::RunRow;

use crate::commands::{block_on, out};
use crate::error::CommandError;

/// How many of the newest runs are offered.
const MAX_OFFERED_RUNS: u32 = 50;

/// Prints the ids that can follow the words of a command line, one per line, with a description after a tab
#[derive(Debug, Args)]
pub struct CompleteIdsArgs {
    /// The words after `ralph` and before the one that is completed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// The words that can follow on a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IdKind {
    RunsAndTasks,
    Tasks,
    Templates,
}

struct Candidate {
    id: String,
    description: String,
}

pub fn run(args: &CompleteIdsArgs) -> Result<u8, CommandError> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    // A shell shows errors in the middle of the line that is being typed.
    let offered = kind_after(&words).and_then(|kind| candidates(kind).ok()).unwrap_or_default();
    for Candidate { id, description } in offered {
        let description = description.lines().next().unwrap_or_default();
        out::print_line(&format!("{id}\t{description}"));
    }
    Ok(0)
}

/// Returns which ids can follow these words.
fn kind_after(words: &[&str]) -> Option<IdKind> {
    match words.split_last()? {
        (&"--check-template", _) => return Some(IdKind::Templates),
        (last, [_, ..]) if takes_value(last) => return None,
        (_, _) => {}
    }
    let mut names = words.iter().copied().filter(|word| !word.starts_with('-'));
    let command = names.next()?;
    let is_first = names.clone().next().is_none();
    match command {
        "show" | "why" | "logs" | "log" | "diff" | "verify" | "events" | "attach" | "resume" | "cancel" | "stop"
        | "kill" | "pause" | "guide" | "limit" | "accept" | "reject" | "undo" | "export"
            if is_first =>
        {
            Some(IdKind::RunsAndTasks)
        }
        "retry" | "rewind" if is_first => Some(IdKind::Tasks),
        "land" | "merge" | "work" => Some(IdKind::Tasks),
        "templates" if is_first => Some(IdKind::Templates),
        "task" => match (names.next()?, names.next()) {
            ("show" | "edit" | "delete" | "run" | "followup", None) => Some(IdKind::Tasks),
            ("approve" | "export", _) => Some(IdKind::Tasks),
            (_, _) => None,
        },
        _ => None,
    }
}

/// Returns whether a word is an option that is followed by its value.
fn takes_value(word: &str) -> bool {
    const SWITCHES: [&str; 14] = [
        "--json",
        "--follow",
        "-f",
        "--stat",
        "--now",
        "--kill",
        "--no-wait",
        "--prompt",
        "--quiet",
        "-q",
        "--dry-run",
        "--approve",
        "--yes",
        "--detach",
    ];
    word.starts_with('-') && !word.contains('=') && !SWITCHES.contains(&word)
}

fn candidates(kind: IdKind) -> Result<Vec<Candidate>, CommandError> {
    let project = Project::find_here()?;
    match kind {
        IdKind::Templates => {
            let known = select_templates(Some(&project), None)?;
            let candidate = |known: KnownTemplate| Candidate {
                id: known.template.name.clone(),
                description: known.template.about.clone(),
            };
            Ok(known.into_iter().map(candidate).collect())
        }
        IdKind::Tasks => task_candidates(&project),
        IdKind::RunsAndTasks => {
            let runs = block_on(async { Ok(list_runs(&project, MAX_OFFERED_RUNS).await?) })?;
            let run = |run: &RunRow| Candidate { id: short_id(&run.id).to_owned(), description: run_title(run) };
            let workers = list_workers(&project).into_iter().filter(|worker| worker.status().is_working());
            let worker = |worker: BackgroundWorker| Candidate { id: worker.id, description: "ralph work".to_owned() };
            let tasks = task_candidates(&project)?;
            Ok(tasks.into_iter().chain(workers.map(worker)).chain(runs.iter().map(run)).collect())
        }
    }
}

fn task_candidates(project: &Project) -> Result<Vec<Candidate>, CommandError> {
    let listed = block_on(async { Ok(list_tasks(project, &TaskListFilter::default()).await?) })?;
    let candidate = |task: ListedTask| Candidate { id: task.item.id, description: task.item.title };
    Ok(listed.tasks.into_iter().map(candidate).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: U11
    // finding: N56
    #[test]
    fn ids_are_offered_where_a_run_or_task_can_follow() {
        assert_eq!(kind_after(&["show"]), Some(IdKind::RunsAndTasks));
        assert_eq!(kind_after(&["why"]), Some(IdKind::RunsAndTasks));
        assert_eq!(kind_after(&["stop", "--kill"]), Some(IdKind::RunsAndTasks));
        assert_eq!(kind_after(&["land", "T-1"]), Some(IdKind::Tasks));
        assert_eq!(kind_after(&["task", "show"]), Some(IdKind::Tasks));
        assert_eq!(kind_after(&["run", "x", "--check-template"]), Some(IdKind::Templates));
    }

    // spec: U11
    #[test]
    fn no_ids_are_offered_elsewhere() {
        for words in
            [&["guide", "T-1"][..], &["logs", "--iteration"], &["run"], &["task"], &["task", "show", "T-1"], &[]]
        {
            assert_eq!(kind_after(words), None, "{words:?}");
        }
    }
}
