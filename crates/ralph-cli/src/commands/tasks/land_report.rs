//! Formats the result of a landing as text and as JSON.
use std::fmt::Write;
use std::time::Duration;

use ralph_app::landing::{LandReport, LandingPreview};
use ralph_core::evidence::CheckEvidence;
use ralph_core::receipt::Proof;
use ralph_engine::worktree::{PreparedLanding, WorktreeRemoval};
use ralph_util::duration;
use ralph_util::sanitize::sanitize_text;
use serde_json::{Value, json};

pub fn report_text(report: &LandReport) -> String {
    let PreparedLanding { task_id, target, merged, .. } = &report.landing;
    let mut text = String::new();
    for check in &report.evidence.checks {
        write_check(report, &mut text, check);
    }
    let branch = target.short_branch_name();
    if !report.is_landed {
        let _ = writeln!(text, "{task_id} is not landed: the checks fail on the merge into {branch}");
    } else if report.landing.is_already_landed() {
        let _ = writeln!(text, "{task_id} is already on {branch}");
    } else {
        let short = merged.get(..12).unwrap_or(merged);
        let proof = report.proof.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
        let _ = writeln!(text, "{task_id} is landed on {branch}: {short}{proof}");
        if report.evidence.checks.is_empty() {
            let _ = writeln!(text, "unverified: the task has no check that can be repeated");
        }
    }
    for decision in &report.accepted_by {
        let _ = writeln!(text, "accepted {}", decision.describe());
    }
    if let WorktreeRemoval::Kept(reason) = &report.removal {
        let _ = writeln!(text, "its work tree stays: {reason}");
    }
    sanitize_text(&text)
}

pub fn preview_json(preview: &LandingPreview) -> Value {
    let PreparedLanding { task_id, target, accepted, merged } = &preview.landing;
    json!({
        "task": task_id,
        "landed": false,
        "dry_run": true,
        "branch": target.short_branch_name(),
        "commit": merged,
        "work": accepted,
        "already_landed": preview.landing.is_already_landed(),
        "proof": preview.proof.as_deref().and_then(Proof::level_of_word),
        "diff_stat": preview.diff_stat,
        "checks": preview.checks,
    })
}

pub fn preview_text(preview: &LandingPreview) -> String {
    let PreparedLanding { task_id, target, .. } = &preview.landing;
    let branch = target.short_branch_name();
    if preview.landing.is_already_landed() {
        return sanitize_text(&format!("{task_id} is already on {branch}\n"));
    }
    let proof = preview.proof.as_ref().map(|proof| format!(" ({proof})")).unwrap_or_default();
    let mut text = format!("{task_id} would be landed on {branch}{proof}\n{}", preview.diff_stat);
    match preview.checks.as_slice() {
        [] => text.push_str("unverified: the task has no check that can be repeated\n"),
        checks => checks.iter().for_each(|check| {
            let _ = writeln!(text, "would run {check}");
        }),
    }
    sanitize_text(&text)
}

fn write_check(report: &LandReport, text: &mut String, check: &CheckEvidence) {
    let took = duration::format_rounded(Duration::from_millis(check.duration_ms));
    let _ = writeln!(text, "{:<9} `{}`: {} ({took})", check.verdict.as_str(), check.command, check.reason);
    if !check.log.is_empty() {
        let _ = writeln!(text, "{:<9} {}", "", report.log_folder.join(&check.log).display());
    }
    check.stages.iter().for_each(|stage| write_check(report, text, stage));
}
