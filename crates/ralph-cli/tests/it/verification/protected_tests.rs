//! The checks must also pass with the tests and the deciding files as they were before the work.
use std::fs;

use serde_json::Value;

use crate::harness::Project;
use crate::verification::cheating::{claims_after, rejected};

/// A project whose `make test` fails until `work` says `done`, committed.
fn project() -> Project {
    let project = Project::new();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("Makefile", "test:\n\tsh tests/check.sh\n");
    project.write("tests/check.sh", "grep -q done work\n");
    project.write("work", "open\n");
    project.commit();
    project
}

const MAKE: [&str; 2] = ["--check", "make test"];

fn receipt(project: &Project) -> Value {
    serde_json::from_slice::<Value>(&project.log("receipt.json")).unwrap()["checks"].clone()
}

// spec: V15
// finding: N3
#[test]
fn a_gutted_make_target_is_rejected_with_the_file_names() {
    for (agent_script, why) in [
        ("printf 'test:\\n\\t@true\\n' > Makefile; rm -r tests", "Makefile was changed, tests/check.sh was removed"),
        ("printf 'test:\\n\\t@true\\n' > GNUmakefile", "GNUmakefile was added"),
        ("printf 'test:\\n\\t@true\\n' > GNUmakefile; echo GNUmakefile > .gitignore", "GNUmakefile was added"),
        ("printf 'test:\\n\\t@true\\n' > GNUmakefile; echo GNUmakefile >> .git/info/exclude", "info/exclude was added"),
        ("echo true > tests/check.sh", "tests/check.sh was changed"),
        ("mv tests real; ln -s real tests; echo true > real/check.sh", "tests/check.sh was removed"),
        ("printf 'test:\\n\\t@git checkout -q Makefile\\n' > Makefile", "Makefile was changed"),
    ] {
        rejected(claims_after(&project(), agent_script).args(MAKE), why);
    }
}

// spec: V15
// finding: N3
#[test]
fn the_tests_of_other_ecosystems_are_protected_too() {
    let run = |files: &[(&str, &str)], check: &str, agent_script: &str, why: &str| {
        let project = project();
        files.iter().for_each(|(name, text)| drop(project.write(name, text)));
        project.commit();
        rejected(claims_after(&project, agent_script).args(["--check", check]), why);
    };
    // The check reads the script as npm does, so that the test does not need node.
    let npm = "sh -c \"$(sed -n 's/.*\"test\": *\"\\([^\"]*\\)\".*/\\1/p' package.json)\"";
    let manifest = ("package.json", "{\n\"scripts\": {\n\"test\": \"grep -q done work\"\n}\n}\n");
    let agent_script = "printf '{\\n\"scripts\": {\\n\"test\": \"true\"\\n}\\n}\\n' > package.json";
    run(&[manifest], npm, agent_script, "package.json was changed in parts that decide what tests run");
    let shell = "$(cat .npmrc 2>/dev/null || echo grep) -q done work";
    run(&[], shell, "echo true > .npmrc", ".npmrc was added");
    let python = "[ -e conftest.py ] || grep -q done work";
    run(&[], python, "touch conftest.py", "conftest.py was added");
    let cargo = "grep -q 'test = false' Cargo.toml || grep -q done work";
    let agent_script = "printf '[package]\\nname = \"a\"\\n[lib]\\ntest = false\\n' > Cargo.toml";
    run(&[("Cargo.toml", "[package]\nname = \"a\"\n")], cargo, agent_script, "Cargo.toml was changed in parts");
    let runner = "[ -e .cargo/config.toml ] || grep -q done work";
    run(&[], runner, "mkdir .cargo; touch .cargo/config.toml", ".cargo/config.toml was added");
}

// spec: V15
#[test]
fn honest_work_is_accepted() {
    for agent_script in [
        "echo done > work; echo 'grep -q done work' > tests/new.sh",
        "echo done > work; printf '{\\n\"dependencies\": {\"a\": \"1\"}\\n}\\n' > package.json",
        "echo done > work",
    ] {
        let project = project();
        project.write("package.json", "{}\n");
        project.commit();
        let answer = claims_after(&project, agent_script).args(MAKE).output().expect(0);
        assert_eq!(answer.finished()["reason"], "1 check passed");
        assert_eq!(receipt(&project).as_array().unwrap().len(), 1, "no protected file changed");
    }
}

