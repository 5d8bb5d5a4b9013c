//! Whether a task can stay as it was written. What could never be verified is refused when it is made, not when it runs.
use alloc::format;
use alloc::string::String;

use super::{
    ACCEPTANCE_PLACEHOLDER, CheckForSpec, CompletionSpec, MethodName, Role, RoleSpec, StageSpec, Task, TaskProblem,
    VerificationConfig, is_valid_id,
};
use crate::claim::Promise;
use crate::criterion::{CheckCommand, CheckFieldProblem, CheckFields, find_check_problem};

/// More than this is a typing mistake.
const MAX_NUMBER: u32 = 1_000_000;

const ID_HINT: &str = "an id has letters, digits, `-`, `_` and `.`, a letter or digit first, such as TASK-001";

/// Holds a task against the rules and returns the first thing that is wrong.
pub fn validate_task(task: &Task) -> Result<(), TaskProblem> {
    require_id("id", &task.id)?;
    task.spec_id.as_ref().map_or(Ok(()), |spec| require_id("spec_id", spec))?;
    require_text("title", &task.title, "say in one line what is to be done")?;
    if task.title.trim().contains('\n') {
        return Err(TaskProblem::new("title", "it has more than one line", "the rest belongs into description"));
    }
    if task.priority.is_some_and(|priority| !(1..=MAX_NUMBER).contains(&priority)) {
        return Err(TaskProblem::new("priority", "it is a whole number from 1 on", "1 comes first"));
    }
    for (place, on) in task.dependencies().iter().enumerate() {
        require_id(&format!("dependencies.{place}"), on)?;
    }
    task.completion.as_ref().map_or(Ok(()), validate_completion)
}

fn require_id(field: &str, name: &str) -> Result<(), TaskProblem> {
    match is_valid_id(name) {
        true => Ok(()),
        false => Err(TaskProblem::new(field, format!("{name:?} is no id"), ID_HINT)),
    }
}

fn require_text(field: &str, text: &str, hint: &str) -> Result<(), TaskProblem> {
    if text.trim().is_empty() { Err(TaskProblem::new(field, "it is empty", hint)) } else { Ok(()) }
}

fn validate_completion(spec: &CompletionSpec) -> Result<(), TaskProblem> {
    require_text("completion.outcome", &spec.outcome, "say what is true when the task is done")?;
    let field = "completion.acceptance_criteria";
    if spec.acceptance_criteria.is_empty() {
        return Err(TaskProblem::new(field, "it is empty: at least one is needed", "list what must be true"));
    }
    for (place, criterion) in spec.acceptance_criteria.iter().enumerate() {
        require_text(&format!("{field}.{place}"), criterion, "say what must be true, or leave it out")?;
    }
    for (name, patterns) in [("guard", &spec.guard), ("allow_changes", &spec.allow_changes)] {
        for (place, pattern) in patterns.iter().flatten().enumerate() {
            let field = format!("completion.{name}.{place}");
            require_text(&field, pattern, "write a pattern as in a .gitignore, such as tests/**, or leave it out")?;
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
        require_text(&format!("{field}.description"), text, "say when the stage is done, or leave it out")?;
    }
    if block.max_iterations.is_some_and(|most| !(1..=MAX_NUMBER).contains(&most)) {
        let field = format!("{field}.max_iterations");
        return Err(TaskProblem::new(field, "it is a whole number from 1 on", "such as 10"));
    }
    let config = block.verification_config.clone().unwrap_or_default();
    let said = MethodSource::from_choice(block.verification_method);
    ConfigValidator { method: block.method_for(role), config: &config, method_source: said }
        .validate_config(&format!("{field}.verification_config"))
}

fn validate_promise(field: &str, promise: &str) -> Result<(), TaskProblem> {
    if promise.contains(['<', '>']) {
        let hint = "give only the text inside the tag, such as AUTH_IMPLEMENTED";
        return Err(TaskProblem::new(field, "it holds `<` or `>`, which belong to the tag around it", hint));
    }
    Promise::parse(promise)
        .map(drop)
        .map_err(|_| TaskProblem::new(field, "it is empty", "give a word that nobody would print by chance"))
}

/// Whether a method was chosen or follows from the role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MethodSource {
    Explicit,
    RoleDefault,
}

impl MethodSource {
    fn from_choice(named: Option<MethodName>) -> Self {
        if named.is_some() { Self::Explicit } else { Self::RoleDefault }
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
            let what = "it gives values to a template, and there is none";
            return Err(TaskProblem::new(format!("{field}.with"), what, "write template: NAME beside it"));
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
        let parts = CheckFields {
            retries: config.retries.unwrap_or(0),
            output_contains: config.output_contains.as_deref(),
            output_not_contains: config.output_not_contains.as_deref(),
            working_dir: config.working_dir.as_deref(),
        };
        let variables = config.env.iter().flatten().map(|(name, _)| name.as_str());
        match find_check_problem(&parts, variables) {
            None => Ok(()),
            Some(CheckFieldProblem { key, problem: what, hint }) => {
                Err(TaskProblem::new(format!("{field}.{key}"), what, hint))
            }
        }
    }

