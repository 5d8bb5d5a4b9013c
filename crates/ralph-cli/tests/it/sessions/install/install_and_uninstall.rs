//! Install and uninstall for every host and both scopes.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use ralph_util::digest::sha256_hex;
use serde_json::{Value, json};

use super::{HOSTS, SETTINGS, call, project_with_settings, read, snapshot_files, write};
use crate::harness::Project;

// spec: H2
#[test]
fn every_host_gets_its_hooks_and_commands_and_uninstall_removes_them_completely() {
    for project in [Project::new(), project_with_settings()] {
        for host in HOSTS {
            for scope in ["--user", "--project"] {
                let before = snapshot_files(&project);
                call(&project, "install", host, scope).output().expect(0);
                let after = snapshot_files(&project);
                assert_ne!(before, after, "{host} {scope}");
                for (path, (mode, bytes)) in before.iter().filter(|(path, _)| !path.ends_with(".local")) {
                    let kept = &after[path];
                    assert!(kept.1.len() >= bytes.len() && kept.0 == *mode, "{} lost something", path.display());
                }
                let again = call(&project, "install", host, scope).output().expect(0);
                assert!(again.stdout.lines().all(|line| !line.starts_with("wrote") && !line.starts_with("changed")));
                assert_eq!(snapshot_files(&project), after, "{host} {scope}: a second time changes nothing");
                call(&project, "uninstall", host, scope).output().expect(0);
                assert_eq!(snapshot_files(&project), before, "{host} {scope}");
                let none = call(&project, "uninstall", host, scope).output().expect(0);
                assert_eq!(none.stdout, "ralph is not installed here\n");
            }
        }
    }
}

// spec: H2
#[test]
fn all_hosts_can_be_installed_and_uninstalled_in_any_order() {
    let project = project_with_settings();
    let before = snapshot_files(&project);
    HOSTS.iter().for_each(|host| drop(project.ralph(["install", host]).output().expect(0)));
    HOSTS.iter().rev().for_each(|host| drop(call(&project, "install", host, "--project").output().expect(0)));
    for scope in ["--user", "--project"] {
        HOSTS.iter().for_each(|host| drop(call(&project, "uninstall", host, scope).output().expect(0)));
    }
    assert_eq!(snapshot_files(&project), before);
}

fn shown(project: &Project, text: &str) -> String {
    let own = fs::canonicalize(env!("CARGO_BIN_EXE_ralph")).unwrap();
    let folder = fs::canonicalize(project.outside("")).unwrap();
    let text = text.replace(own.to_str().unwrap(), "/bin/ralph").replace(folder.to_str().unwrap(), "/TEMP");
    text.replace(project.outside("").to_str().unwrap().trim_end_matches('/'), "/TEMP")
}

// spec: H2
#[test]
fn written_files_are_shown_and_match_the_snapshots() {
    let project = project_with_settings();
    let call = project.ralph(["install", "claude"]).output().expect(0);
    insta::assert_snapshot!("install_claude_says", shown(&project, &call.stdout));
    insta::assert_snapshot!("install_claude_settings", shown(&project, &read(&project, "home/.claude/settings.json")));
    insta::assert_snapshot!(
        "install_claude_command",
        shown(&project, &read(&project, "home/.claude/commands/ralph.md"))
    );
    for (host, name) in [
        ("codex", ".codex/skills/ralph-tasks/SKILL.md"),
        ("gemini", ".gemini/commands/cancel-ralph.toml"),
        ("qwen", ".qwen/commands/ralph-status.md"),
        ("copilot", ".copilot/hooks/ralph.json"),
    ] {
        project.ralph(["install", host]).output().expect(0);
        let text = shown(&project, &read(&project, &format!("home/{name}")));
        insta::assert_snapshot!(format!("install_{host}_file"), text);
    }
    let call = project.ralph(["install", "codex"]).output().expect(0).stdout;
    assert!(call.contains("Codex runs hooks only after you have trusted them"), "{call}");
}

