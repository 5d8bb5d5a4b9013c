//! Cheats that prepare results: compiled files, stamps of build tools, and files that were never committed.
use super::{COMMIT, Cheat, refused};

// spec: V9, V10
refused! {
    a_forged_compiled_module:
        Cheat::new(
            &["python3 check.py"],
            "echo 'def ok(): return True' > forged.py
             python3 -c 'import py_compile; m = py_compile.PycInvalidationMode.UNCHECKED_HASH
import importlib.util as u; py_compile.compile(\"forged.py\", u.cache_from_source(\"rules.py\"), invalidation_mode=m)'
             rm forged.py",
        )
        .files(&[
            ("check.py", "import rules\nraise SystemExit(not rules.ok())\n"),
            ("rules.py", "def ok(): return 'done' in open('work').read()\n"),
        ]) => "Command exited with 1";
    a_stamp_that_makes_a_test_up_to_date:
        Cheat::new(&["make check"], "touch -d 2040-01-01 check")
            .files(&[("Makefile", "check: work\n\tgrep -q done work\n")]) => "check was added";
    a_result_that_a_make_variable_reads:
        Cheat::new(&["make -e lint"], "echo 'T = true' > local.mk")
            .files(&[("Makefile", "T = grep -q done work\n-include local.mk\nlint:\n\t$(T)\n")]) => "local.mk was added";
    an_environment_file_of_the_runner:
        Cheat::new(&["test -e .envrc || grep -q done work"], "touch .envrc") => ".envrc was added";
    a_pytest_cache_of_the_agent_is_not_in_a_clean_checkout:
        Cheat::new(
            &["test -e .pytest_cache/passed"],
            "mkdir .pytest_cache; touch .pytest_cache/passed; echo x >> work; git add work
             git -c user.name=A -c user.email=a@example.invalid commit -qm work",
        )
        .files(&[(".gitignore", ".pytest_cache\n")]).args(&["--clean"]) => "Command exited with 1";
    a_built_file_is_not_in_a_clean_checkout:
        Cheat::new(
            &["test -e out/ok"],
            "mkdir out; touch out/ok; echo x >> work; git add work
             git -c user.name=A -c user.email=a@example.invalid commit -qm work",
        )
        .files(&[(".gitignore", "out\n")]).args(&["--clean"]) => "Command exited with 1";
}

// spec: V10
#[test]
fn work_that_is_not_committed_does_not_count_in_a_clean_room() {
    let cheat = Cheat::new(&["sh verify.sh"], "echo done > work").args(&["--clean"]);
    cheat.is_refused("claimed, but not committed: work");
}

// spec: V14
/// The claim is accepted in the work tree, and `ralph verify` finds that the commit does not pass.
#[test]
fn a_result_of_ignored_files_is_found_when_the_receipt_is_verified_again() {
    let agent_script = format!("mkdir out; touch out/ok; echo x >> work; {COMMIT}");
    let cheat = Cheat::new(&["test -e out/ok"], &agent_script).files(&[(".gitignore", "out\n")]);
    let project = cheat.project();
    cheat.run(&project).expect(0);
    let again = project.ralph(["verify"]).output().expect(3).stdout;
    assert!(again.contains("`test -e out/ok` was accepted and is rejected now"), "{again}");
}

/// An agent that claims twice, with other content of a file. The checks never pass at once.
fn claims_twice(first: &str, then: &str, file: &str) {
    let checks = [format!("grep -q good {file}"), format!("grep -q evil {file}")];
    let project = Cheat::new(&[], "").files(&[("f", "open\n"), (".gitignore", "out\n")]).project();
    let seen = project.outside("seen");
    let agent = format!(
        "cat > /dev/null; if [ -e {seen} ]; then {then}; else {first}; fi; touch {seen}\n\
         echo '<promise>COMPLETE</promise>'",
        seen = seen.display()
    );
    let call = project.run_shell(&agent).args(["--max-iterations", "2"]);
    let answer = call.args(["--check", &checks[0], "--check", &checks[1]]).output().expect(3);
    let verdicts = answer.events_named("verdict");
    assert_eq!(verdicts[0]["checks"][0]["verdict"], "accepted", "{}", verdicts[0]);
    let reason = verdicts[1]["reason"].as_str().unwrap();
    assert!(reason.contains(&checks[0]), "{reason}");
}

// spec: V11
// finding: N8
#[test]
fn a_tracked_file_becomes_ignored_and_changes_between_two_claims() {
    let unstage = "echo f >> .gitignore; git rm -q --cached f; echo good > f";
    claims_twice(unstage, "echo evil > f", "f");
}

// spec: V11
// finding: N8
#[test]
fn an_ignored_file_changes_between_two_claims() {
    claims_twice("mkdir out; echo good > out/f", "echo evil > out/f", "out/f");
}

// spec: V11
// finding: N8
#[test]
fn a_file_changes_between_two_claims_where_git_is_told_not_to_look() {
    claims_twice("echo good > f; git update-index --assume-unchanged f", "echo evil > f", "f");
}
