//! Templates of checks in tasks: whether they exist, and whether their values fit.
use std::collections::BTreeMap;

use ralph_core::criterion::Criterion;
use ralph_core::criterion::template::ParameterValues;
use ralph_core::task::{Role, Task, TaskProblem, resolve_stage};
use ralph_engine::project::Project;
use ralph_util::suggest;

use crate::advice::Advice;
use crate::config::{KnownTemplate, Settings, TemplateLibrary};
use crate::error::{AppError, AppResult};

/// Returns the templates of a project.
#[must_use]
pub fn project_templates(project: &Project) -> TemplateLibrary {
    TemplateLibrary { folder: Some(project.templates_folder()) }
}

/// Returns the template with this name, or all templates. Outside of a project, only the built-in ones exist.
pub fn select_templates(project: Option<&Project>, name: Option<&str>) -> AppResult<Vec<KnownTemplate>> {
    let all = TemplateLibrary { folder: project.map(Project::templates_folder) }.list_templates()?;
    let Some(name) = name else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|known| known.template.name.clone()).collect();
    let found = all.into_iter().find(|known| known.template.name == name);
    found.map(|template| vec![template]).ok_or_else(|| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        AppError::invalid_request(format!("there is no template named {name:?}"))
            .with_advice(suggest::suggestion_hint(name, &names))
    })
}

/// Builds a criterion from a template.
pub fn fill_template(
    templates: &TemplateLibrary,
    name: &str,
    with: &BTreeMap<String, ParameterValues>,
) -> Result<Criterion, TaskProblem> {
    let made = templates.instantiate_check(name, with).map(|check| check.criterion);
    made.map_err(|error| {
        let hint = error.hint.as_ref().and_then(Advice::text).map_or_else(
            || format!("the parameters of {name} are {}", parameter_list(templates, name)),
            ToOwned::to_owned,
        );
        // The field already has the name of the parameter.
        let parameter = error.place.strip_prefix("with.").map(|parameter| format!("{parameter}: "));
        let message = parameter.and_then(|parameter| error.message.strip_prefix(&parameter)).unwrap_or(&error.message);
        TaskProblem::new(&*error.place, message, hint)
    })
}

/// Returns the names and purposes of the parameters of a template.
fn parameter_list(templates: &TemplateLibrary, name: &str) -> String {
    let all = templates.list_templates().unwrap_or_default();
    let parameters =
        all.iter().filter(|known| known.template.name == name).flat_map(|known| &known.template.parameters);
    parameters.map(|parameter| format!("{} ({})", parameter.name, parameter.about)).collect::<Vec<_>>().join(", ")
}

/// Refuses a task with a template that does not exist or whose values do not fit.
pub fn check_templates(task: &Task, templates: &TemplateLibrary) -> Result<(), TaskProblem> {
    let settings = Settings::default();
    let from = |name: &str, with: &BTreeMap<String, ParameterValues>| fill_template(templates, name, with);
    Role::BUILT_IN.iter().try_for_each(|role| resolve_stage(task, role, &settings.role_rules(role), &from).map(drop))
}