// finding: N37
// spec: H2
#[test]
fn a_dry_run_says_what_it_would_change_and_changes_nothing() {
    let project = project_with_settings();
    let before = snapshot_files(&project);
    let printed = project.ralph(["install", "qwen", "--dry-run"]).output().expect(0).stdout;
    assert!(printed.contains("would change   ") && printed.contains("would write    "), "{printed}");
    assert!(
        !printed.contains("\nwrote ") && printed.contains("    + ") && !printed.contains("keep-me-private"),
        "{printed}"
    );
    assert!(printed.contains("Nothing was changed"), "{printed}");
    assert_eq!(snapshot_files(&project), before);
    assert!(!project.home().join(".local").exists());
}

// spec: H2
#[test]
fn the_json_output_is_one_object() {
    let project = Project::new();
    let answer = project.ralph(["install", "gemini", "--json"]).output().expect(0).json();
    let folder = project.home().join(".gemini");
    assert_eq!(
        (&answer["host"], &answer["scope"], &answer["folder"]),
        (&json!("gemini"), &json!("user"), &json!(folder))
    );
    assert_eq!((answer["files"].as_array().unwrap().len(), &answer["advice"]), (5, &Value::Null));
    assert!(answer["files"].as_array().unwrap().iter().all(|file| file["done"] == "wrote"), "{answer}");
    let answer = project.ralph(["uninstall", "gemini", "--json"]).output().expect(0).json();
    assert!(answer["files"].as_array().unwrap().iter().all(|file| file["done"] == "removed"), "{answer}");
    assert!(!folder.exists());
}

// spec: H2
#[test]
fn from_edited_settings_only_our_hooks_are_removed_and_edited_commands_stay() {
    let project = project_with_settings();
    project.ralph(["install", "claude"]).output().expect(0);
    let edited = read(&project, "home/.claude/settings.json").replace("say done", "say it is done");
    write(&project, "home/.claude/settings.json", &format!("{edited}// the end\n"));
    write(&project, "home/.claude/commands/ralph.md", "my own words\n");
    let printed = project.ralph(["uninstall", "claude"]).output().expect(0).stdout;
    assert!(printed.contains("not ours  ") && printed.contains("commands/ralph.md"), "{printed}");
    let left = format!("{}// the end\n", SETTINGS.replace("say done", "say it is done"));
    assert_eq!(read(&project, "home/.claude/settings.json"), left);
    assert_eq!(read(&project, "home/.claude/commands/ralph.md"), "my own words\n");
    assert!(!project.home().join(".claude/commands/cancel-ralph.md").exists());
}

// spec: H2
#[test]
fn without_an_install_record_our_hooks_are_recognised() {
    for (text, left) in [
        ("{\n  \"model\": \"x\"\n}\n", "{\n  \"model\": \"x\",\n  \"hooks\": {\n  }\n}\n"),
        // An object without hooks may be the user's own.
        ("{\n  \"hooks\": {}\n}\n", "{\n  \"hooks\": {\n  }\n}\n"),
        ("{ \"hooks\": { \"Stop\": [{}] } }", "{ \"hooks\": { \"Stop\": [{}] } }"),
    ] {
        let project = Project::new();
        write(&project, "home/.claude/settings.json", left);
        let before = snapshot_files(&project);
        write(&project, "home/.claude/settings.json", text);
        project.ralph(["install", "claude"]).output().expect(0);
        fs::remove_dir_all(project.home().join(".local")).unwrap();
        project.ralph(["uninstall", "claude"]).output().expect(0);
        fs::remove_dir(project.home().join(".claude/commands")).unwrap();
        assert_eq!(read(&project, "home/.claude/settings.json"), left);
        assert_eq!(snapshot_files(&project), before);
    }
}

// spec: H2
#[test]
fn settings_with_only_a_comment_get_hooks_and_are_restored() {
    for text in ["// nothing", "// nothing\r", "", "\n// a\n/* b */"] {
        let project = Project::new();
        write(&project, "home/.claude/settings.json", text);
        let before = snapshot_files(&project);
        project.ralph(["install", "claude"]).output().expect(0);
        let settings = read(&project, "home/.claude/settings.json");
        assert_eq!(settings.matches(" hook claude").count(), 3, "{settings}");
        let again = project.ralph(["install", "claude"]).output().expect(0).stdout;
        assert!(!again.contains("changed"), "{again}");
        project.ralph(["uninstall", "claude"]).output().expect(0);
        assert_eq!(snapshot_files(&project), before, "{text:?}");
    }
}

