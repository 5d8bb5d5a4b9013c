//! The commands and workflow files of a project that the user must approve, exactly as they are.
use ralph_engine::project::Project;
use ralph_util::sanitize::escape_hidden;

use super::shown_text::ShownText;
use crate::config::{ConfigSource, ProjectCommand, Settings};
use crate::error::AppResult;
use crate::trust::{approve_commands, is_approved, refuse_approval_by_agent};
use crate::workflow_runs::{WorkflowFiles, approve_workflow_files, has_unapproved_workflows};

/// Everything that one approval covers.
pub struct CommandReview {
    pub shown: ShownText,
    pub is_approved: bool,
    settings: Settings,
    files: WorkflowFiles,
}

impl CommandReview {
    pub fn load(project: &Project, config: &ConfigSource) -> AppResult<Self> {
        let settings = config.load_settings(Some(project))?;
        let files = WorkflowFiles::read(project)?;
        let is_approved = is_approved(project, &settings)? && !has_unapproved_workflows(project)?;
        let shown = ShownText::new(describe_commands(&settings, &files), &[&files.fingerprint()]);
        Ok(Self { shown, is_approved, settings, files })
    }

    /// Whether there is nothing that needs approval.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.settings.project_commands.is_empty() && self.files.is_empty()
    }

    /// Approves exactly this.
    pub fn approve(&self, project: &Project) -> AppResult<()> {
        refuse_approval_by_agent(project)?;
        approve_commands(project, &self.settings)?;
        approve_workflow_files(project, &self.files)
    }
}

/// Approves the commands of the project if the person has seen them as they are now.
pub fn approve_seen_commands(project: &Project, config: &ConfigSource, seen: &str) -> AppResult<()> {
    let review = CommandReview::load(project, config)?;
    review.shown.ensure_seen(seen, "the commands of this project")?;
    review.approve(project)
}

/// A workflow file is followed by its content.
fn describe_commands(settings: &Settings, files: &WorkflowFiles) -> String {
    let line = |command: &ProjectCommand| {
        escape_hidden(&format!("{}: {}  ({})\n", command.key, command.value, command.origin))
    };
    let mut text: String = settings.project_commands.iter().map(line).collect();
    for file in files.shown_files() {
        text.push_str(&line(&file.command));
        file.content.lines().for_each(|content| text.push_str(&escape_hidden(&format!("    {content}\n"))));
    }
    text
}