    /// A template says everything but how often a failure is looked at again.
    fn validate_template(&self, field: &str, name: &str) -> Result<(), TaskProblem> {
        require_id(&format!("{field}.template"), name)?;
        if (self.method, self.method_source) == (MethodName::StringMatch, MethodSource::Explicit) {
            let what = "it says nothing to the method string_match";
            return Err(TaskProblem::new(format!("{field}.template"), what, "leave the method out"));
        }
        self.validate_fields(field)?;
        let known = ["template", "with", "retries"];
        match self.config.written_fields().iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((other, _)) => {
                let what = format!("the template {name} says that already");
                let hint = "leave it out, or write the check without a template";
                Err(TaskProblem::new(format!("{field}.{other}"), what, hint))
            }
        }
    }

    /// A field of another method would be read by nobody.
    fn reject_foreign_fields(&self, field: &str) -> Result<(), TaskProblem> {
        let written = self.config.written_fields();
        match written.iter().find(|(_, of)| !of.contains(&self.method)) {
            None => Ok(()),
            Some((name, of)) => {
                let other = of.first().map_or("", |method| method.as_str());
                let what = format!("it says nothing to the method {}", self.method.as_str());
                let hint = format!("it belongs to {other}: choose that method, or leave it out");
                Err(TaskProblem::new(format!("{field}.{name}"), what, hint))
            }
        }
    }

    fn validate_external(&self, field: &str) -> Result<(), TaskProblem> {
        if self.config.command.as_ref().is_none_or(CheckCommand::is_empty) {
            return Err(self.missing_field(field, "command", "such as command: \"cargo test\""));
        }
        if self.config.success_exit_code.is_some_and(|code| !(0..=255).contains(&code)) {
            let field = format!("{field}.success_exit_code");
            return Err(TaskProblem::new(field, "an exit code is between 0 and 255", "0 means success"));
        }
        Ok(())
    }

    fn validate_semantic(&self, field: &str) -> Result<(), TaskProblem> {
        if let Some(CheckForSpec::Text(text)) = &self.config.check_for
            && !is_acceptance_placeholder(text)
        {
            let hint = format!("write one `- criterion` a line, or \"{ACCEPTANCE_PLACEHOLDER}\"");
            return Err(TaskProblem::new(format!("{field}.check_for"), "a list is expected", hint));
        }
        let listed = match &self.config.check_for {
            Some(CheckForSpec::List(list)) => list.as_slice(),
            Some(CheckForSpec::Text(_)) | None => &[],
        };
        let patterns = self.config.negative_patterns.as_deref().unwrap_or_default();
        for (name, list) in [("check_for", listed), ("negative_patterns", patterns)] {
            for (place, text) in list.iter().enumerate() {
                require_text(&format!("{field}.{name}.{place}"), text, "an empty one would stand in every text")?;
            }
        }
        Ok(())
    }

    fn validate_stages(&self, field: &str) -> Result<(), TaskProblem> {
        let Some(stages) = self.config.stages.as_ref().filter(|stages| !stages.is_empty()) else {
            return Err(self.missing_field(field, "stages", "list them, each with name, method and config"));
        };
        stages
            .iter()
            .enumerate()
            .try_for_each(|(place, stage)| validate_stage(&format!("{field}.stages.{place}"), stage))
    }

    fn validate_plugin(&self, field: &str) -> Result<(), TaskProblem> {
        match self.config.plugin.as_deref() {
            None | Some("") => Err(self.missing_field(field, "plugin", "name a program in .ralph/verifiers")),
            Some(name) => require_id(&format!("{field}.plugin"), name),
        }
    }

    /// Says what is missing, and that another method is possible where this one was not chosen.
    fn missing_field(&self, field: &str, name: &str, example: &str) -> TaskProblem {
        let what = format!("{} without {name}", self.method.as_str());
        let hint = match self.method_source {
            MethodSource::Explicit => String::from(example),
            MethodSource::RoleDefault => format!(
                "{example}; {} is usual for this role, verification_method: semantic or string_match needs none",
                self.method.as_str()
            ),
        };
        TaskProblem::new(format!("{field}.{name}"), what, hint)
    }
}

fn validate_stage(field: &str, stage: &StageSpec) -> Result<(), TaskProblem> {
    if let Some(name) = &stage.name {
        require_text(&format!("{field}.name"), name, "name it, or leave it out")?;
    }
    let config = stage.config.clone().unwrap_or_default();
    let said = MethodSource::from_choice(stage.method);
    ConfigValidator { method: stage.method_or_default(), config: &config, method_source: said }
        .validate_config(&format!("{field}.config"))
}

/// Tells whether a text stands for the acceptance criteria; blanks inside the braces are layout.
pub(super) fn is_acceptance_placeholder(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == "acceptance_criteria")
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
