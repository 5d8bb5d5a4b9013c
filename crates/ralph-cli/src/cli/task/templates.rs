//! Templates of checks in tasks: they are there, and their values fit.
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::Values;
use ralph_core::task::{Problem, Role, Task, resolve};

use ralph_app::config::{Settings, Templates};
use ralph_engine::project::Project;

/// Returns the templates of a project.
pub fn of(project: &Project) -> Templates {
    Templates { folder: Some(project.templates()) }
}

/// Makes a criterion of a template.
pub fn filled(
    templates: &Templates,
    name: &str,
    with: &BTreeMap<String, Values>,
) -> Result<Criterion, Problem> {
    let made = templates.criterion(name, with).map(|check| check.criterion);
    made.map_err(|error| {
        let hint = error.hint.unwrap_or_else(|| format!("`ralph templates {name}` shows its parameters"));
        // The field has the parameter's name already.
        let parameter = error.place.strip_prefix("with.").map(|parameter| format!("{parameter}: "));
        let what = parameter.and_then(|parameter| error.what.strip_prefix(&parameter)).unwrap_or(&error.what);
        Problem::new(&*error.place, what, hint)
    })
}

/// Refuses a task with a template that cannot be used so.
pub fn held(task: &Task, templates: &Templates) -> Result<(), Problem> {
    let settings = Settings::default();
    let from = |name: &str, with: &BTreeMap<String, Values>| filled(templates, name, with);
    Role::KNOWN.iter().try_for_each(|role| resolve(task, role, &settings.role_rules(role), &from).map(drop))
}