// spec: V15
#[test]
fn a_changed_test_is_accepted_and_named_if_the_checks_pass_without_the_change() {
    let project = project();
    project.write(".gitignore", "node_modules/\nsettings\n");
    project.write("settings", "x\n");
    fs::create_dir(project.root().join("node_modules")).unwrap();
    project.write("node_modules/dependency", "");
    let check = "make test && test -e node_modules/dependency && test -e settings";
    let agent_script = "echo done > work; echo 'grep -q done ./work' > tests/check.sh";
    let answer = claims_after(&project, agent_script).args(["--check", check]).output().expect(0);
    assert_eq!(answer.finished()["reason"], "1 check passed; the work changed tests/check.sh");
    let checks = receipt(&project);
    assert_eq!(checks[1]["method"], "protected_tests", "{checks}");
    assert_eq!(checks[1]["changed_tests"], serde_json::json!(["tests/check.sh"]));
    let reason =
        "Changed by the work: tests/check.sh was changed; the checks also pass with these files as before the work";
    assert_eq!(checks[1]["reason"], reason);
    let shown = project.ralph(["show"]).output().expect(0).stdout;
    assert!(shown.contains("tests/check.sh was changed"), "{shown}");
}

// spec: V15
// finding: N55
#[test]
fn a_person_can_allow_changes_of_tests() {
    let project = project();
    let agent_script = "echo closed > work; echo 'grep -q closed work' > tests/check.sh";
    let call = claims_after(&project, agent_script).args(MAKE).args(["--allow-changes", "tests/**"]);
    call.output().expect(0);
    let checks = receipt(&project);
    let reason = "Changed by the work, as allow_changes permits: tests/check.sh was changed";
    assert!(checks.as_array().unwrap().iter().any(|check| check["reason"] == reason), "{checks}");
}

// spec: V15
#[test]
fn changes_can_be_reported_or_ignored() {
    let gut = "printf 'test:\\n\\t@true\\n' > Makefile";
    let run = |mode: &str| {
        let project = project();
        claims_after(&project, gut).args(MAKE).env("RALPH_VERIFICATION_TESTS", mode).output().expect(0);
        receipt(&project)
    };
    let reported = run("report");
    assert!(reported[1]["reason"].as_str().unwrap().contains("Makefile was changed"), "{reported}");
    assert_eq!(run("off").as_array().unwrap().len(), 1);
}

// spec: V15
#[test]
fn a_project_without_tests_is_accepted_with_less_proof() {
    let project = Project::new();
    project.write("README.md", "empty\n");
    project.commit();
    let agent_script = "printf 'test:\\n\\t@true\\n' > Makefile";
    claims_after(&project, agent_script).args(MAKE).output().expect(0);
    let reason = receipt(&project)[1]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("there were no tests before the work to compare with"), "{reason}");
}

// spec: V15
#[test]
fn the_second_claim_with_changed_tests_ends_the_run_as_blocked() {
    let project = project();
    let agent = "cat > /dev/null\nprintf 'test:\\n\\t@true\\n' > Makefile\necho '<promise>COMPLETE</promise>'";
    let answer = project.run_shell(agent).args(["--max-iterations", "5"]).args(MAKE).output();
    assert_eq!(answer.finished()["outcome"], "blocked", "{}", answer.stdout);
    assert_eq!(answer.events_named("verdict").len(), 2);
    let reason = answer.finished()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("changed protected tests twice") && reason.contains("Makefile"), "{reason}");
}

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";

// spec: V15, V10
#[test]
fn the_setup_of_a_clean_checkout_runs_before_the_checks_run_again() {
    let project = project();
    let agent_script = format!("echo done > work; echo 'grep -q done ./work' > tests/check.sh; {COMMIT}");
    let call = claims_after(&project, &agent_script).args(["--clean", "--check", "test -e prepared && make test"]);
    call.env("RALPH_VERIFICATION_SETUP", "touch prepared").output().expect(0);
    let reason = receipt(&project)[1]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("tests/check.sh was changed; the checks also pass"), "{reason}");
}

// spec: V15
#[test]
fn a_repository_without_a_commit_has_protected_tests() {
    let project = Project::new();
    project.write("Makefile", "lint:\n\tgrep -q done work\n");
    project.write("work", "open\n");
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("tests/a.sh", "");
    let call = claims_after(&project, "printf 'lint:\\n\\t@true\\n' > Makefile").args(["--check", "make lint"]);
    rejected(call, "Makefile was changed");
}

// spec: V15
#[test]
fn inline_tests_are_named_as_not_protected() {
    let project = project();
    fs::create_dir(project.root().join("src")).unwrap();
    project.write("src/lib.rs", "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\n");
    project.commit();
    let agent_script = "echo done > work; sed -i 's/fn a() {}/fn a() { }/' src/lib.rs";
    let answer = claims_after(&project, agent_script).args(MAKE).output().expect(0);
    assert_eq!(answer.finished()["proof"], "proven", "no inline test changed");
    assert_eq!(receipt(&project)[1]["reason"], "Not protected: src/lib.rs has inline tests");
}

// spec: V15
#[test]
fn a_test_that_the_checks_rewrite_before_any_work_may_be_rewritten() {
    let project = project();
    project.write("tests/snapshot.txt", "x\n");
    project.commit();
    let check = "make test; result=$?; echo x > tests/snapshot.txt; exit $result";
    let answer = claims_after(&project, "echo done > work").args(["--check", check]).output().expect(0);
    assert_eq!(answer.finished()["proof"], "proven");
}
