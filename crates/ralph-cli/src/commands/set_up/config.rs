//! `ralph config`: shows settings, their origin, and the schema.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::out;
use crate::error::CommandError;
use ralph_app::config::{self, EffectiveSetting};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

/// Shows the configuration: effective values, where they come from, and what can be set
#[derive(Debug, Args)]
#[command(after_help = "Layers, lowest precedence first: built-in, ~/.config/ralph/config.yaml, .ralph/config.yaml
(or the classic .ralph/config), RALPH_* variables, flags. The guide describes every key.")]
pub struct ConfigCommand {
    #[command(subcommand)]
    what: ConfigSubcommand,
}

#[derive(Debug, Subcommand)]
enum ConfigSubcommand {
    /// Prints every effective value and where it comes from
    Show {
        /// Prints an array of {key, value, layer, origin, loosens}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Prints the JSON schema of the configuration, for editors and tests
    Schema,
    /// Prints the configuration files that apply here; the first is the user's, even if it does not exist
    Path {
        #[command(flatten)]
        config: ConfigArgs,
    },
}

pub fn run(args: &ConfigCommand) -> Result<u8, CommandError> {
    match &args.what {
        ConfigSubcommand::Show { config, json } => show_settings(config, *json)?,
        ConfigSubcommand::Schema => out::print_line(&format!("{:#}", config::config_schema())),
        ConfigSubcommand::Path { config } => print_config_paths(config)?,
    }
    Ok(0)
}

fn show_settings(args: &ConfigArgs, json: bool) -> Result<(), CommandError> {
    // Settings also apply outside a repository.
    let project = Project::find_here().ok();
    let settings = args.load_settings(project.as_ref())?;
    if json {
        out::print_line(&serde_json::to_string(&settings.effective_settings()).unwrap_or_default());
    } else {
        print_settings(&settings.effective_settings());
    }
    let root = project.map_or_else(PathBuf::new, |project| project.root);
    Ok(settings.chosen_agent(&root).map(drop)?)
}

fn print_settings(shown: &[EffectiveSetting]) {
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(40);
    let keys: Vec<String> = shown.iter().map(|shown| shown.key.clone()).collect();
    let values: Vec<String> = shown.iter().map(|shown| format_value(&shown.value)).collect();
    let (key_width, value_width) = (width(&keys), width(&values));
    for ((key, value), shown) in keys.iter().zip(&values).zip(shown) {
        let looser = shown.loosens.as_ref().map(|stricter| format!("  (looser than {stricter}: needs ralph trust)"));
        let looser = sanitize_text(&looser.unwrap_or_default());
        out::print_line(&format!("{key:key_width$}  {value:value_width$}  {}{looser}", shown.origin));
    }
}

/// Formats a value: text without quotation marks if it is unambiguous, and always without terminal control characters.
fn format_value(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && sanitize_text(text) == text && !text.contains('\n') => text.to_owned(),
        Some(_) | None => sanitize_text(&value.to_string()),
    }
}

fn print_config_paths(args: &ConfigArgs) -> Result<(), CommandError> {
    let files = args.find_files(Project::find_here().ok().as_ref())?;
    for path in files.user_file.iter().chain(&files.project_file) {
        out::print_line(&path.display().to_string());
    }
    Ok(())
}
