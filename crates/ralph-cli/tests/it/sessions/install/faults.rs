//! A failed install changes nothing: bad settings, foreign files, full disks, a kill at any point.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::{MERGED, SETTINGS, project_with_settings, read, snapshot_files, write};
use crate::harness::Project;

/// Asserts that installing is refused with this message and changes nothing.
#[track_caller]
fn refused(project: &Project, host: &str, words: &[&str]) {
    let before = snapshot_files(project);
    let answer = project.ralph(["install", host]).output().expect(1);
    for word in words {
        assert!(answer.stderr.contains(word), "{word:?} is not in\n{}", answer.stderr);
    }
    assert_eq!(snapshot_files(project), before);
    assert!(!project.home().join(".local/state/ralph/installed").exists(), "{}", answer.stderr);
}

// spec: H2
#[test]
fn settings_that_are_not_understood_are_refused_with_line_and_column_and_nothing_is_written() {
    for (text, place) in [
        ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column 9: expected comma"),
        ("{\n  \"hooks\": []\n}", "line 2, column 12: \"hooks\" is not an object"),
        ("not json", "line 1, column 1: unexpected word"),
    ] {
        let project = Project::new();
        write(&project, "home/.claude/settings.json", text);
        refused(&project, "claude", &["settings.json is malformed", place, "nothing was changed"]);
    }
}

// spec: H2
#[test]
fn files_of_others_in_the_way_are_refused_and_nothing_is_written() {
    let project = project_with_settings();
    write(&project, "home/.claude/commands/cancel-ralph.md", "another file\n");
    refused(&project, "claude", &["cancel-ralph.md already exists and was not written by ralph", "move "]);

    let project = Project::new();
    fs::create_dir_all(project.home().join(".qwen/settings.json")).unwrap();
    refused(&project, "qwen", &["settings.json is not a regular file"]);

    let project = Project::new();
    fs::create_dir(project.home().join(".gemini")).unwrap();
    symlink("/nowhere/at/all", project.home().join(".gemini/settings.json")).unwrap();
    refused(&project, "gemini", &["is a broken symbolic link"]);

    let project = Project::new();
    fs::create_dir(project.home().join(".codex")).unwrap();
    fs::write(project.home().join(".codex/hooks.json"), b"{\"a\": \"\xff\"}").unwrap();
    refused(&project, "codex", &["hooks.json is not valid UTF-8"]);

    let project = project_with_settings();
    let settings = project.home().join(".qwen/settings.json");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    refused(&project, "qwen", &["settings.json is read-only"]);
}

// spec: H2
#[test]
fn an_invalid_call_is_explained() {
    let project = Project::new();
    let answer = project.ralph(["install", "cluade"]).output().expect(64);
    assert!(answer.stderr.contains("did you mean claude?"), "{}", answer.stderr);
    project.ralph(["install", "claude", "--user", "--project"]).output().expect(64);
    project.ralph(["install", "claude", "--project"]).folder(&project.home()).output().expect(1);
    let homeless = project
        .ralph(["install", "claude"])
        .with(|command| {
            command.env_remove("HOME");
        })
        .output();
    assert!(homeless.expect(1).stderr.contains("HOME is not set"));
}

// spec: H2
#[test]
fn an_unreadable_install_record_is_refused() {
    let project = project_with_settings();
    project.ralph(["install", "qwen"]).output().expect(0);
    let folder = project.home().join(".local/state/ralph/installed");
    let record = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let record = record.into_iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let before = snapshot_files(&project);
    for (text, words) in [("{", "is not a valid install record"), ("{\"version\": 99}", "by a newer version of ralph")]
    {
        fs::write(&record, text).unwrap();
        let answer = project.ralph(["uninstall", "qwen"]).output().expect(1);
        assert!(answer.stderr.contains(words), "{}", answer.stderr);
        assert_eq!(snapshot_files(&project), before);
    }
}

/// The system calls that change files. Which of a kind is used depends on the system.
const WRITES: &[&str] = &["rename,renameat,renameat2", "unlink,unlinkat", "fsync", "mkdir,mkdirat", "rmdir", "write"];

/// The system calls between which the stored state changes.
const STEPS: &[&str] = &["rename,renameat,renameat2", "unlink,unlinkat", "rmdir"];

/// Calls ralph repeatedly, each time with a fault at the next of these system calls, until all were hit.
fn sweep(verb: &str, fault: &str, mut look: impl FnMut(&Project, &str, i32)) {
    let kinds = if fault == KILL { STEPS } else { WRITES };
    kinds.iter().for_each(|kind| sweep_kind(kind, verb, fault, &mut look));
}

