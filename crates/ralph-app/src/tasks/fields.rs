//! Fields of a task that a request gives, and how they replace those of a task.
use ralph_core::check_isolation::CheckIsolation;
use ralph_core::criterion::CheckCommand;
use ralph_core::task::find_dependency_error;
use ralph_core::task::{CompletionSpec, DependencyError, MethodName, Role, RoleSpec, Task, VerificationConfig};
use ralph_store::TaskListItem;

use crate::advice::Advice;
use crate::error::{AppError, AppResult};

/// Fields that replace those of a task. A field without a value stays as it is.
#[derive(Debug, Clone, Default)]
pub struct TaskFields {
    pub description: Option<String>,
    pub priority: Option<u32>,
    pub dependencies: Option<Vec<String>>,
    pub assignee: Option<String>,
    pub outcome: Option<String>,
    /// No criteria: those of the task stay.
    pub acceptance: Vec<String>,
    pub guard: Option<Vec<String>>,
    pub allow_changes: Option<Vec<String>>,
    pub isolation: Option<CheckIsolation>,
    pub roles: Vec<RoleFields>,
}

/// Fields of one role of a task.
#[derive(Debug, Clone)]
pub struct RoleFields {
    pub role: Role,
    pub promise: Option<String>,
    pub description: Option<String>,
    pub method: Option<MethodName>,
    /// The shell command that must succeed.
    pub command: Option<String>,
    pub config: Option<VerificationConfig>,
    pub max_iterations: Option<u32>,
}

impl TaskFields {
    /// Replaces the fields of a task.
    pub fn apply_to(&self, task: &mut Task) {
        replace_text(self.description.as_ref(), &mut task.description);
        replace_text(self.assignee.as_ref(), &mut task.assignee);
        task.priority = self.priority.or(task.priority);
        if let Some(dependencies) = &self.dependencies {
            task.dependencies = Some(dependencies.iter().filter(|id| !id.is_empty()).cloned().collect());
        }
        if self.has_completion_fields() {
            self.apply_to_completion(task.completion.get_or_insert_default());
        }
    }

    fn apply_to_completion(&self, spec: &mut CompletionSpec) {
        if let Some(outcome) = &self.outcome {
            spec.outcome.clone_from(outcome);
        }
        if !self.acceptance.is_empty() {
            spec.acceptance_criteria.clone_from(&self.acceptance);
        }
        replace_patterns(self.guard.as_deref(), &mut spec.guard);
        replace_patterns(self.allow_changes.as_deref(), &mut spec.allow_changes);
        spec.isolation = self.isolation.or(spec.isolation);
        for fields in &self.roles {
            if let Some(role_spec) = spec.role_spec_mut(&fields.role) {
                fields.apply_to(role_spec.get_or_insert_default());
            }
        }
    }

    fn has_completion_fields(&self) -> bool {
        let has_rules = self.guard.is_some() || self.allow_changes.is_some() || self.isolation.is_some();
        self.outcome.is_some() || !self.acceptance.is_empty() || has_rules || !self.roles.is_empty()
    }

    /// Refuses given dependencies that do not exist or that form a cycle.
    pub(super) fn ensure_valid_dependencies(&self, task: &Task, stored: &[TaskListItem]) -> AppResult<()> {
        if self.dependencies.is_none() {
            return Ok(());
        }
        let others = stored.iter().filter(|other| other.id != task.id);
        let others = others.map(|other| (other.id.as_str(), other.dependencies.as_slice()));
        match find_dependency_error(others.chain([(task.id.as_str(), task.dependencies())])) {
            None => Ok(()),
            Some(error @ DependencyError::UnknownTask { .. }) => {
                Err(AppError::invalid_request(&error).with_advice(Advice::ListTasks))
            }
            Some(error @ DependencyError::Cycle { .. }) => {
                Err(AppError::invalid_request(&error).with_advice("leave one of these dependencies out"))
            }
        }
    }
}

impl RoleFields {
    fn apply_to(&self, spec: &mut RoleSpec) {
        if let Some(method) = self.method {
            // The configuration of another method does not fit this one.
            if spec.method_for(&self.role) != method {
                spec.verification_config = None;
            }
            spec.verification_method = Some(method);
        }
        if let Some(config) = &self.config {
            spec.verification_config = Some(config.clone());
        }
        if let Some(command) = &self.command {
            spec.verification_method.get_or_insert(MethodName::External);
            let config = spec.verification_config.get_or_insert_default();
            config.command = Some(CheckCommand::Shell(command.clone()));
        }
        replace_text(self.promise.as_ref(), &mut spec.promise);
        replace_text(self.description.as_ref(), &mut spec.description);
        spec.max_iterations = self.max_iterations.or(spec.max_iterations);
    }
}

fn replace_text(new: Option<&String>, old: &mut Option<String>) {
    if let Some(new) = new {
        *old = Some(new.clone());
    }
}

/// Replaces patterns. A single empty pattern removes them all.
fn replace_patterns(new: Option<&[String]>, old: &mut Option<Vec<String>>) {
    if let Some(patterns) = new {
        let patterns: Vec<String> = patterns.iter().filter(|pattern| !pattern.is_empty()).cloned().collect();
        *old = (!patterns.is_empty()).then_some(patterns);
    }
}
