//! Cheats in which the coder prepares the checks of a later stage.
use super::task_cheat::TaskCheat;

const DONE: &str = "echo done > work; ";

fn refused(tester: &str, agent_script: &str, why: &str) {
    let agent_script = format!("{DONE}{agent_script}");
    TaskCheat { coder: "sh verify.sh", tester, deeds: &[&agent_script] }.is_refused(why);
}

// spec: V20
// finding: N2
#[test]
fn the_coder_rewrites_the_script_of_the_tester() {
    refused("sh tester.sh", "echo exit 0 > tester.sh", "tester.sh was changed");
}

// spec: V20
// finding: N2
#[test]
fn the_coder_replaces_the_script_of_the_tester_by_a_link() {
    refused("sh tester.sh", "echo exit 0 > mine; ln -sf mine tester.sh", "tester.sh was replaced by a link");
}

// spec: V20
// finding: N2
#[test]
fn the_coder_deletes_the_script_of_the_tester() {
    refused("sh tester.sh || test ! -e tester.sh", "rm tester.sh", "tester.sh was removed");
}

// spec: V20, V15
// finding: N2
#[test]
fn the_coder_empties_the_tests_of_the_tester() {
    refused(
        "make test",
        "echo open > work; echo exit 0 > tests/check.sh; sed -i s/done/open/ verify.sh",
        "was changed",
    );
}

// spec: V20, V15
#[test]
fn the_coder_adds_a_makefile_for_the_tester() {
    let why = "GNUmakefile was added";
    refused("make lint", "printf 'lint:\\n\\t@true\\n' > GNUmakefile; : > tests/check.sh", why);
}

// spec: V20
#[test]
fn the_coder_adds_a_file_with_the_name_of_the_target_of_the_tester() {
    refused("make test", "sed -i 's/done/x/' tests/check.sh; touch test", "test was added");
}
