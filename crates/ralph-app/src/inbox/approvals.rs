//! Commands and workflows of the project that the user has not approved.
use ralph_engine::project::Project;

use super::{InboxAnswer, InboxItem, InboxKind};
use crate::config::ConfigSource;
use crate::trust::is_approved;
use crate::view::pluralize;
use crate::workflow_runs::has_unapproved_workflows;

/// Returns the approval that is missing. A configuration that cannot be read is reported by the commands that need it.
pub(super) fn unapproved_commands(project: &Project) -> Vec<InboxItem> {
    let settings = ConfigSource::default().load_settings(Some(project)).ok();
    let commands = settings.filter(|settings| is_approved(project, settings).is_ok_and(|approved| !approved));
    let count = commands.map(|settings| settings.project_commands.len());
    let has_workflows = has_unapproved_workflows(project).unwrap_or(false);
    let waits = match (count, has_workflows) {
        (None, false) => return Vec::new(),
        (Some(count), false) => pluralize(i64::try_from(count).unwrap_or(i64::MAX), "command"),
        (None, true) => "the workflows".to_owned(),
        (Some(count), true) => {
            format!("{} and the workflows", pluralize(i64::try_from(count).unwrap_or(i64::MAX), "command"))
        }
    };
    let item = InboxItem {
        kind: InboxKind::CommandApproval,
        id: "project".to_owned(),
        task: None,
        run: None,
        title: "the commands of this project".to_owned(),
        reason: format!("not approved: {waits} of this project"),
        since: None,
        holds_slot: false,
        blocked_tasks: 0,
        answer: InboxAnswer::ApproveCommands,
    };
    vec![item]
}
