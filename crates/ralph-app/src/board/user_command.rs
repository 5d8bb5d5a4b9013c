//! Commands of the user on keys of the board. Values are passed as arguments: no shell sees them.
use std::collections::BTreeMap;

use ralph_engine::project::Project;
use ralph_util::shell_words::split_words;

use super::find_log_file;
use crate::advice::Advice;
use crate::config::ConfigSource;
use crate::error::{AppError, AppResult};
use crate::maintenance::worktree_root;
use crate::run::{FoundRun, find_run};
use crate::trust::is_approved;

/// The task, run or workflow run that a command of the user is run for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserCommandSubject {
    /// The id of the task, or the full id of the run.
    pub id: String,
    pub task: Option<String>,
    pub run: Option<String>,
}

/// Returns the configured commands, by key.
pub fn load_user_commands(project: &Project, config: &ConfigSource) -> AppResult<BTreeMap<String, String>> {
    let settings = config.load_settings(Some(project))?;
    Ok(settings.board_keys.iter().map(|(key, command)| (key.clone(), command.value.clone())).collect())
}

/// Returns the program and the arguments of the command on a key. Commands of the project's file need approval.
pub async fn prepare_user_command(
    project: &Project,
    config: &ConfigSource,
    key: &str,
    subject: &UserCommandSubject,
) -> AppResult<Vec<String>> {
    let settings = config.load_settings(Some(project))?;
    let missing = || AppError::invalid_request(format!("no command is configured on the key {key}"));
    let command = settings.board_keys.get(key).ok_or_else(missing)?;
    if command.origin.is_from_project() && !is_approved(project, &settings)? {
        return Err(AppError::preflight(format!(
            "the command on the key {key} comes with the project and is not approved"
        ))
        .with_cause(&command.value)
        .with_advice(Advice::ApproveCommands));
    }
    let words = split_words(&command.value).map_err(|error| {
        AppError::preflight(format!("the command on the key {key} cannot be split into words")).with_cause(error)
    })?;
    let mut arguments = Vec::new();
    for word in words {
        arguments.push(fill_word(project, &word, subject).await?);
    }
    if arguments.is_empty() {
        return Err(AppError::preflight(format!("the command on the key {key} is empty")));
    }
    Ok(arguments)
}

/// Replaces the placeholders of one argument. Replaced text is not searched again, so it stays one argument.
async fn fill_word(project: &Project, word: &str, subject: &UserCommandSubject) -> AppResult<String> {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(start) = rest.find('{') {
        let (before, from) = rest.split_at(start);
        filled.push_str(before);
        let Some(end) = from.find('}') else {
            rest = from;
            break;
        };
        let (name, after) = (from.get(1..end).unwrap_or_default(), from.get(end + 1..).unwrap_or_default());
        match placeholder(project, name, subject).await? {
            Some(value) => filled.push_str(&value),
            // Other braces belong to the command.
            None => filled.push_str(from.get(..=end).unwrap_or_default()),
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

async fn placeholder(project: &Project, name: &str, subject: &UserCommandSubject) -> AppResult<Option<String>> {
    let missing = |what: &str| AppError::preflight(format!("{} has no {what}", subject.id));
    Ok(Some(match name {
        "id" => subject.id.clone(),
        "task" => subject.task.clone().ok_or_else(|| missing("task"))?,
        "run" => subject.run.clone().ok_or_else(|| missing("run"))?,
        "log" => find_log_file(project, &subject.id).await?.display().to_string(),
        "worktree" => {
            let FoundRun { store, run } = find_run(project, Some(&subject.id)).await?;
            store.close().await;
            worktree_root(project, &run)?.display().to_string()
        }
        _ => return Ok(None),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(word: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::outside_repositories(folder.path().to_path_buf()).unwrap();
        let subject = UserCommandSubject { id: "a b; rm -rf".to_owned(), task: Some("{run}".to_owned()), run: None };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(fill_word(&project, word, &subject)).unwrap()
    }

    // spec: U4
    #[test]
    fn a_value_stays_one_argument_and_is_never_expanded_again() {
        assert_eq!(fill("--for={id}"), "--for=a b; rm -rf");
        assert_eq!(fill("{task}/{id}"), "{run}/a b; rm -rf");
        assert_eq!(fill("{other} {"), "{other} {");
    }
}
