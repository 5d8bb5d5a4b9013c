//! `ralph install` and `ralph uninstall`: hooks and slash commands in the settings of agents.
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use serde_json::json;

use crate::commands::out;
use crate::error::CommandError;
use crate::hints;
use ralph_agents::install::{
    self, FileOutcome, FileReport, HookTimeout, HostInstaller, InstallScope, find_host_installer, host_installers,
};
use ralph_app::git_exclusion::GitExclusion;
use ralph_app::install::{InstallMode, InstallReport, InstallRequest, install_ralph, uninstall_ralph};
use ralph_engine::project::Project;

/// Installs ralph in an agent's sessions: hooks and the slash commands /ralph, /cancel-ralph, /ralph-status,
/// /ralph-tasks
///
/// Existing settings stay unchanged, byte for byte; `ralph uninstall` undoes exactly these changes. Run it again after
/// you move or update ralph. Hosts: claude, codex, gemini, qwen, copilot, opencode.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph install claude                        for all your projects
  ralph install gemini --project              for this project
  ralph install claude --dry-run              shows what would be written
  ralph install claude --seconds 1800         for checks that take up to half an hour
  ralph install claude --plugin ~/ralph-plugin && claude --plugin-dir ~/ralph-plugin

Then, in a session: /ralph \"Fix the failing tests\" --check 'cargo test' --max-iterations=20")]
#[command(group(ArgGroup::new("where").args(["user", "project", "plugin"])))]
pub struct InstallArgs {
    #[command(flatten)]
    target: InstallTargetArgs,
    /// How long the host waits for a hook and the checks that run in it, in seconds [default: unchanged, or 600]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(u64).range(install::MIN_HOOK_TIMEOUT_SECONDS..=install::MAX_HOOK_TIMEOUT_SECONDS))]
    seconds: Option<u64>,
}

/// Removes ralph from an agent's sessions
///
/// Undoes `ralph install`. Settings files that were not edited since are restored byte for byte; from edited files,
/// ralph removes only its entries. Files of ralph that were edited since stay, and are listed.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("where").args(["user", "project", "plugin"])))]
pub struct UninstallArgs {
    #[command(flatten)]
    target: InstallTargetArgs,
}

#[derive(Debug, Args)]
struct InstallTargetArgs {
    /// Program that runs the sessions: claude, codex, gemini, qwen, copilot or opencode
    host: String,
    /// For all your projects (default)
    #[arg(long)]
    user: bool,
    /// For the project that contains the current folder
    #[arg(long)]
    project: bool,
    /// As a plugin in this folder (claude only)
    #[arg(long, value_name = "DIR")]
    plugin: Option<PathBuf>,
    /// Shows what would be changed, without changing it
    #[arg(long)]
    dry_run: bool,
    /// Prints an object with host, scope, folder, files, advice and warnings
    #[arg(long)]
    json: bool,
}

pub fn run_install(args: &InstallArgs) -> Result<u8, CommandError> {
    let timeout = args.seconds.map_or(HookTimeout::KeepExisting, HookTimeout::Seconds);
    let target = &args.target;
    target.print_result(&install_ralph(target.to_request()?, timeout)?);
    Ok(0)
}

pub fn run_uninstall(args: &UninstallArgs) -> Result<u8, CommandError> {
    let target = &args.target;
    target.print_result(&uninstall_ralph(target.to_request()?)?);
    Ok(0)
}