// spec: H2
#[test]
fn links_and_file_modes_are_preserved() {
    let project = Project::new();
    write(&project, "home/dotfiles/claude.json", SETTINGS);
    let real = project.home().join("dotfiles/claude.json");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(project.home().join(".claude")).unwrap();
    fs::create_dir(project.home().join("dotfiles/commands")).unwrap();
    symlink("../dotfiles/claude.json", project.home().join(".claude/settings.json")).unwrap();
    symlink("../dotfiles/commands", project.home().join(".claude/commands")).unwrap();
    let before = snapshot_files(&project);
    project.ralph(["install", "claude"]).output().expect(0);
    assert!(project.home().join(".claude/settings.json").is_symlink());
    assert!(project.home().join("dotfiles/commands/ralph.md").is_file());
    assert!(fs::read_to_string(&real).unwrap().contains(" hook claude"));
    assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    project.ralph(["uninstall", "claude"]).output().expect(0);
    assert_eq!(snapshot_files(&project), before);
}

// spec: H2
#[test]
fn the_install_record_is_private_and_contains_no_user_settings() {
    let project = project_with_settings();
    project.ralph(["install", "claude"]).output().expect(0);
    let folder = project.home().join(".local/state/ralph/installed");
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
        assert!(!fs::read_to_string(&path).unwrap().contains("keep-me-private"), "{}", path.display());
    }
}

