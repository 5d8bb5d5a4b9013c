//! Whether a task can stay as it was written. What could never be verified is refused when it is made, not when it runs.
use alloc::format;
use alloc::string::String;

use super::{
    ACCEPTANCE, CheckFor, CompletionSpec, MethodName, Problem, Role, RoleSpec, StageSpec, Task,
    VerificationConfig, is_name,
};
use crate::claim::Promise;
use crate::criterion::{CheckCommand, Flaw, Parts, flaw};

/// More than this is a typing mistake.
const MOST: u32 = 1_000_000;

const NAMES: &str = "an id has letters, digits, `-`, `_` and `.`, a letter or digit first, such as TASK-001";

/// Holds a task against the rules and returns the first thing that is wrong.
pub fn validate(task: &Task) -> Result<(), Problem> {
    named("id", &task.id)?;
    task.spec_id.as_ref().map_or(Ok(()), |spec| named("spec_id", spec))?;
    filled("title", &task.title, "say in one line what is to be done")?;
    if task.title.trim().contains('\n') {
        return Err(Problem::new("title", "it has more than one line", "the rest belongs into description"));
    }
    if task.priority.is_some_and(|priority| !(1..=MOST).contains(&priority)) {
        return Err(Problem::new("priority", "it is a whole number from 1 on", "1 comes first"));
    }
    for (place, on) in task.dependencies().iter().enumerate() {
        named(&format!("dependencies.{place}"), on)?;
    }
    task.completion.as_ref().map_or(Ok(()), completion)
}

fn named(field: &str, name: &str) -> Result<(), Problem> {
    match is_name(name) {
        true => Ok(()),
        false => Err(Problem::new(field, format!("{name:?} is no id"), NAMES)),
    }
}

fn filled(field: &str, text: &str, hint: &str) -> Result<(), Problem> {
    if text.trim().is_empty() { Err(Problem::new(field, "it is empty", hint)) } else { Ok(()) }
}

fn completion(spec: &CompletionSpec) -> Result<(), Problem> {
    filled("completion.outcome", &spec.outcome, "say what is true when the task is done")?;
    let field = "completion.acceptance_criteria";
    if spec.acceptance_criteria.is_empty() {
        return Err(Problem::new(field, "it is empty: at least one is needed", "list what must be true"));
    }
    for (place, criterion) in spec.acceptance_criteria.iter().enumerate() {
        filled(&format!("{field}.{place}"), criterion, "say what must be true, or leave it out")?;
    }
    for (name, patterns) in [("guard", &spec.guard), ("allow_changes", &spec.allow_changes)] {
        for (place, pattern) in patterns.iter().flatten().enumerate() {
            let field = format!("completion.{name}.{place}");
            filled(&field, pattern, "write a pattern as in a .gitignore, such as tests/**, or leave it out")?;
        }
    }
    Role::KNOWN.iter().try_for_each(|name| spec.of(name).map_or(Ok(()), |block| role(name, block)))
}

fn role(role: &Role, block: &RoleSpec) -> Result<(), Problem> {
    let field = format!("completion.{role}");
    if let Some(promise) = &block.promise {
        self::promise(&format!("{field}.promise"), promise)?;
    }
    if let Some(text) = &block.description {
        filled(&format!("{field}.description"), text, "say when the stage is done, or leave it out")?;
    }
    if block.max_iterations.is_some_and(|most| !(1..=MOST).contains(&most)) {
        let field = format!("{field}.max_iterations");
        return Err(Problem::new(field, "it is a whole number from 1 on", "such as 10"));
    }
    let config = block.verification_config.clone().unwrap_or_default();
    let said = Said::of(block.verification_method);
    Checked { method: block.method(role), config: &config, said }
        .check(&format!("{field}.verification_config"))
}

fn promise(field: &str, promise: &str) -> Result<(), Problem> {
    if promise.contains(['<', '>']) {
        let hint = "give only the text inside the tag, such as AUTH_IMPLEMENTED";
        return Err(Problem::new(field, "it holds `<` or `>`, which belong to the tag around it", hint));
    }
    Promise::parse(promise)
        .map(drop)
        .map_err(|_| Problem::new(field, "it is empty", "give a word that nobody would print by chance"))
}

/// Whether a method was chosen or follows from the role.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Named,
    Usual,
}

impl Said {
    fn of(named: Option<MethodName>) -> Self {
        if named.is_some() { Self::Named } else { Self::Usual }
    }
}

struct Checked<'a> {
    method: MethodName,
    config: &'a VerificationConfig,
    said: Said,
}