impl InstallTargetArgs {
    fn to_request(&self) -> Result<InstallRequest<'_>, CommandError> {
        let host = find_host_installer(&self.host)?;
        let mode = if self.dry_run { InstallMode::DryRun } else { InstallMode::Apply };
        Ok(InstallRequest { host: &self.host, scope: self.install_scope(host)?, mode })
    }

    fn install_scope(&self, host: &HostInstaller) -> Result<InstallScope, CommandError> {
        match &self.plugin {
            Some(_) if !host.supports_plugin => {
                let able = host_installers().filter(|host| host.supports_plugin).map(|host| host.name);
                let able = able.collect::<Vec<_>>().join(", ");
                Err(CommandError::usage_error(format!("{} does not support --plugin", host.name))
                    .with_hint(format!("omit --plugin; it is supported by {able}")))
            }
            Some(folder) => std::path::absolute(folder).map(InstallScope::Plugin).map_err(CommandError::usage_error),
            None if self.project => Ok(InstallScope::Project(Project::find_here()?.root)),
            None => Ok(InstallScope::User),
        }
    }

    fn print_result(&self, report: &InstallReport) {
        if self.json {
            self.print_json(report);
        } else {
            self.print_report(report);
        }
    }

    fn print_json(&self, report: &InstallReport) {
        let file = |report: &FileReport| json!({ "path": report.path, "done": report.outcome.name() });
        let files: Vec<_> = report.changes.file_reports().iter().map(file).collect();
        let excluded_in = match &report.git_exclusion {
            GitExclusion::Added(path) => Some(path),
            GitExclusion::Unchanged | GitExclusion::Removed(_) | GitExclusion::Tracked => None,
        };
        let warnings: Vec<String> = report.warnings.iter().map(hints::for_install_warning).collect();
        let whole = json!({ "host": report.host.name, "scope": report.scope.name(), "folder": report.settings_folder,
            "dry_run": self.dry_run, "excluded_in": excluded_in, "files": files, "advice": report.advice, "warnings": warnings });
        out::print_line(&whole.to_string());
    }

    /// Prints how the settings of this machine are kept out of git.
    fn print_git_exclusion(&self, exclusion: &GitExclusion) {
        let verb = |done: &'static str, planned: &'static str| if self.dry_run { planned } else { done };
        match exclusion {
            GitExclusion::Unchanged => {}
            GitExclusion::Added(path) => {
                out::print_message(&format!("{}  {}", verb("excluded", "would exclude"), path.display()));
            }
            GitExclusion::Removed(path) => {
                out::print_message(&format!("{}  {}", verb("restored", "would restore"), path.display()));
            }
            GitExclusion::Tracked => out::print_note(
                "warning: git tracks Claude's settings of this machine; remove them from the repository with \
                 `git rm --cached .claude/settings.local.json`",
            ),
        }
    }

    fn print_report(&self, installed: &InstallReport) {
        let reports = installed.changes.file_reports();
        for report in &reports {
            let path = report.path.display();
            if self.dry_run {
                out::print_message(&format!("{:<13}  {path}", report.outcome.planned_name()));
                print_diff(report);
            } else {
                out::print_message(&format!("{:<8}  {path}", report.outcome.name()));
            }
        }
        self.print_git_exclusion(&installed.git_exclusion);
        if reports.iter().any(|report| report.outcome == FileOutcome::NotOurs) {
            out::print_message("\nFiles that ralph did not write, or that were edited since, stay unchanged.");
        }
        if reports.is_empty() {
            out::print_message("ralph is not installed here");
        }
        if self.dry_run {
            out::print_message("\nNothing was changed (--dry-run).");
        }
        if let Some(advice) = &installed.advice {
            out::print_message(&format!("\nNote: {advice}."));
        }
        let warnings = installed.warnings.iter().map(hints::for_install_warning);
        warnings.for_each(|warning| out::print_message(&format!("\nWarning: {warning}.")));
    }
}

/// Prints the removed and the added lines.
fn print_diff(report: &FileReport) {
    let lines = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.lines()).map(str::to_owned).collect()
    };
    let (before, after) = (lines(&report.before), lines(&report.after));
    let same = before.iter().zip(&after).take_while(|(old, new)| old == new).count();
    let rest = before.len().min(after.len()) - same;
    let end = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let between = |lines: &[String]| lines.get(same..lines.len() - end).unwrap_or_default().to_vec();
    between(&before).iter().for_each(|line| out::print_message(&format!("    - {line}")));
    between(&after).iter().for_each(|line| out::print_message(&format!("    + {line}")));
}
