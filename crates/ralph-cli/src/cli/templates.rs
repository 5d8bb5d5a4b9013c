//! `ralph templates`.
use std::collections::BTreeMap;

use clap::Args;
use ralph_core::criterion::template::Parameter;
use ralph_core::outcome::exit_code;
use serde_json::{Value, json};

use super::out;
use crate::error::Failure;
use ralph_app::config::{Check, ConfigError, KnownTemplate, Templates};
use ralph_engine::project::Project;
use ralph_util::shell_words;
use ralph_util::suggest;

/// Lists the templates: ready checks with parameters
///
/// A template is used by its name, in the configuration as `checks: [{template: NAME, with: {PARAMETER: VALUE}}]` and on
/// the command line as --check-template 'NAME PARAMETER=VALUE'. A value is one argument of the command, and no shell
/// reads it. The project's own are YAML files in .ralph/templates.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph templates                            all of them, with what they verify
  ralph templates pytest-coverage            its command and parameters
  ralph run @task.md --check-template 'pytest-coverage min=90'")]
pub struct TemplatesArgs {
    /// The template to show
    name: Option<String>,
    /// Prints an array of {name, about, file, command, parameters}
    #[arg(long)]
    json: bool,
}

pub fn run(args: &TemplatesArgs) -> Result<u8, Failure> {
    // Outside of a project there are the built-in ones.
    let folder = Project::here().ok().map(|project| project.templates());
    let all = Templates { folder }.all()?;
    let chosen = match &args.name {
        Some(name) => vec![find(&all, name)?],
        None => all.iter().collect(),
    };
    match (args.json, &args.name) {
        (true, _) => out::line(&Value::from_iter(chosen.into_iter().map(value)).to_string()),
        (false, Some(_)) => chosen.into_iter().for_each(show),
        (false, None) => list(&chosen),
    }
    Ok(0)
}

fn find<'a>(all: &'a [KnownTemplate], name: &str) -> Result<&'a KnownTemplate, Failure> {
    let names: Vec<&str> = all.iter().map(|known| known.template.name.as_str()).collect();
    all.iter().find(|known| known.template.name == name).ok_or_else(|| {
        Failure::plain(exit_code::USAGE, format!("there is no template named {name:?}"))
            .hint(suggest::hint(name, &names))
    })
}

fn list(all: &[&KnownTemplate]) {
    let width = all.iter().map(|known| known.template.name.len()).max().unwrap_or(0);
    for KnownTemplate { template, .. } in all {
        out::line(&format!("{:width$}  {}", template.name, template.about));
    }
}

fn show(known: &KnownTemplate) {
    let KnownTemplate { template, file } = known;
    out::line(&format!("{}: {}", template.name, template.about));
    out::line(&format!("  {}", template.check.method.shown()));
    if let Some(file) = file {
        out::line(&format!("  from {}", file.display()));
    }
    for parameter in &template.parameters {
        let Parameter { name, about, kind, .. } = parameter;
        out::line(&format!("  {name} ({}, {})  {about}", kind.name(), need(parameter)));
    }
}

fn need(parameter: &Parameter) -> String {
    match &parameter.default {
        None => "required".to_owned(),
        Some(values) if values.is_empty() => "optional".to_owned(),
        Some(values) => format!("default {}", values.join(" ")),
    }
}

fn value(known: &KnownTemplate) -> Value {
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
        "command": template.check.method.shown(),
        "parameters": Value::from_iter(parameters),
    })
}

/// Returns what `--check-template` asks for: a name, then values as NAME=VALUE; a name that is given again makes a list.
pub fn chosen(templates: &Templates, written: &str) -> Result<Check, Failure> {
    let refused = |what: String| {
        Failure::usage(format!("--check-template {written:?}: {what}"))
            .hint("write NAME, or 'NAME PARAMETER=VALUE …'; `ralph templates` lists them")
    };
    let words = shell_words::split(written).map_err(|error| refused(error.to_string()))?;
    let mut words = words.iter();
    let name = words.next().ok_or_else(|| refused("it has no name".to_owned()))?;
    let mut with = BTreeMap::<String, Vec<String>>::new();
    for word in words {
        let (key, value) =
            word.split_once('=').ok_or_else(|| refused(format!("{word:?} is not NAME=VALUE")))?;
        with.entry(key.to_owned()).or_default().push(value.to_owned());
    }
    templates.criterion(name, &with).map_err(|error: ConfigError| {
        let failure = Failure::usage(error.what);
        error.hint.into_iter().fold(failure, Failure::hint)
    })
}
