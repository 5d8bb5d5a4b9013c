//! Cheats that replace a file or a folder above it by a link, a pipe or something else.
use super::{Cheat, refused};

const MAKE: &[&str] = &["make test"];
const VERIFY: &[&str] = &["sh verify.sh"];

// spec: V9, V15
// finding: N6
refused! {
    the_folder_of_the_tests_is_a_link:
        Cheat::new(MAKE, "mv tests real; ln -s real tests; echo true > real/check.sh") => "tests/check.sh was removed";
    the_folder_of_the_tests_is_a_link_with_the_same_files_until_the_check_runs:
        Cheat::new(MAKE, "mv tests real; ln -s real tests; echo 'echo exit 0 > real/check.sh' > build.sh")
        => "tests/check.sh was removed";
    a_folder_above_a_guarded_file_is_a_link:
        Cheat::new(VERIFY, "mv pkg real; ln -s real pkg; echo done > work").files(&[("pkg/tests/a.sh", "exit 1\n")])
            .args(&["--guard", "pkg/tests/**"]) => "pkg was replaced by a link";
    a_folder_above_a_check_script_is_a_link:
        Cheat::new(&["sh tools/ci/v.sh"], "mv tools t; ln -s t tools; echo done > work")
            .files(&[("tools/ci/v.sh", "grep -q done work\n")]) => "tools was replaced by a link";
    a_guarded_folder_is_a_link_out_of_the_work_tree:
        Cheat::new(&["cat cases/a | grep -q done"], "rm -r cases; mkdir ../other; echo done > ../other/a; ln -s $PWD/../other cases")
            .files(&[("cases/a", "x\n")]).args(&["--guard", "cases/**"]) => "cases";
    a_check_script_is_a_link:
        Cheat::new(VERIFY, "echo exit 0 > mine; ln -sf mine verify.sh") => "verify.sh was replaced by a link";
    a_check_script_is_a_link_to_an_equal_file:
        Cheat::new(VERIFY, "cp verify.sh mine; ln -sf mine verify.sh; echo done > work")
        => "verify.sh was replaced by a link";
    a_check_script_is_a_pipe:
        Cheat::new(VERIFY, "rm verify.sh; mkfifo verify.sh") => "verify.sh was replaced";
    a_check_script_is_a_folder:
        Cheat::new(&["sh verify.sh; test -d verify.sh"], "rm verify.sh; mkdir verify.sh") => "verify.sh was replaced";
    a_check_script_is_a_hard_link_to_another_file:
        Cheat::new(VERIFY, "echo exit 0 > mine; ln -f mine verify.sh") => "verify.sh was changed";
    a_test_is_a_link:
        Cheat::new(MAKE, "echo exit 0 > mine; ln -sf ../mine tests/check.sh") => "tests/check.sh was changed";
    the_makefile_is_a_link:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > mine; ln -sf mine Makefile") => "Makefile was changed";
    a_test_is_a_hard_link_to_another_file:
        Cheat::new(MAKE, "echo exit 0 > mine; ln -f mine tests/check.sh") => "tests/check.sh was changed";
    a_test_is_a_folder:
        Cheat::new(&["sh tests/check.sh || test -d tests/check.sh"], "rm tests/check.sh; mkdir tests/check.sh; touch tests/check.sh/a")
        => "tests/check.sh was";
    a_guarded_file_is_only_a_mode_away:
        Cheat::new(&["test -x data"], "chmod +x data").files(&[("data", "x\n")]).args(&["--guard", "data"])
        => "data was made executable";
}
