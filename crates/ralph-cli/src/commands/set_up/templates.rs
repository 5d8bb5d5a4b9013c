//! `ralph templates`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::criterion::template::TemplateParameter;
use serde_json::{Value, json};

use crate::commands::out;
use crate::error::CommandError;
use crate::hints;
use ralph_app::config::{ConfigError, ConfiguredCheck, KnownTemplate, TemplateLibrary};
use ralph_app::plan::select_templates;
use ralph_engine::project::Project;
use ralph_util::shell_words;

/// Lists the check templates: ready-made checks with parameters
///
/// Use a template by its name: in the configuration as `checks: [{template: NAME, with: {PARAMETER: VALUE}}]`, on the
/// command line as --check-template 'NAME PARAMETER=VALUE'. Each value is passed as one argument, without a shell. Add
/// templates for your project as YAML files in .ralph/templates.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph templates                            all templates, with a description
  ralph templates pytest-coverage            its command and parameters
  ralph run @task.md --check-template 'pytest-coverage min=90'")]
pub struct TemplatesArgs {
    /// The template to show [default: all, without details]
    name: Option<String>,
    /// Prints an array of {name, about, file, command, parameters}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TemplatesArgs) -> Result<u8, CommandError> {
    let chosen = select_templates(Project::find_here().ok().as_ref(), args.name.as_deref())?;
    match (args.json, &args.name) {
        (true, _) => out::print_line(&Value::from_iter(chosen.iter().map(template_json)).to_string()),
        (false, Some(_)) => chosen.iter().for_each(print_template),
        (false, None) => list_templates(&chosen),
    }
    Ok(0)
}

fn list_templates(all: &[KnownTemplate]) {
    let width = all.iter().map(|known| known.template.name.len()).max().unwrap_or(0);
    for KnownTemplate { template, .. } in all {
        out::print_line(&format!("{:width$}  {}", template.name, template.about));
    }
}

fn print_template(known: &KnownTemplate) {
    let KnownTemplate { template, file } = known;
    out::print_line(&format!("{}: {}", template.name, template.about));
    out::print_line(&format!("  {}", template.criterion.method.summary_line()));
    if let Some(file) = file {
        out::print_line(&format!("  from {}", file.display()));
    }
    for parameter in &template.parameters {
        let TemplateParameter { name, about, kind, .. } = parameter;
        out::print_line(&format!("  {name} ({}, {})  {about}", kind.name(), parameter_requirement(parameter)));
    }
}

fn parameter_requirement(parameter: &TemplateParameter) -> String {
    match &parameter.default {
        None => "required".to_owned(),
        Some(values) if values.is_empty() => "optional".to_owned(),
        Some(values) => format!("default {}", values.join(" ")),
    }
}

fn template_json(known: &KnownTemplate) -> Value {
    let KnownTemplate { template, file } = known;
    let parameters = template.parameters.iter().map(|parameter| {
        json!({
            "name": parameter.name,
            "about": parameter.about,
            "type": parameter.kind.name(),
            "default": parameter.default,
        })
    });
    json!({
        "name": template.name,
        "about": template.about,
        "file": file,
        "command": template.criterion.method.summary_line(),
        "parameters": Value::from_iter(parameters),
    })
}

/// Parses the value of `--check-template`: a name, then values as NAME=VALUE. A repeated name makes a list.
pub fn parse_check_template(templates: &TemplateLibrary, written: &str) -> Result<ConfiguredCheck, CommandError> {
    let refused = |reason: String| {
        CommandError::usage_error(format!("--check-template {written:?}: {reason}"))
            .with_hint("write NAME, or 'NAME PARAMETER=VALUE …'; `ralph templates` lists them")
    };
    let words = shell_words::split_words(written).map_err(|error| refused(error.to_string()))?;
    let mut words = words.iter();
    let name = words.next().ok_or_else(|| refused("it has no name".to_owned()))?;
    let mut with = BTreeMap::<String, Vec<String>>::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| refused(format!("{word:?} is not NAME=VALUE")))?;
        with.entry(key.to_owned()).or_default().push(value.to_owned());
    }
    templates.instantiate_check(name, &with).map_err(|error: ConfigError| {
        let failure = CommandError::usage_error(error.message);
        error.hint.iter().map(hints::for_advice).fold(failure, CommandError::with_hint)
    })
}
