//! Validates a task when it is written, so that a task that could never be verified is refused before it runs.
use alloc::format;
use alloc::string::String;

use crate::claim::Promise;
use crate::criterion::{CheckCommand, CheckFieldProblem, CheckFields, find_check_problem};
use crate::task::{
    ACCEPTANCE_PLACEHOLDER, CheckForSpec, CompletionSpec, MethodName, Role, RoleSpec, StageSpec, Task, TaskProblem,
    VerificationConfig, is_valid_id,
};

/// A larger number is probably a typing error.
const MAX_NUMBER: u32 = 1_000_000;

const ID_HINT: &str = "use letters, digits, `-`, `_` and `.`, and start with a letter or a digit, such as TASK-001";

/// Validates a task and returns the first problem.
pub fn validate_task(task: &Task) -> Result<(), TaskProblem> {
    require_id("id", &task.id)?;
    task.spec_id.as_ref().map_or(Ok(()), |spec| require_id("spec_id", spec))?;
    task.spec_file.as_ref().map_or(Ok(()), |path| require_path_in_project("spec_file", path))?;
    require_text("title", &task.title, "describe the work in one line")?;
    if task.title.trim().contains('\n') {
        return Err(TaskProblem::new("title", "it has more than one line", "move the rest to description"));
    }
    if task.priority.is_some_and(|priority| !(1..=MAX_NUMBER).contains(&priority)) {
        let message = format!("it must be a whole number from 1 to {MAX_NUMBER}");
        return Err(TaskProblem::new("priority", message, "1 is the highest priority"));
    }
    for (index, on) in task.dependencies().iter().enumerate() {
        require_id(&format!("dependencies.{index}"), on)?;
    }
    task.completion.as_ref().map_or(Ok(()), validate_completion)
}

fn require_path_in_project(field: &str, path: &str) -> Result<(), TaskProblem> {
    let leaves_project = path.starts_with('/') || path.split('/').any(|part| part == "..");
    if path.trim().is_empty() || leaves_project {
        let hint = "write a path inside the project, such as specs/auth.md";
        return Err(TaskProblem::new(field, format!("{path:?} is not a path inside the project"), hint));
    }
    Ok(())
}

fn require_id(field: &str, name: &str) -> Result<(), TaskProblem> {
    match is_valid_id(name) {
        true => Ok(()),
        false => Err(TaskProblem::new(field, format!("{name:?} is not a valid id"), ID_HINT)),
    }
}

fn require_text(field: &str, text: &str, hint: &str) -> Result<(), TaskProblem> {
    if text.trim().is_empty() { Err(TaskProblem::new(field, "it is empty", hint)) } else { Ok(()) }
}

fn validate_completion(spec: &CompletionSpec) -> Result<(), TaskProblem> {
    require_text("completion.outcome", &spec.outcome, "describe what is true when the task is done")?;
    let field = "completion.acceptance_criteria";
    if spec.acceptance_criteria.is_empty() {
        return Err(TaskProblem::new(field, "it is empty: at least one is required", "list what must be true"));
    }
    for (index, criterion) in spec.acceptance_criteria.iter().enumerate() {
        require_text(&format!("{field}.{index}"), criterion, "describe what must be true, or remove it")?;
    }
    for (name, patterns) in [("guard", &spec.guard), ("allow_changes", &spec.allow_changes)] {
        for (index, pattern) in patterns.iter().flatten().enumerate() {
            let field = format!("completion.{name}.{index}");
            require_text(&field, pattern, "write a pattern as in a .gitignore, such as tests/**, or remove it")?;
        }
    }
    Role::BUILT_IN.iter().try_for_each(|name| spec.role_spec(name).map_or(Ok(()), |block| validate_role(name, block)))
}

