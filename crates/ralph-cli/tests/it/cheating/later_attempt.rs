//! Cheats in which one attempt prepares the next.
use super::task_cheat::TaskCheat;

fn refused(coder: &str, first: &str, why: &str) {
    TaskCheat { coder, tester: "sh tester.sh", deeds: &[first, "true"] }.is_refused(why);
}

// spec: V20
// finding: N1
#[test]
fn the_first_attempt_forges_the_check_script() {
    refused("sh verify.sh", "echo exit 0 > verify.sh", "verify.sh was changed");
}

// spec: V20
// finding: N1
#[test]
fn the_first_attempt_replaces_the_check_script_by_a_link() {
    refused("sh verify.sh", "echo exit 0 > mine; ln -sf mine verify.sh", "verify.sh was replaced by a link");
}

// spec: V20, V15
// finding: N1
#[test]
fn the_first_attempt_empties_the_tests() {
    refused("make test", "echo exit 0 > tests/check.sh", "tests/check.sh was changed");
}

// spec: V20, V15
#[test]
fn the_first_attempt_adds_a_makefile() {
    refused("make test", "printf 'test:\\n\\t@true\\n' > GNUmakefile", "GNUmakefile was added");
}

// spec: V20
#[test]
fn the_first_attempt_adds_a_module() {
    let module = "echo 'raise SystemExit(0)' > unittest.py";
    refused("python3 -m unittest missing", module, "unittest.py was added");
}

// spec: V20
#[test]
fn the_first_attempt_moves_the_base_of_its_branch() {
    let forge = "echo exit 0 > verify.sh; git add -A
                 git -c user.name=A -c user.email=a@example.invalid commit -q --amend -m base";
    refused("sh verify.sh", forge, "verify.sh was changed");
}
