//! `ralph config`.
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::config_args::ConfigArgs;
use super::out;
use crate::error::Failure;
use ralph_app::config::{self, Shown};
use ralph_engine::project::Project;
use ralph_util::sanitize::sanitize;

/// Shows the configuration: what holds here, where it comes from, and what can be set
#[derive(Debug, Args)]
#[command(
    after_help = "Layers, each over the one before: built-in, ~/.config/ralph/config.yaml, .ralph/config.yaml
(or the classic .ralph/config), RALPH_* variables, flags. The guide describes every key."
)]
pub struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
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

pub fn run(args: &ConfigCommand) -> Result<u8, Failure> {
    match &args.what {
        What::Show { config, json } => show(config, *json)?,
        What::Schema => out::line(&format!("{:#}", config::schema())),
        What::Path { config } => path(config)?,
    }
    Ok(0)
}

fn show(args: &ConfigArgs, json: bool) -> Result<(), Failure> {
    // Outside of a repository there are settings too.
    let project = Project::here().ok();
    let settings = args.settings(project.as_ref())?;
    if json {
        out::line(&serde_json::to_string(&settings.shown()).unwrap_or_default());
    } else {
        print(&settings.shown());
    }
    let root = project.map_or_else(PathBuf::new, |project| project.root);
    Ok(settings.chosen(&root).map(drop)?)
}

fn print(shown: &[Shown]) {
    let width = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).min(40);
    let keys: Vec<String> = shown.iter().map(|shown| shown.key.clone()).collect();
    let values: Vec<String> = shown.iter().map(|shown| plain(&shown.value)).collect();
    let (keys_wide, values_wide) = (width(&keys), width(&values));
    for ((key, value), shown) in keys.iter().zip(&values).zip(shown) {
        out::line(&format!("{key:keys_wide$}  {value:values_wide$}  {}", shown.origin));
    }
}

/// Texts are shown without quotation marks where nothing is lost by it, and never so that they act on a terminal.
fn plain(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some(text) if !text.is_empty() && sanitize(text) == text && !text.contains('\n') => text.to_owned(),
        Some(_) | None => sanitize(&value.to_string()),
    }
}

fn path(args: &ConfigArgs) -> Result<(), Failure> {
    let files = args.files(Project::here().ok().as_ref())?;
    for path in files.user.iter().chain(&files.project) {
        out::line(&path.display().to_string());
    }
    Ok(())
}