fn validate_role(role: &Role, block: &RoleSpec) -> Result<(), TaskProblem> {
    let field = format!("completion.{role}");
    if let Some(promise) = &block.promise {
        validate_promise(&format!("{field}.promise"), promise)?;
    }
    if let Some(text) = &block.description {
        require_text(&format!("{field}.description"), text, "describe when the stage is done, or remove it")?;
    }
    if block.max_iterations.is_some_and(|max| !(1..=MAX_NUMBER).contains(&max)) {
        let field = format!("{field}.max_iterations");
        let message = format!("it must be a whole number from 1 to {MAX_NUMBER}");
        return Err(TaskProblem::new(field, message, "such as 10"));
    }
    let config = block.verification_config.clone().unwrap_or_default();
    let method_source = MethodSource::from_choice(block.verification_method);
    ConfigValidator { method: block.method_for(role), config: &config, method_source }
        .validate_config(&format!("{field}.verification_config"))
}

fn validate_promise(field: &str, promise: &str) -> Result<(), TaskProblem> {
    if promise.contains(['<', '>']) {
        let hint = "write only the text inside the tag, such as AUTH_IMPLEMENTED";
        return Err(TaskProblem::new(field, "it contains `<` or `>`, which are part of the tag", hint));
    }
    Promise::parse(promise)
        .map(drop)
        .map_err(|_| TaskProblem::new(field, "it is empty", "use a word that does not occur in normal output"))
}

/// Whether the method is explicit or the default of the role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MethodSource {
    Explicit,
    RoleDefault,
}

impl MethodSource {
    fn from_choice(method: Option<MethodName>) -> Self {
        if method.is_some() { Self::Explicit } else { Self::RoleDefault }
    }
}

struct ConfigValidator<'a> {
    method: MethodName,
    config: &'a VerificationConfig,
    method_source: MethodSource,
}

