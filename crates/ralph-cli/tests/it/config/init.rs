//! `ralph init`: detects the project, writes missing files, and leaves classic mode ready to run.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::harness::Project;

/// A PATH with only these programs, git and basic shell tools.
fn path_with_programs(project: &Project, programs: &[&str]) -> String {
    let folder = project.outside("bin");
    fs::create_dir_all(&folder).unwrap();
    for program in programs {
        let path = folder.join(program);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let git = folder.join("git");
    if !git.exists() {
        let path = std::env::var_os("PATH").unwrap();
        let own = std::env::split_paths(&path).map(|at| at.join("git")).find(|at| at.is_file()).unwrap();
        std::os::unix::fs::symlink(own, git).unwrap();
    }
    folder.display().to_string()
}

// spec: U2
#[test]
fn init_uses_detected_values_and_its_files_match_the_snapshots() {
    let project = Project::new();
    project.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let path = path_with_programs(&project, &["claude", "cargo"]);
    let answer = project.ralph(["init"]).env("PATH", path).output().expect(0);
    assert_snapshot!("init_says", answer.stdout);
    for name in ["config.yaml", "prompts/plan.md", "prompts/build.md", ".gitignore"] {
        let text = fs::read_to_string(project.root().join(".ralph").join(name)).unwrap();
        assert_snapshot!(format!("init_writes_{}", name.replace(['/', '.'], "_")), text);
    }
    let workflow = fs::read_to_string(project.root().join(".ralph/workflows/example.yaml")).unwrap();
    assert!(workflow.contains("      checks:\n        - git diff --check\n        - cargo test\n"), "{workflow}");
    assert!(project.root().join("specs/README.md").is_file());
    project.ralph(["config", "show"]).output().expect(0);
}

// spec: U2, X6
#[test]
fn init_trusts_only_its_own_output() {
    let project = Project::new();
    project.write("Makefile", "test:\n\ttrue\n");
    let path = path_with_programs(&project, &["make"]);
    project.ralph(["init"]).env("PATH", path).output().expect(0);
    assert!(project.ralph(["trust", "--show"]).output().expect(0).stdout.ends_with("\napproved\n"));

    let foreign = Project::new();
    fs::create_dir(foreign.root().join(".ralph")).unwrap();
    foreign.write(".ralph/config.yaml", "checks: [touch pwned]\n");
    let answer = foreign.ralph(["init"]).output().expect(0);
    assert!(answer.stdout.contains("kept   .ralph/config.yaml"), "{}", answer.stdout);
    assert!(foreign.ralph(["trust", "--show"]).output().expect(0).stdout.ends_with("\nnot approved\n"));
}

// spec: U2
#[test]
fn a_second_init_changes_nothing_and_a_classic_file_stays_the_only_configuration() {
    let project = Project::new();
    project.ralph(["init"]).output().expect(0);
    let prompt = project.write(".ralph/prompts/build.md", "my own words\n");
    let config = fs::read_to_string(project.root().join(".ralph/config.yaml")).unwrap();
    let answer = project.ralph(["init", "--agent", "text"]).output().expect(0);
    assert!(!answer.stdout.contains("wrote"), "{}", answer.stdout);
    assert_eq!(fs::read_to_string(prompt).unwrap(), "my own words\n");
    assert_eq!(fs::read_to_string(project.root().join(".ralph/config.yaml")).unwrap(), config);

    let classic = Project::new();
    fs::create_dir(classic.root().join(".ralph")).unwrap();
    classic.write(".ralph/config", "AGENT_TYPE=demo\n");
    let answer = classic.ralph(["init"]).output().expect(0);
    assert!(answer.stdout.contains("kept   .ralph/config\n"), "{}", answer.stdout);
    assert!(!classic.root().join(".ralph/config.yaml").exists());
}

// spec: U2, A9, C1
#[test]
fn plan_and_build_work_with_the_demo_agent_right_after_init() {
    let project = Project::new();
    let path = path_with_programs(&project, &[]);
    let git = |args: &[&str]| {
        let output = std::process::Command::new("git").args(args).current_dir(project.root()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let answer = project.ralph(["init"]).env("PATH", &path).output().expect(0);
    assert!(answer.stdout.contains("no agent was found on PATH"), "{}", answer.stdout);
    let build = project.ralph(["build"]).env("PATH", &path).output().expect(2);
    assert!(build.stderr.contains("Implementation plan not found. Run 'ralph plan' first."));
    let plan = project.ralph(["plan", "--json"]).env("PATH", &path).output().expect(0);
    assert_eq!((&plan.finished()["outcome"], &plan.finished()["iterations"]), (&"completed".into(), &2.into()));
    let build = project.ralph(["build", "--json"]).env("PATH", &path).output().expect(0);
    assert_eq!((&build.finished()["outcome"], &build.finished()["iterations"]), (&"completed".into(), &3.into()));
    let text = fs::read_to_string(project.root().join(".ralph/implementation_plan.md")).unwrap();
    assert!(text.matches("- [x]").count() == 3 && !text.contains("- [ ]"), "{text}");
    assert_eq!(git(&["log", "--format=%s"]).lines().count(), 4, "one commit for the plan, one for each task");
    assert_eq!(git(&["status", "--porcelain", "--", "DEMO.md", ".ralph/implementation_plan.md"]), "");
    assert!(!project.root().join(".ralph/state").exists(), "the state is not in the work tree");
}

// spec: U2
#[test]
fn the_example_workflow_validates_and_runs_with_the_demo_agent_right_after_init() {
    let project = Project::new();
    project.ralph(["init", "--agent", "demo"]).output().expect(0);
    let valid = project.ralph(["workflow", "validate", "example"]).output().expect(0);
    assert!(!valid.stdout.contains("note"), "{}", valid.stdout);
    project.commit();
    let dry = project.ralph(["workflow", "run", "example", "a page", "--dry-run"]).output().expect(0);
    assert!(dry.stdout.contains("completed  change"), "{}", dry.stdout);
    let output = project.ralph(["workflow", "run", "example", "a page"]).output().expect(0);
    assert!(output.stdout.contains("completed: all nodes have ended"), "{}", output.stdout);
    assert!(output.stdout.contains("?? DEMO.md"), "{}", output.stdout);
}

// spec: U2, X6
#[test]
fn init_does_not_approve_workflows_that_were_there() {
    let project = Project::new();
    fs::create_dir_all(project.root().join(".ralph/workflows")).unwrap();
    project.write(".ralph/workflows/w.yaml", "name: w\ndescription: d\nnodes:\n  - id: a\n    bash: touch pwned\n");
    project.ralph(["init", "--agent", "demo"]).output().expect(0);
    project.commit();
    let refused = project.ralph(["workflow", "run", "w", "--no-worktree"]).output().expect(1).stderr;
    assert!(refused.contains("you have not approved the workflows"), "{refused}");
    assert!(!project.root().join("pwned").exists());
}

// spec: U2
#[test]
fn init_outside_of_a_repository_or_in_a_read_only_folder_says_why() {
    let project = Project::new();
    let answer = project.ralph(["init"]).folder(&project.home()).output().expect(1);
    assert!(answer.stderr.contains("is not inside a git repository"), "{}", answer.stderr);
    project.write(".ralph", "a file\n");
    let answer = project.ralph(["init"]).output().expect(1);
    assert!(answer.stderr.contains("cannot write") && answer.stderr.contains(".ralph"), "{}", answer.stderr);
    let answer = project.ralph(["init", "--agent", "clade"]).output().expect(64);
    assert!(answer.stderr.contains("claude"), "{}", answer.stderr);
}

// spec: U2, X6
#[test]
fn without_a_folder_for_approvals_the_files_are_written_and_approval_is_the_next_step() {
    let project = Project::new();
    project.write("Makefile", "test:\n\ttrue\n");
    let without_state = |args: &[&str]| {
        let path = path_with_programs(&project, &["make"]);
        project.ralph(args).env("PATH", path).env("XDG_STATE_HOME", "/dev/null")
    };
    let answer = without_state(&["init"]).output().expect(1);
    assert!(answer.stderr.contains("/dev/null"), "{}", answer.stderr);
    assert!(answer.stderr.contains("approve their commands with `ralph trust`"), "{}", answer.stderr);
    assert!(answer.stdout.contains("wrote  .ralph/config.yaml"), "{}", answer.stdout);
    for again in [without_state(&["init"]), project.ralph(["init"])] {
        let answer = again.output().expect(0);
        assert!(answer.stdout.contains("\nNext\n  ralph trust "), "{}", answer.stdout);
    }
    project.ralph(["trust", "--yes"]).output().expect(0);
    assert!(!project.ralph(["init"]).output().expect(0).stdout.contains("ralph trust"));
}

// spec: U2, X6
#[test]
fn without_commands_to_approve_no_home_is_needed() {
    let project = Project::new();
    let path = path_with_programs(&project, &[]);
    let answer = project
        .ralph(["init"])
        .env("PATH", path)
        .with(|command| {
            command.env_remove("HOME");
        })
        .output()
        .expect(0);
    assert!(answer.stdout.contains("checks none found") && !answer.stdout.contains("ralph trust"));
}
