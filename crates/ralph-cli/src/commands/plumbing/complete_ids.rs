//! `ralph complete-ids`: the ids and names that a completion script offers. Prints nothing where there are none, and never
//! fails.
use clap::{Arg, Args, Command};
use ralph_app::background_worker::{BackgroundWorker, list_workers};
use ralph_app::config::KnownTemplate;
use ralph_app::plan::select_templates;
use ralph_app::run::list_runs;
use ralph_app::tasks::{ListedTask, TaskListFilter, list_tasks};
use ralph_app::view::{run_title, short_id};
use ralph_engine::project::Project;
use ralph_store::RunRow;

use crate::commands::help::TOPICS;
use crate::commands::{block_on, complete_parser, out};
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
    Topics,
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

/// Returns which ids can follow these words, as the definition of the command line says.
fn kind_after(words: &[&str]) -> Option<IdKind> {
    let parser = complete_parser();
    let (mut command, mut path, mut value_count, mut only_values) = (&parser, Vec::new(), 0, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if !only_values && *word == "--" {
            only_values = true;
        } else if !only_values && word.starts_with('-') && word.len() > 1 {
            if let Some(option) = option_with_value(command, word)
                && words.next().is_none()
            {
                return kind_of_value(option, 0, &path);
            }
        } else if value_count == 0
            && let Some(found) = command.find_subcommand(word)
        {
            command = found;
            path.push(found.get_name());
        } else {
            value_count += 1;
        }
    }
    kind_of_next_value(command, value_count, &path)
}

/// Returns what the positional value at this place names. The last argument may take several values.
fn kind_of_next_value(command: &Command, place: usize, path: &[&str]) -> Option<IdKind> {
    let values: Vec<&Arg> = command.get_positionals().collect();
    let last = values.len().checked_sub(1)?;
    let arg = values.get(place.min(last))?;
    if place > last && !takes_several(arg) {
        return None;
    }
    kind_of_value(arg, place.saturating_sub(last), path)
}

/// Returns the option that takes the next word as its value: `--role`, `-n`, not `--role=coder` and not a switch.
fn option_with_value<'a>(command: &'a Command, word: &str) -> Option<&'a Arg> {
    let named = |arg: &&Arg| match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long) || arg.get_all_aliases().unwrap_or_default().contains(&long),
        None => word.chars().next_back() == arg.get_short(),
    };
    command.get_arguments().filter(|arg| !arg.is_positional()).find(named).filter(|arg| arg.get_action().takes_values())
}

fn takes_several(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|range| range.max_values() > 1)
        || matches!(arg.get_action(), clap::ArgAction::Append)
}

/// Returns what a value of an argument names. The help shows the same name: `[RUN|TASK]`, `<TASK>`. Each value may have its
/// own name: `[TASK|RUN] <TEXT>`.
fn kind_of_value(arg: &Arg, index: usize, path: &[&str]) -> Option<IdKind> {
    let names = arg.get_value_names().unwrap_or_default();
    let name = names.get(index).or(names.last()).map_or("", |name| name.as_str());
    let is_named = |word: &str| name.split('|').any(|part| part == word);
    match path {
        ["workflow", ..] => None,
        ["templates"] => Some(IdKind::Templates),
        ["help"] => Some(IdKind::Topics),
        ["task", "create" | "edit" | "followup", ..] if arg.get_id() == "depends" => Some(IdKind::Tasks),
        ["task", "show" | "edit" | "followup" | "delete" | "export" | "approve" | "run"] if is_named("ID") => {
            (arg.get_id() != "spec").then_some(IdKind::Tasks)
        }
        _ if arg.get_id() == "check_template" => Some(IdKind::Templates),
        _ if is_named("RUN") => Some(IdKind::RunsAndTasks),
        _ if is_named("TASK") || is_named("TASKS") => Some(IdKind::Tasks),
        _ => None,
    }
}

fn candidates(kind: IdKind) -> Result<Vec<Candidate>, CommandError> {
    match kind {
        IdKind::Topics => Ok(topic_candidates()),
        IdKind::Templates => {
            let known = select_templates(Some(&Project::find_here()?), None)?;
            let candidate = |known: KnownTemplate| Candidate {
                id: known.template.name.clone(),
                description: known.template.about.clone(),
            };
            Ok(known.into_iter().map(candidate).collect())
        }
        IdKind::Tasks => task_candidates(&Project::find_here()?),
        IdKind::RunsAndTasks => {
            let project = Project::find_here()?;
            let runs = block_on(async { Ok(list_runs(&project, MAX_OFFERED_RUNS).await?) })?;
            let run = |run: &RunRow| Candidate { id: short_id(&run.id).to_owned(), description: run_title(run) };
            let workers = list_workers(&project).into_iter().filter(|worker| worker.status().is_working());
            let worker = |worker: BackgroundWorker| Candidate { id: worker.id, description: "ralph work".to_owned() };
            let tasks = task_candidates(&project)?;
            Ok(tasks.into_iter().chain(workers.map(worker)).chain(runs.iter().map(run)).collect())
        }
    }
}

/// Returns the pages of the guide and the commands, which `ralph help` explains too.
fn topic_candidates() -> Vec<Candidate> {
    let topics = TOPICS.iter().map(|topic| (topic.name.to_owned(), topic.title().to_owned()));
    let mut offered: Vec<(String, String)> = topics.collect();
    for command in complete_parser().get_subcommands().filter(|command| !command.is_hide_set()) {
        if offered.iter().all(|(name, _)| name != command.get_name()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            offered.push((command.get_name().to_owned(), about));
        }
    }
    offered.into_iter().map(|(id, description)| Candidate { id, description }).collect()
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
    // finding: N56
    #[test]
    fn options_and_their_values_before_an_id_are_skipped() {
        for words in [
            &["logs", "--role", "coder"][..],
            &["logs", "-f", "--iteration", "2"],
            &["resume", "--max-iterations", "+5"],
            &["limit", "--max-cost=5"],
            &["guide", "--keep"],
            &["guide", "--list"],
            &["show", "--prompt"],
            &["events", "--follow"],
            &["verify", "--json"],
            &["show", "--"],
        ] {
            assert_eq!(kind_after(words), Some(IdKind::RunsAndTasks), "{words:?}");
        }
        for words in [&["task", "create", "--depends"][..], &["land", "--dry-run"], &["work", "--slots", "2", "T-1"]] {
            assert_eq!(kind_after(words), Some(IdKind::Tasks), "{words:?}");
        }
        assert_eq!(kind_after(&["help"]), Some(IdKind::Topics));
        assert_eq!(kind_after(&["templates"]), Some(IdKind::Templates));
    }

    // spec: U11
    // finding: N56
    #[test]
    fn every_command_that_takes_a_run_or_a_task_offers_ids() {
        let parser = complete_parser();
        let takes_id = |command: &&Command| {
            let names = command.get_positionals().filter_map(Arg::get_value_names).flatten();
            names.into_iter().any(|name| name.split('|').any(|part| matches!(part, "RUN" | "TASK" | "TASKS")))
        };
        let commands: Vec<&str> = parser.get_subcommands().filter(takes_id).map(Command::get_name).collect();
        for known in ["show", "logs", "diff", "verify", "events", "attach", "resume", "cancel", "undo", "land", "retry"]
        {
            assert!(commands.contains(&known), "{known}: {commands:?}");
        }
        for command in commands {
            assert!(kind_after(&[command]).is_some(), "{command}");
        }
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
