//! `ralph install` and `ralph uninstall`.
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use serde_json::json;

use super::out;
use crate::error::Failure;
use ralph_agents::install::{self, Apply, Done, Host, InstallError, Own, Patience, Place, Report, Scope};
use ralph_engine::project::Project;
use ralph_process as process;

/// Puts ralph into an agent's own sessions: hooks and the slash commands /ralph, /cancel-ralph, /ralph-status, /ralph-tasks
///
/// What is in its settings stays, byte for byte; `ralph uninstall` undoes exactly what this did. Run it again after ralph
/// was moved or updated. Hosts: claude, codex, gemini, qwen, copilot, opencode.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph install claude                        for all projects of yours
  ralph install gemini --project              for this project
  ralph install claude --dry-run              shows what would be written
  ralph install claude --seconds 1800         for checks that take up to half an hour
  ralph install claude --plugin ~/ralph-plugin && claude --plugin-dir ~/ralph-plugin

Then, in a session: /ralph \"Fix the failing tests\" --check 'cargo test' --max-iterations=20")]
#[command(group(ArgGroup::new("where").args(["user", "project", "plugin"])))]
pub struct InstallArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// How long the program waits for a hook, and so for the checks that run in it [without it: as it is, else 600]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(install::SHORTEST..=install::LONGEST))]
    seconds: Option<u64>,
}

/// Takes ralph out of an agent's sessions
///
/// Undoes what `ralph install` did. Settings that nobody has edited since are as they were, byte for byte; of others only
/// ralph's entries go. Files of ralph's that somebody has changed stay, and are named.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("where").args(["user", "project", "plugin"])))]
pub struct UninstallArgs {
    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Args)]
struct TargetArgs {
    /// The program whose sessions are meant
    host: String,
    /// For all projects of yours [this is usual]
    #[arg(long)]
    user: bool,
    /// For the project around the current folder
    #[arg(long)]
    project: bool,
    /// As a plugin in this folder (claude only)
    #[arg(long, value_name = "DIR")]
    plugin: Option<PathBuf>,
    /// Shows what would be changed, and changes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints an object with host, scope, folder, files, advice and warnings
    #[arg(long)]
    json: bool,
}

pub fn install(args: &InstallArgs) -> Result<u8, Failure> {
    let patience = args.seconds.map_or(Patience::Kept, Patience::Seconds);
    args.target.perform(|host, place, own| install::put_in(host, place, own, patience), Told::Advice)
}

pub fn uninstall(args: &UninstallArgs) -> Result<u8, Failure> {
    args.target.perform(install::take_out, Told::Nothing)
}

/// What people hear beside what became of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Advice,
    Nothing,
}

#[derive(Default)]
struct Words {
    advice: Option<String>,
    warnings: Vec<String>,
}

impl TargetArgs {
    fn perform(
        &self,
        plan: impl Fn(&Host, &Place<'_>, &Own) -> Result<Apply, InstallError>,
        told: Told,
    ) -> Result<u8, Failure> {
        let host = install::find(&self.host)?;
        let variable = |name: &str| std::env::var_os(name);
        let around = Project::here().ok().map(|project| project.root);
        let place = Place { scope: self.scope(host)?, around, variable: &variable };
        let own = own()?;
        let wanted = plan(host, &place, &own)?;
        if !self.dry_run {
            install::apply(&wanted)?;
        }
        let words = match told {
            Told::Advice => {
                Words { advice: host.advice(&place.scope), warnings: install::warnings(host, &place, &own) }
            }
            Told::Nothing => Words::default(),
        };
        match self.json {
            true => self.print_json(host, &place, (&wanted, &words))?,
            false => self.print(&wanted, &words),
        }
        Ok(0)
    }

    fn scope(&self, host: &Host) -> Result<Scope, Failure> {
        match &self.plugin {
            Some(_) if host.name != "claude" => {
                Err(Failure::usage(format!("{} knows no plugins of this kind", host.name))
                    .hint("leave --plugin out"))
            }
            Some(folder) => std::path::absolute(folder).map(Scope::Plugin).map_err(Failure::usage),
            None if self.project => Ok(Scope::Project(Project::here()?.root)),
            None => Ok(Scope::User),
        }
    }

    fn print_json(
        &self,
        host: &Host,
        place: &Place<'_>,
        (wanted, words): (&Apply, &Words),
    ) -> Result<(), Failure> {
        let file = |report: &Report| json!({ "path": report.path, "done": report.done.name() });
        let files: Vec<_> = wanted.reports().iter().map(file).collect();
        let whole = json!({ "host": host.name, "scope": place.scope.name(), "folder": host.folder(place)?,
            "dry_run": self.dry_run, "files": files, "advice": words.advice, "warnings": words.warnings });
        out::line(&whole.to_string());
        Ok(())
    }

    fn print(&self, wanted: &Apply, words: &Words) {
        let reports = wanted.reports();
        for report in &reports {
            out::say(&format!("{:<8}  {}", report.done.name(), report.path.display()));
            if self.dry_run {
                show(report);
            }
        }
        if reports.iter().any(|report| report.done == Done::Foreign) {
            out::say("\nWhat is not ralph's stays: somebody has made or changed it.");
        }
        if reports.is_empty() {
            out::say("nothing of ralph's is there");
        }
        if self.dry_run {
            out::say("\nNothing was changed (--dry-run).");
        }
        if let Some(advice) = &words.advice {
            out::say(&format!("\nNote: {advice}."));
        }
        words.warnings.iter().for_each(|warning| out::say(&format!("\nWarning: {warning}.")));
    }
}

/// Shows the lines that come and go.
fn show(report: &Report) {
    let lines = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
    };
    let (before, after) = (lines(&report.before), lines(&report.after));
    let same = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let rest = before.len().min(after.len()) - same;
    let end =
        before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let between = |lines: &[String]| lines.get(same..lines.len() - end).unwrap_or_default().to_vec();
    between(&before).iter().for_each(|line| out::say(&format!("    - {line}")));
    between(&after).iter().for_each(|line| out::say(&format!("    + {line}")));
}

/// This very program; by the name under which the user finds it, if that leads here.
pub fn own() -> Result<Own, Failure> {
    let known = std::env::current_dir().ok().and_then(|here| process::find_program(&here, "ralph").ok());
    Ok(Own::find(known)?)
}
