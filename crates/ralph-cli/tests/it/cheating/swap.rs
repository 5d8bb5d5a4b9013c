//! Cheats in which code of the work, started by a check, changes a file and restores it before anybody compares.
use super::{COMMIT, Cheat, refused};

const MAKE: &[&str] = &["make test"];
const GUARD: &[&str] = &["--guard", "verify.sh"];
const OUTER: &[(&str, &str)] = &[("outer.sh", "sh build.sh\nsh verify.sh\n")];

// spec: V9, V15
// finding: N7
refused! {
    a_guarded_script_is_rewritten_and_put_back:
        Cheat::new(
            &["sh outer.sh"],
            "echo 'cp verify.sh old; echo \"cat old > verify.sh; exit 0\" > verify.sh' > build.sh",
        )
        .files(OUTER).args(GUARD) => "verify.sh was changed and restored";
    a_guarded_script_is_moved_away_and_back:
        Cheat::new(
            &["sh outer.sh"],
            "echo 'mv verify.sh old; echo \"mv old verify.sh; exit 0\" > verify.sh' > build.sh",
        )
        .files(OUTER).args(GUARD) => "verify.sh was changed and restored";
    a_guarded_script_gets_its_old_times_back:
        Cheat::new(
            &["sh outer.sh"],
            "echo 'cp -p verify.sh old; echo \"cp -p old verify.sh; exit 0\" > verify.sh' > build.sh",
        )
        .files(OUTER).args(GUARD) => "verify.sh was changed and restored";
    a_guarded_script_is_written_through_a_hard_link:
        Cheat::new(
            &["sh outer.sh"],
            "ln verify.sh alias; echo 'cp alias old; echo \"cat old > alias; exit 0\" > alias' > build.sh",
        )
        .files(OUTER).args(GUARD) => "verify.sh was changed and restored";
    a_check_changes_the_script_of_the_next_one:
        Cheat::new(&["make build", "sh verify.sh"], "echo 'echo exit 0 > verify.sh' > build.sh")
        => "verify.sh was changed";
    a_check_changes_the_script_of_the_next_one_which_puts_it_back:
        Cheat::new(
            &["make build", "sh verify.sh"],
            "echo 'cp verify.sh old; echo \"mv old verify.sh\" > verify.sh' > build.sh",
        ) => "verify.sh was changed";
    a_test_is_rewritten_and_put_back:
        Cheat::new(MAKE, "echo 'echo \"git checkout -q tests\" > tests/check.sh' > build.sh")
        => "changed protected files while the checks ran: tests/check.sh";
    a_test_is_moved_away_and_back:
        Cheat::new(
            MAKE,
            "echo 'mv tests/check.sh old; echo \"mv old tests/check.sh; exit 0\" > tests/check.sh' > build.sh",
        ) => "changed protected files while the checks ran: tests/check.sh";
    a_test_is_rewritten_in_every_run:
        Cheat::new(MAKE, "echo 'echo exit 0 > tests/check.sh' > build.sh")
        => "changed protected files while the checks ran: tests/check.sh";
    a_test_is_rewritten_by_the_check_before:
        Cheat::new(&["make build", "make test"], "echo 'echo exit 0 > tests/check.sh' > build.sh")
        => "changed protected files while the checks ran: tests/check.sh";
    a_makefile_exists_only_between_two_checks:
        Cheat::new(
            &["sh build.sh", "make test"],
            "printf 'test:\\n\\t@rm GNUmakefile\\n' > mine; echo 'cp mine GNUmakefile' > build.sh",
        )
        .args(&["--allow-changes", "build.sh"]) => "changed protected files while the checks ran: GNUmakefile";
    a_pytest_configuration_exists_only_between_two_checks:
        Cheat::new(
            &["make build", "grep -qs CHEAT pytest.ini && rm pytest.ini || grep -q done work"],
            "echo 'test -e pytest.ini || echo CHEAT > pytest.ini' > build.sh",
        ) => "changed protected files while the checks ran: pytest.ini";
}

// spec: V9, V10, V15
// finding: N7
#[test]
fn a_test_that_is_swapped_in_a_clean_checkout_is_refused() {
    let agent_script = format!("echo 'echo \"git checkout -q tests; exit 0\" > tests/check.sh' > build.sh; {COMMIT}");
    let cheat = Cheat::new(MAKE, &agent_script).args(&["--clean"]);
    cheat.is_refused("changed protected files while the checks ran: tests/check.sh");
}

// spec: V9, V10
// finding: N7
#[test]
fn a_guarded_script_that_is_swapped_in_a_clean_checkout_is_refused() {
    let swap = "echo 'mv verify.sh old; echo \"mv old verify.sh; exit 0\" > verify.sh' > build.sh";
    let agent_script = format!("{swap}; {COMMIT}");
    let cheat = Cheat::new(&["sh outer.sh"], &agent_script).files(OUTER).args(&["--clean", "--guard", "verify.sh"]);
    cheat.is_refused("verify.sh was changed and restored");
}

// spec: V9, L7
/// The process dies with its attempt.
#[test]
fn a_process_that_waits_for_the_check_cannot_help_it() {
    let wait =
        "setsid sh -c 'while ! [ -e checking ]; do sleep 0.01; done; echo done > work' > /dev/null 2>&1 < /dev/null &";
    let check = "touch checking; i=0; while [ $i -lt 10 ]; do grep -q done work && exit 0; sleep 0.02; i=$((i+1)); done; exit 1";
    let checks = [check];
    Cheat::new(&checks, wait).args(&["--no-baseline"]).is_refused("Command exited with 1");
}