impl ConfigValidator<'_> {
    fn validate_config(&self, field: &str) -> Result<(), TaskProblem> {
        if let Some(name) = &self.config.template {
            return self.validate_template(field, name);
        }
        if self.config.with.is_some() {
            let message = "it sets template parameters, but there is no template";
            return Err(TaskProblem::new(format!("{field}.with"), message, "add template: NAME"));
        }
        self.reject_foreign_fields(field)?;
        self.validate_fields(field)?;
        match self.method {
            MethodName::StringMatch => Ok(()),
            MethodName::External => self.validate_external(field),
            MethodName::Semantic => self.validate_semantic(field),
            MethodName::MultiStage => self.validate_stages(field),
            MethodName::Plugin => self.validate_plugin(field),
        }
    }

    fn validate_fields(&self, field: &str) -> Result<(), TaskProblem> {
        let config = self.config;
        let fields = CheckFields {
            retries: config.retries.unwrap_or(0),
            output_contains: config.output_contains.as_deref(),
            output_not_contains: config.output_not_contains.as_deref(),
            working_dir: config.working_dir.as_deref(),
        };
        let variables = config.env.iter().flatten().map(|(name, _)| name.as_str());
        match find_check_problem(&fields, variables) {
            None => Ok(()),
            Some(CheckFieldProblem { key, problem, hint }) => {
                Err(TaskProblem::new(format!("{field}.{key}"), problem, hint))
            }
        }
    }

    /// A template defines everything but its parameters and the retries.
    fn validate_template(&self, field: &str, name: &str) -> Result<(), TaskProblem> {
        require_id(&format!("{field}.template"), name)?;
        if (self.method, self.method_source) == (MethodName::StringMatch, MethodSource::Explicit) {
            let message = "the method string_match does not use it";
            return Err(TaskProblem::new(format!("{field}.template"), message, "remove the method"));
        }
        self.validate_fields(field)?;
        let known = ["template", "with", "retries"];
        match self.config.written_fields().iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((other, _)) => {
                let message = format!("the template {name} defines it");
                let hint = "remove it, or write the check without a template";
                Err(TaskProblem::new(format!("{field}.{other}"), message, hint))
            }
        }
    }

    /// Refuses fields of other methods, which would be ignored.
    fn reject_foreign_fields(&self, field: &str) -> Result<(), TaskProblem> {
        let written = self.config.written_fields();
        match written.iter().find(|(_, methods)| !methods.contains(&self.method)) {
            None => Ok(()),
            Some((name, methods)) => {
                let other = methods.first().map_or("", |method| method.as_str());
                let message = format!("the method {} does not use it", self.method.as_str());
                let hint = format!("it belongs to the method {other}: use that method, or remove the field");
                Err(TaskProblem::new(format!("{field}.{name}"), message, hint))
            }
        }
    }

    fn validate_external(&self, field: &str) -> Result<(), TaskProblem> {
        if self.config.command.as_ref().is_none_or(CheckCommand::is_empty) {
            return Err(self.missing_field(field, "command", "such as command: \"cargo test\""));
        }
        if self.config.success_exit_code.is_some_and(|code| !(0..=255).contains(&code)) {
            let field = format!("{field}.success_exit_code");
            return Err(TaskProblem::new(field, "an exit code must be between 0 and 255", "0 means success"));
        }
        Ok(())
    }

    fn validate_semantic(&self, field: &str) -> Result<(), TaskProblem> {
        if let Some(CheckForSpec::Text(text)) = &self.config.check_for
            && !is_acceptance_placeholder(text)
        {
            let hint = format!("write one `- criterion` per line, or \"{ACCEPTANCE_PLACEHOLDER}\"");
            return Err(TaskProblem::new(format!("{field}.check_for"), "expected a list", hint));
        }
        let listed = match &self.config.check_for {
            Some(CheckForSpec::List(list)) => list.as_slice(),
            Some(CheckForSpec::Text(_)) | None => &[],
        };
        let patterns = self.config.negative_patterns.as_deref().unwrap_or_default();
        for (name, list) in [("check_for", listed), ("negative_patterns", patterns)] {
            for (index, text) in list.iter().enumerate() {
                require_text(&format!("{field}.{name}.{index}"), text, "an empty text would match everything")?;
            }
        }
        Ok(())
    }

    fn validate_stages(&self, field: &str) -> Result<(), TaskProblem> {
        let Some(stages) = self.config.stages.as_ref().filter(|stages| !stages.is_empty()) else {
            return Err(self.missing_field(field, "stages", "list the stages, each with name, method and config"));
        };
        stages
            .iter()
            .enumerate()
            .try_for_each(|(index, stage)| validate_stage(&format!("{field}.stages.{index}"), stage))
    }

    fn validate_plugin(&self, field: &str) -> Result<(), TaskProblem> {
        match self.config.plugin.as_deref() {
            None | Some("") => Err(self.missing_field(field, "plugin", "name a program in .ralph/verifiers")),
            Some(name) => require_id(&format!("{field}.plugin"), name),
        }
    }

    /// Reports a missing field. If the method is a default, the hint mentions other methods.
    fn missing_field(&self, field: &str, name: &str, example: &str) -> TaskProblem {
        let message = format!("{} without {name}", self.method.as_str());
        let hint = match self.method_source {
            MethodSource::Explicit => String::from(example),
            MethodSource::RoleDefault => format!(
                "{example}; {} is the default for this role, verification_method: semantic or string_match needs none",
                self.method.as_str()
            ),
        };
        TaskProblem::new(format!("{field}.{name}"), message, hint)
    }
}

fn validate_stage(field: &str, stage: &StageSpec) -> Result<(), TaskProblem> {
    if let Some(name) = &stage.name {
        require_text(&format!("{field}.name"), name, "set a name, or remove it")?;
    }
    let config = stage.config.clone().unwrap_or_default();
    let method_source = MethodSource::from_choice(stage.method);
    ConfigValidator { method: stage.method_or_default(), config: &config, method_source }
        .validate_config(&format!("{field}.config"))
}

/// Returns whether a text is the placeholder for the acceptance criteria. Spaces inside the braces are ignored.
pub(crate) fn is_acceptance_placeholder(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == "acceptance_criteria")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
