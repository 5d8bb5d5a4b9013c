//! Cheats that edit a script which a check runs through another file. They are accepted, but never as proven.
use super::{Cheat, only_checked};

const SCRIPT: (&str, &str) = ("ci/run", "grep -q done work\n");
const EMPTY_SCRIPT: &str = "echo true > ci/run";

// spec: V16
// finding: N3
// finding: N9
only_checked! {
    a_script_of_a_make_target_is_emptied:
        Cheat::new(&["make lint"], EMPTY_SCRIPT).files(&[SCRIPT, ("Makefile", "lint:\n\tsh ci/run\n")])
        => "the work changed ci/run, which Makefile runs";
    a_script_of_a_needed_make_target_is_emptied:
        Cheat::new(&["make lint"], EMPTY_SCRIPT)
            .files(&[SCRIPT, ("Makefile", "SH = sh\nlint: real\nreal:\n\t@$(SH) ci/run\n")])
        => "the work changed ci/run, which Makefile runs";
    a_file_that_make_may_include_is_added:
        Cheat::new(&["make lint"], "printf 'lint:\\n\\ttrue\\n' > local.env")
            .files(&[("Makefile", "lint:\n\tgrep -q done work\n-include local.env\n")])
        => "the work added local.env, which Makefile runs";
    a_script_that_the_check_script_runs_is_emptied:
        Cheat::new(&["sh check.sh"], EMPTY_SCRIPT).files(&[SCRIPT, ("check.sh", "sh ci/run\n")])
        => "the work changed ci/run, which check.sh runs";
    a_library_beside_the_check_script_is_emptied:
        Cheat::new(&["sh ci/check.sh"], "echo 'check() { true; }' > ci/lib")
            .files(&[
                ("ci/check.sh", ". \"$(dirname \"$0\")/lib\"\ncheck\n"),
                ("ci/lib", "check() { grep -q done work; }\n"),
            ])
        => "the work changed ci/lib, which ci/check.sh runs";
    a_script_that_find_runs_is_emptied:
        Cheat::new(&["find ci -name 'r*' -exec sh {} +"], EMPTY_SCRIPT).files(&[SCRIPT])
        => "the work changed ci/run, which `find ci -name 'r*' -exec sh {} +` runs";
    a_script_that_xargs_runs_is_emptied:
        Cheat::new(&["ls ci/* | xargs -n1 sh"], EMPTY_SCRIPT).files(&[SCRIPT])
        => "the work changed ci/run, which `ls ci/* | xargs -n1 sh` runs";
}

// spec: V16
#[test]
fn work_on_a_script_of_another_target_is_proven() {
    let makefile = ("Makefile", "lint:\n\tgrep -q done work\ndeploy:\n\tsh ci/run\n");
    let files = [("ci/run", "false\n"), makefile];
    let cheat = Cheat::new(&["make lint"], "echo done > work; echo true > ci/run").files(&files);
    let finished = cheat.run(&cheat.project()).expect(0).finished();
    assert_eq!(finished["proof"], "proven", "{finished}");
}