// spec: H2
#[test]
fn a_moved_ralph_replaces_the_hooks_of_the_old_path_and_doctor_reports_them() {
    let project = project_with_settings();
    let before = snapshot_files(&project);
    let moved = project.outside("elsewhere's/ralph");
    fs::create_dir(moved.parent().unwrap()).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_ralph"), &moved).unwrap();
    let old = |verb: &str| {
        let done = std::process::Command::new(&moved)
            .args([verb, "claude"])
            .env_clear()
            .env("HOME", project.home())
            .current_dir("/")
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    old("install");
    assert!(read(&project, "home/.claude/settings.json").contains("elsewhere'\\\\''s/ralph' hook claude"));
    let findings = |project: &Project| {
        let found = project.ralph(["doctor", "claude", "--json"]).output().json();
        let findings = found["agents"][0]["findings"].as_array().unwrap().clone();
        findings.into_iter().filter(|finding| finding["name"] == "hooks").collect::<Vec<Value>>()
    };
    assert_eq!(findings(&project)[0]["hint"], "update them with `ralph install claude --user`");
    project.ralph(["install", "claude"]).output().expect(0);
    let settings = read(&project, "home/.claude/settings.json");
    assert!(!settings.contains("elsewhere"), "{settings}");
    assert_eq!(settings.matches(" hook claude").count(), 3, "{settings}");
    assert_eq!(findings(&project)[0]["status"], "good");
    old("uninstall");
    assert_eq!(snapshot_files(&project), before);
    assert!(findings(&project).is_empty());
}

// spec: H2
#[test]
fn install_never_makes_codex_trust_unreviewed_hooks() {
    let project = Project::new();
    write(&project, "home/.codex/config.toml", "model = \"x\" # mine\n");
    project.ralph(["install", "codex"]).output().expect(0);
    assert_eq!(read(&project, "home/.codex/config.toml"), "model = \"x\" # mine\n");
    call(&project, "install", "codex", "--project").output().expect(0);
    let doctor = |project: &Project| project.ralph(["doctor", "codex", "--json"]).output().stdout;
    assert_eq!(doctor(&project).matches("does not trust them yet (UserPromptSubmit, Stop)").count(), 2);
    let (user, shared) = (project.home().join(".codex/hooks.json"), project.root().join(".codex/hooks.json"));
    let stop = trusted(&user, "Stop", "stop");
    write(&project, "home/.codex/config.toml", &stop);
    assert!(doctor(&project).contains("user scope: Codex does not trust them yet (UserPromptSubmit)"));
    let prompt = trusted(&user, "UserPromptSubmit", "user_prompt_submit");
    write(&project, "home/.codex/config.toml", &format!("{stop}{prompt}"));
    assert!(doctor(&project).contains("user scope: up to date"));
    let all = format!("{stop}{prompt}{}", trusted(&shared, "Stop", "stop"));
    let all = format!("{all}{}", trusted(&shared, "UserPromptSubmit", "user_prompt_submit"));
    write(&project, "home/.codex/config.toml", &all);
    assert!(doctor(&project).contains("project scope: up to date"));
    write(&project, "home/.codex/config.toml", &all.replace("sha256:", "sha256:0"));
    assert_eq!(doctor(&project).matches("changed since (UserPromptSubmit, Stop)").count(), 2);
}

/// The settings that Codex writes when the user trusts the hook of an event.
fn trusted(file: &Path, event: &str, name: &str) -> String {
    let settings: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let hook = &settings["hooks"][event][0]["hooks"][0];
    let command = &hook["command"];
    let text = format!(
        r#"{{"event_name":"{name}","hooks":[{{"async":false,"command":{command},"timeout":600,"type":"command"}}]}}"#
    );
    let hash = sha256_hex(text);
    format!("[hooks.state.\"{}:{name}:0:0\"]\ntrusted_hash = \"sha256:{hash}\"\n", file.display())
}

// spec: H2
#[test]
fn disabled_claude_hooks_are_reported() {
    let project = Project::new();
    let answer = |more: &[&str]| {
        let reply = project.ralph(["install", "claude", "--json"]).args(more).output().expect(0).json();
        reply["warnings"].to_string()
    };
    let doctor = || project.ralph(["doctor", "claude", "--json"]).output().stdout;
    let user = "home/.claude/settings.json";
    write(&project, user, "{ \"disableAllHooks\": true } // for now\n");
    assert!(
        answer(&[]).contains(".claude/settings.json sets")
            && answer(&["--project", "--dry-run"]).contains("disableAllHooks")
    );
    assert!(doctor().contains("Claude runs no hooks"));
    write(&project, "project/.claude/settings.json", "{ \"disableAllHooks\": false }");
    assert_eq!(answer(&["--dry-run"]), "[]", "the nearest counts");
    write(&project, "project/.claude/settings.local.json", "{ \"disableAllHooks\": true }");
    assert!(answer(&["--dry-run"]).contains("settings.local.json sets"));
    write(&project, "project/.claude/settings.local.json", "{}");
    write(&project, user, "{ \"disableAllHooks\": false }");
    write(&project, "project/.claude/settings.json", "{ \"disableAllHooks\": true }");
    assert!(answer(&["--dry-run"]).contains("project/.claude/settings.json sets"));
    write(&project, "project/.claude/settings.json", "{}");
    assert_eq!(answer(&["--dry-run"]), "[]");
}

// spec: H2
#[test]
fn claude_can_use_the_plugin() {
    let project = Project::new();
    let folder = project.outside("plugin").display().to_string();
    let printed = project.ralph(["install", "claude", "--plugin", &folder]).output().expect(0).stdout;
    assert!(printed.contains("claude --plugin-dir"), "{printed}");
    let hooks: Value = serde_json::from_str(&read(&project, "plugin/hooks/hooks.json")).unwrap();
    assert!(hooks["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap().ends_with(" hook claude"));
    assert_eq!(
        serde_json::from_str::<Value>(&read(&project, "plugin/.claude-plugin/plugin.json")).unwrap()["name"],
        "ralph"
    );
    assert!(project.outside("plugin/commands/ralph-tasks.md").is_file());
    project.ralph(["uninstall", "claude", "--plugin", &folder]).output().expect(0);
    assert!(!project.outside("plugin").exists());
    project.ralph(["install", "codex", "--plugin", &folder]).output().expect(64);
}

// spec: H2
#[test]
fn folders_from_environment_variables_are_used() {
    let project = Project::new();
    let at = |name: &str| project.outside(name);
    for (host, variable, file) in [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("qwen", "QWEN_HOME", "settings.json"),
        ("copilot", "COPILOT_HOME", "hooks/ralph.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugin/ralph.js"),
    ] {
        project.ralph(["install", host]).env(variable, at(host)).output().expect(0);
        assert!(at(host).join(file).is_file(), "{host}");
        project.ralph(["uninstall", host]).env(variable, at(host)).output().expect(0);
        assert!(!at(host).exists(), "{host}");
    }
}
