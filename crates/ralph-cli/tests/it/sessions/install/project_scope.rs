//! Project files are shared: they contain no path of this machine, and do nothing where ralph is not installed.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{HOSTS, SETTINGS, call, project_with_settings, read, snapshot_files, write};
use crate::harness::{CallOutput, Project};

/// The files with hooks that a project shares, and the event of a prompt in them.
const SHARED: &[(&str, &str, &str)] = &[
    ("codex", ".codex/hooks.json", "UserPromptSubmit"),
    ("gemini", ".gemini/settings.json", "BeforeAgent"),
    ("qwen", ".qwen/settings.json", "UserPromptSubmit"),
    ("copilot", ".github/hooks/ralph.json", "userPromptSubmitted"),
];

const OPENCODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/data/opencode_host.mjs");

fn own() -> PathBuf {
    fs::canonicalize(env!("CARGO_BIN_EXE_ralph")).unwrap()
}

fn on_path(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file()).unwrap()
}

/// A folder with only these programs.
fn bin(project: &Project, name: &str, ralph: Option<&Path>) -> PathBuf {
    let folder = project.outside(name);
    fs::create_dir(&folder).unwrap();
    for program in ["sh", "cat", "git"] {
        symlink(on_path(program), folder.join(program)).unwrap();
    }
    if let Some(ralph) = ralph {
        symlink(ralph, folder.join("ralph")).unwrap();
    }
    folder
}

/// Calls the hook command with an event that is larger than a pipe buffer.
fn call_hook(project: &Project, (folder, path): (&Path, &Path), (command, event): (&str, &str)) -> CallOutput {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]);
    let mut payload = json!({ "session_id": "s", "sessionId": "s", "cwd": folder, "hook_event_name": event,
        "prompt": "/ralph \"Do it\" --max-iterations 3" });
    payload["more"] = "x".repeat(300_000).into();
    let call = project.ralph([""]).replace_program(shell).folder(folder).env("PATH", path);
    call.input(payload.to_string()).output()
}

fn command_of(file: &str, event: &str) -> String {
    let settings: Value = serde_json::from_str(file).unwrap();
    let hook = &settings["hooks"][event][0];
    let command = [&hook["hooks"][0]["command"], &hook["bash"]].into_iter().find_map(Value::as_str);
    command.unwrap().to_owned()
}

// spec: H2
// fault: 115
#[test]
fn shared_project_files_contain_no_path_of_this_machine() {
    let project = Project::new();
    HOSTS.iter().for_each(|host| drop(call(&project, "install", host, "--project").output().expect(0)));
    let own = own();
    let places =
        [own.to_str().unwrap(), project.outside("").to_str().unwrap().trim_end_matches('/')].map(str::to_owned);
    let mut seen = 0;
    for (path, (_, bytes)) in snapshot_files(&project) {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let is_private = path.ends_with("settings.local.json");
        assert_eq!(places.iter().any(|place| text.contains(place)), is_private, "{}", path.display());
        seen += usize::from(text.contains("ralph"));
    }
    assert!(seen > 20, "{seen}");
}

// spec: H2
// fault: 115
#[test]
fn hooks_in_a_clone_work_with_ralph_and_are_silent_without_it() {
    let project = Project::new();
    let (bare, equipped) = (bin(&project, "bare", None), bin(&project, "equipped", Some(&own())));
    for (host, file, event) in SHARED {
        call(&project, "install", host, "--project").output().expect(0);
        let clone = project.outside(&format!("clone of {host}"));
        fs::create_dir_all(clone.join(file).parent().unwrap()).unwrap();
        fs::copy(project.root().join(file), clone.join(file)).unwrap();
        let command = command_of(&fs::read_to_string(clone.join(file)).unwrap(), event);
        let silent = call_hook(&project, (&clone, &bare), (&command, event)).expect(0);
        assert_eq!((silent.stdout.as_str(), silent.stderr.as_str()), ("", ""), "{host}");
        let answer = call_hook(&project, (&clone, &equipped), (&command, event)).expect(0);
        assert!(answer.stdout.contains("Ralph Loop Started: Max 3 iterations"), "{host}: {}", answer.stdout);
        let again = call(&project, "install", host, "--project").output().expect(0).stdout;
        assert!(again.lines().all(|line| !line.starts_with("changed")), "{again}");
    }
}

