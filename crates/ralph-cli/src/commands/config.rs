//! `ralph config`.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::config_args::ConfigArgs;
use super::out;
use crate::error::CommandError;
use ralph_app::config::{self, EffectiveSetting};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize_text;

/// Shows the configuration: what holds here, where it comes from, and what can be set
#[derive(Debug, Args)]
#[command(after_help = "Layers, each over the one before: built-in, ~/.config/ralph/config.yaml, .ralph/config.yaml
(or the classic .ralph/config), RALPH_* variables, flags. The guide describes every key.")]
pub struct ConfigCommand {
    #[command(subcommand)]
    what: ConfigSubcommand,
}

#[derive(Debug, Subcommand)]
enum ConfigSubcommand {
    /// Prints every value that has an effect, and where it comes from
    Show {
        /// Prints an array of {key, value, layer, origin}
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Prints the JSON schema of the configuration, for editors and tests
    Schema,
    /// Prints the files that are read here; the first is the user's own, whether it exists or not
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
    // Outside of a repository there are settings too.
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
    let (keys_wide, values_wide) = (width(&keys), width(&values));
    for ((key, value), shown) in keys.iter().zip(&values).zip(shown) {
        out::print_line(&format!("{key:keys_wide$}  {value:values_wide$}  {}", shown.origin));
    }
}

/// Texts are shown without quotation marks where nothing is lost by it, and never so that they act on a terminal.
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