const KILL: &str = "signal=SIGKILL";

fn sweep_kind(kind: &str, verb: &str, fault: &str, look: &mut impl FnMut(&Project, &str, i32)) {
    let project = project_with_settings();
    for number in 1.. {
        fs::remove_dir_all(project.home()).unwrap();
        MERGED.iter().for_each(|name| write(&project, name, SETTINGS));
        if verb == "uninstall" {
            project.ralph(["install", "claude"]).output().expect(0);
        }
        let log = project.outside("strace").display().to_string();
        let inject = format!("inject={kind}:{fault}:when={number}");
        let trace = format!("trace={kind}");
        let strace = ["-f", "-qq", "-o", &log, "-e", &trace, "-e", &inject];
        let answer = project.ralph([verb, "claude"]).run_under_strace(strace).output_with_damaged_state();
        let calls = fs::read_to_string(&log).unwrap();
        let is_over = calls.lines().filter(|line| line.contains('(')).count() < number;
        look(&project, &format!("{verb} {fault} {number}:\n{calls}{}", answer.stderr), answer.code());
        if is_over {
            assert_eq!(answer.code(), 0, "{}", answer.stderr);
            return;
        }
    }
}

/// Asserts that nothing of ralph is installed.
fn assert_not_installed(project: &Project, printed: &str) {
    let files = snapshot_files(project);
    let is_new = |path: &&PathBuf| path.is_file() && !MERGED.iter().any(|name| project.outside(name) == **path);
    assert_eq!(files.keys().filter(is_new).collect::<Vec<_>>(), Vec::<&PathBuf>::new(), "{printed}");
    assert!(!project.home().join(".claude/commands").exists(), "{printed}");
    MERGED.iter().for_each(|name| assert_eq!(read(project, name), SETTINGS, "{printed}"));
}

/// Asserts that everything is installed, or nothing.
fn assert_complete_or_absent(project: &Project, printed: &str) {
    if read(project, "home/.claude/settings.json") == SETTINGS {
        return assert_not_installed(project, printed);
    }
    let message = project.ralph(["install", "claude", "--dry-run"]).output().expect(0).stdout;
    let files: Vec<&str> = message.lines().filter(|line| line.contains("/.claude/")).collect();
    assert!(files.len() == 5 && files.iter().all(|line| line.starts_with("would keep ")), "{printed}\n{message}");
}

// spec: H2
// fault: 56
#[test]
fn a_failed_write_installs_everything_or_nothing() {
    sweep("install", "error=ENOSPC", |project, printed, _| assert_complete_or_absent(project, printed));
}

// spec: H2
// fault: 56
#[test]
fn files_that_could_not_be_removed_are_reported_and_removed_the_next_time() {
    sweep("uninstall", "error=ENOSPC", |project, printed, code| {
        if code == 0 {
            return assert_not_installed(project, printed);
        }
        assert!(printed.contains("error: "), "{printed}");
        project.ralph(["uninstall", "claude"]).output().expect(0);
        assert_not_installed(project, printed);
    });
}

// spec: H2
// fault: 62
#[test]
fn a_project_s_links_that_lead_out_of_it_are_not_followed() {
    let project = Project::new();
    fs::create_dir(project.outside("elsewhere")).unwrap();
    symlink(project.outside("elsewhere"), project.root().join(".claude")).unwrap();
    let answer = project.ralph(["install", "claude", "--project"]).output().expect(1);
    assert!(answer.stderr.contains("resolves to a path outside the project"), "{}", answer.stderr);
    assert_eq!(fs::read_dir(project.outside("elsewhere")).unwrap().count(), 0);
}

// spec: H2
#[test]
fn after_a_kill_at_any_point_installing_again_completes_it() {
    sweep("install", KILL, |project, printed, _| {
        let settings = read(project, "home/.claude/settings.json");
        assert!(settings == SETTINGS || settings.matches(" hook claude").count() == 3, "{printed}\n{settings}");
        project.ralph(["install", "claude"]).output().expect(0);
        assert_complete_or_absent(project, printed);
        project.ralph(["uninstall", "claude"]).output().expect(0);
        assert_not_installed(project, printed);
    });
}

// spec: H2
#[test]
fn after_a_kill_at_any_point_uninstalling_again_removes_everything() {
    sweep("uninstall", KILL, |project, printed, _| {
        project.ralph(["uninstall", "claude"]).output().expect(0);
        assert_not_installed(project, printed);
    });
}