// spec: H2
#[test]
fn a_project_s_plugin_reports_a_missing_ralph_only_when_it_is_used() {
    let project = Project::new();
    call(&project, "install", "opencode", "--project").output().expect(0);
    let plugin = project.outside("plugin.mjs");
    fs::copy(project.root().join(".opencode/plugin/ralph.js"), &plugin).unwrap();
    let played = |path: &Path, steps: &Value| {
        let mut node = Command::new(on_path("node"));
        node.args([Path::new(OPENCODE), &plugin, &project.outside("ended")]);
        project.ralph([""]).replace_program(node).env("PATH", path).input(steps.to_string()).output().expect(0).json()
    };
    let idle = json!({ "messages": [], "prompts": 0, "isUnheard": true });
    let asked = json!({ "command": "ralph", "arguments": "'Do it' --max-iterations 3" });
    let bare = bin(&project, "bare", None);
    let done = played(&bare, &json!([idle]));
    assert_eq!(done, json!({ "prompts": [], "toasts": [], "notes": [], "parts": [] }));
    let done = played(&bare, &json!([asked]));
    assert!(done["parts"][0][0]["text"].as_str().unwrap().contains("it is not on the PATH"), "{done}");
    let done = played(&bin(&project, "equipped", Some(&own())), &json!([asked]));
    assert_eq!(done["toasts"][0]["title"], "Ralph Loop Started", "{done}");
}

// spec: H2
#[test]
fn project_hooks_with_a_path_are_updated_and_both_kinds_are_uninstalled() {
    for (host, file, _) in SHARED.iter().filter(|(host, ..)| *host != "copilot") {
        let project = project_with_settings();
        let name = format!("project/{file}");
        call(&project, "install", host, "--project").output().expect(0);
        let shared = read(&project, &name);
        let begin = "sh -c 'command -v ralph >/dev/null 2>&1 && exec ralph hook ";
        let by_path = shared.replace(begin, "/opt/bin/ralph hook ").replace("; cat >/dev/null 2>&1 || :'", "");
        assert!(by_path.contains(&format!("\"/opt/bin/ralph hook {host}\"")), "{by_path}");
        write(&project, &name, &by_path);
        call(&project, "install", host, "--project").output().expect(0);
        assert_eq!(read(&project, &name), shared, "{host}");
        let one = shared.replacen(begin, "/opt/bin/ralph hook ", 1).replacen("; cat >/dev/null 2>&1 || :'", "", 1);
        write(&project, &name, &one);
        fs::remove_dir_all(project.home().join(".local")).unwrap();
        call(&project, "uninstall", host, "--project").output().expect(0);
        assert_eq!(read(&project, &name), SETTINGS, "{host}");
    }
}

// spec: H2
#[test]
fn installing_for_user_and_project_is_reported() {
    let project = Project::new();
    let path = bin(&project, "equipped", Some(&own()));
    let installed = |host: &str, scope: &str| {
        let answer = call(&project, "install", host, scope).args(["--json"]).env("PATH", &path).output();
        answer.expect(0).json()["warnings"].to_string()
    };
    for host in HOSTS {
        assert_eq!(installed(host, "--project"), "[]", "{host}");
        let printed = installed(host, "--user");
        assert!(printed.contains("called twice") && printed.contains(&format!("uninstall {host} --user")), "{printed}");
        assert!(installed(host, "--project").contains("called twice"), "{host}");
        assert_eq!(findings(&project, host, &path).matches("called twice").count(), 2, "{host}");
        call(&project, "uninstall", host, "--user").output().expect(0);
        assert!(!findings(&project, host, &path).contains("called twice"), "{host}");
    }
}