impl Checked<'_> {
    fn check(&self, field: &str) -> Result<(), Problem> {
        if let Some(name) = &self.config.template {
            return self.template(field, name);
        }
        if self.config.with.is_some() {
            let what = "it gives values to a template, and there is none";
            return Err(Problem::new(format!("{field}.with"), what, "write template: NAME beside it"));
        }
        self.only_its_own(field)?;
        self.flawless(field)?;
        match self.method {
            MethodName::StringMatch => Ok(()),
            MethodName::External => self.external(field),
            MethodName::Semantic => self.semantic(field),
            MethodName::MultiStage => self.stages(field),
            MethodName::Plugin => self.plugin(field),
        }
    }

    fn flawless(&self, field: &str) -> Result<(), Problem> {
        let config = self.config;
        let parts = Parts {
            retries: config.retries.unwrap_or(0),
            output_contains: config.output_contains.as_deref(),
            output_not_contains: config.output_not_contains.as_deref(),
            working_dir: config.working_dir.as_deref(),
        };
        let variables = config.env.iter().flatten().map(|(name, _)| name.as_str());
        match flaw(&parts, variables) {
            None => Ok(()),
            Some(Flaw { key, what, hint }) => Err(Problem::new(format!("{field}.{key}"), what, hint)),
        }
    }

    /// A template says everything but how often a failure is looked at again.
    fn template(&self, field: &str, name: &str) -> Result<(), Problem> {
        named(&format!("{field}.template"), name)?;
        if (self.method, self.said) == (MethodName::StringMatch, Said::Named) {
            let what = "it says nothing to the method string_match";
            return Err(Problem::new(format!("{field}.template"), what, "leave the method out"));
        }
        self.flawless(field)?;
        let known = ["template", "with", "retries"];
        match self.config.written().iter().find(|(name, _)| !known.contains(name)) {
            None => Ok(()),
            Some((other, _)) => {
                let what = format!("the template {name} says that already");
                let hint = "leave it out, or write the check without a template";
                Err(Problem::new(format!("{field}.{other}"), what, hint))
            }
        }
    }

    /// A field of another method would be read by nobody.
    fn only_its_own(&self, field: &str) -> Result<(), Problem> {
        let written = self.config.written();
        match written.iter().find(|(_, of)| !of.contains(&self.method)) {
            None => Ok(()),
            Some((name, of)) => {
                let other = of.first().map_or("", |method| method.as_str());
                let what = format!("it says nothing to the method {}", self.method.as_str());
                let hint = format!("it belongs to {other}: choose that method, or leave it out");
                Err(Problem::new(format!("{field}.{name}"), what, hint))
            }
        }
    }

    fn external(&self, field: &str) -> Result<(), Problem> {
        if self.config.command.as_ref().is_none_or(CheckCommand::is_empty) {
            return Err(self.lacks(field, "command", "such as command: \"cargo test\""));
        }
        if self.config.success_exit_code.is_some_and(|code| !(0..=255).contains(&code)) {
            let field = format!("{field}.success_exit_code");
            return Err(Problem::new(field, "an exit code is between 0 and 255", "0 means success"));
        }
        Ok(())
    }

    fn semantic(&self, field: &str) -> Result<(), Problem> {
        if let Some(CheckFor::Text(text)) = &self.config.check_for
            && !is_acceptance(text)
        {
            let hint = format!("write one `- criterion` a line, or \"{ACCEPTANCE}\"");
            return Err(Problem::new(format!("{field}.check_for"), "a list is expected", hint));
        }
        let listed = match &self.config.check_for {
            Some(CheckFor::List(list)) => list.as_slice(),
            Some(CheckFor::Text(_)) | None => &[],
        };
        let patterns = self.config.negative_patterns.as_deref().unwrap_or_default();
        for (name, list) in [("check_for", listed), ("negative_patterns", patterns)] {
            for (place, text) in list.iter().enumerate() {
                filled(&format!("{field}.{name}.{place}"), text, "an empty one would stand in every text")?;
            }
        }
        Ok(())
    }

    fn stages(&self, field: &str) -> Result<(), Problem> {
        let Some(stages) = self.config.stages.as_ref().filter(|stages| !stages.is_empty()) else {
            return Err(self.lacks(field, "stages", "list them, each with name, method and config"));
        };
        stages
            .iter()
            .enumerate()
            .try_for_each(|(place, stage)| one_stage(&format!("{field}.stages.{place}"), stage))
    }

    fn plugin(&self, field: &str) -> Result<(), Problem> {
        match self.config.plugin.as_deref() {
            None | Some("") => Err(self.lacks(field, "plugin", "name a program in .ralph/verifiers")),
            Some(name) => named(&format!("{field}.plugin"), name),
        }
    }

    /// Says what is missing, and that another method is possible where this one was not chosen.
    fn lacks(&self, field: &str, name: &str, example: &str) -> Problem {
        let what = format!("{} without {name}", self.method.as_str());
        let hint = match self.said {
            Said::Named => String::from(example),
            Said::Usual => format!(
                "{example}; {} is usual for this role, verification_method: semantic or string_match needs none",
                self.method.as_str()
            ),
        };
        Problem::new(format!("{field}.{name}"), what, hint)
    }
}

fn one_stage(field: &str, stage: &StageSpec) -> Result<(), Problem> {
    if let Some(name) = &stage.name {
        filled(&format!("{field}.name"), name, "name it, or leave it out")?;
    }
    let config = stage.config.clone().unwrap_or_default();
    let said = Said::of(stage.method);
    Checked { method: stage.method(), config: &config, said }.check(&format!("{field}.config"))
}

/// Tells whether a text stands for the acceptance criteria; blanks inside the braces are layout.
pub(super) fn is_acceptance(text: &str) -> bool {
    let inner = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    inner.is_some_and(|inner| inner.trim() == "acceptance_criteria")
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