/// The findings about hooks, each with its status.
fn findings(project: &Project, host: &str, path: &Path) -> String {
    let found = project.ralph(["doctor", host, "--json"]).env("PATH", path).output().json();
    let findings = found["agents"][0]["findings"].as_array().unwrap().clone();
    let of_hooks = findings.iter().filter(|finding| finding["name"] == "hooks");
    of_hooks.map(|finding| format!("{}: {}\n", finding["status"], finding["what"])).collect()
}

// spec: H2
#[test]
fn a_missing_or_different_ralph_on_the_path_is_reported() {
    let project = Project::new();
    let other = project.outside("other ralph");
    fs::copy(own(), &other).unwrap();
    let bare = bin(&project, "bare", None);
    let equipped = bin(&project, "equipped", Some(&own()));
    let elsewhere = bin(&project, "elsewhere", Some(&other));
    let installed = |host: &str, scope: &str, path: &Path| {
        let answer = call(&project, "install", host, scope).args(["--json"]).env("PATH", path).output();
        answer.expect(0).json()["warnings"].to_string()
    };
    for host in HOSTS {
        let is_told = *host != "claude";
        assert_eq!(installed(host, "--project", &bare).contains("not on your PATH"), is_told, "{host}");
        let printed = installed(host, "--project", &elsewhere);
        assert_eq!(
            printed.contains("elsewhere/ralph") && printed.contains("start that executable"),
            is_told,
            "{printed}"
        );
        assert_eq!(installed(host, "--project", &equipped), "[]", "{host}");
        let found = findings(&project, host, &equipped);
        assert_eq!(found.starts_with("\"good\""), *host != "codex", "the hooks of codex are not trusted: {found}");
        assert!(!found.contains("PATH"), "{found}");
        assert_eq!(findings(&project, host, &bare).contains("not on your PATH"), is_told, "{host}");
        call(&project, "uninstall", host, "--project").output().expect(0);
        assert_eq!(installed(host, "--user", &bare), "[]", "{host}");
        call(&project, "uninstall", host, "--user").output().expect(0);
    }
    let answer = call(&project, "install", "qwen", "--project").env("PATH", &bare).output().expect(0).stdout;
    assert!(answer.contains("\nWarning: `ralph` is not on your PATH"), "{answer}");
}

// finding: N70
#[test]
fn the_claude_settings_of_one_machine_are_kept_out_of_git() {
    let project = Project::new();
    let exclude_file = project.root().join(".git/info/exclude");
    let before = fs::read_to_string(&exclude_file).unwrap_or_default();
    let planned = project.ralph(["install", "claude", "--project", "--dry-run"]).output().expect(0);
    assert!(planned.stdout.contains("would exclude"), "{}", planned.stdout);
    assert_eq!(fs::read_to_string(&exclude_file).unwrap_or_default(), before);
    for _ in 0..2 {
        project.ralph(["install", "claude", "--project"]).output().expect(0);
    }
    let mut git = Command::new("git");
    git.args(["status", "--porcelain", "--untracked-files=all"]).current_dir(project.root());
    let status = String::from_utf8(git.output().unwrap().stdout).unwrap();
    assert!(!status.contains("settings.local.json"), "{status}");
    assert!(status.contains(".claude/commands/ralph.md"), "only that file is excluded: {status}");
    let excluded = fs::read_to_string(&exclude_file).unwrap();
    assert_eq!(excluded.matches("/.claude/settings.local.json").count(), 1, "{excluded}");
    project.ralph(["uninstall", "claude", "--project"]).output().expect(0);
    assert_eq!(fs::read_to_string(&exclude_file).unwrap_or_default(), before);
}
