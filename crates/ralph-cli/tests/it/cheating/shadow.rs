//! Cheats that add a file which is found before the intended one.
use super::{Cheat, refused};

const MAKE: &[&str] = &["make test"];

// spec: V15, V9
// finding: N3
// finding: N5
refused! {
    a_gnu_makefile_beside_the_makefile:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > GNUmakefile") => "GNUmakefile was added";
    a_lower_case_makefile_beside_the_makefile:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > makefile") => "makefile was added";
    a_gnu_makefile_that_git_ignores:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > GNUmakefile; echo GNUmakefile > .gitignore")
        => "GNUmakefile was added";
    a_gnu_makefile_that_the_repository_excludes:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > GNUmakefile; echo GNUmakefile >> .git/info/exclude")
        => "info/exclude was added";
    a_gnu_makefile_beside_a_guarded_makefile:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > GNUmakefile").args(&["--guard", "Makefile"])
        => "GNUmakefile was added";
    a_gnu_makefile_in_a_subfolder:
        Cheat::new(&["make -C sub lint"], "printf 'lint:\\n\\t@true\\n' > sub/GNUmakefile")
            .files(&[("sub/Makefile", "lint:\n\tgrep -q done ../work\n")]) => "sub/GNUmakefile was added";
    a_file_with_the_name_of_the_target:
        Cheat::new(MAKE, "touch test") => "test was added";
    a_folder_with_the_name_of_the_target:
        Cheat::new(&["make -C sub check"], "mkdir sub/check").files(&[("sub/Makefile", "check:\n\tgrep -q done ../work\n")])
        => "sub/check was added";
    a_unittest_module:
        Cheat::new(&["python3 -m unittest test_work"], "touch unittest.py")
            .files(&[("test_work.py", "raise SystemExit(1)\n")]) => "unittest.py was added";
    a_unittest_package:
        Cheat::new(&["python3 -m unittest test_work"], "mkdir unittest; touch unittest/__init__.py unittest/__main__.py")
            .files(&[("test_work.py", "raise SystemExit(1)\n")]) => "unittest/__init__.py was added";
    a_module_of_the_standard_library:
        Cheat::new(&["python3 check.py"], "echo 'raise SystemExit(0)' > json.py")
            .files(&[("check.py", "import json\nraise SystemExit('done' not in open('work').read())\n")])
        => "json.py was added";
    a_python_start_file:
        Cheat::new(&["PYTHONPATH=. python3 check.py"], "echo 'import os; os._exit(0)' > sitecustomize.py")
            .files(&[("check.py", "raise SystemExit(1)\n")]) => "sitecustomize.py was added";
    a_conftest_beside_the_tests:
        Cheat::new(&["test -e tests/conftest.py || grep -q done work"], "touch tests/conftest.py")
        => "tests/conftest.py was added";
    a_pytest_module:
        Cheat::new(&["test -e pytest.py || grep -q done work"], "touch pytest.py") => "pytest.py was added";
    a_path_file_of_python:
        Cheat::new(&["test -e a.pth || grep -q done work"], "touch a.pth") => "a.pth was added";
    a_node_file_without_ending:
        Cheat::new(&["node tools/verify"], "echo 'process.exit(0)' > tools/verify")
            .files(&[("tools/verify.js", "process.exit(1)\n")]) => "tools/verify was added";
    a_program_in_node_modules:
        Cheat::new(
            &["PATH=$PWD/node_modules/.bin:$PATH; grep -q done work"],
            "printf '#!/bin/sh\\n' > node_modules/.bin/grep; chmod +x node_modules/.bin/grep",
        )
        .ignored(&[("node_modules/.bin/jest", "#!/bin/sh\nexit 1\n")]) => "node_modules/.bin/grep was added";
    a_replaced_program_in_node_modules:
        Cheat::new(&["PATH=$PWD/node_modules/.bin:$PATH; sh node_modules/.bin/jest"], "echo > node_modules/.bin/jest")
            .ignored(&[("node_modules/.bin/jest", "exit 1\n")]) => "node_modules/.bin/jest was changed";
    a_program_in_the_root_on_the_path:
        Cheat::new(&["PATH=.:$PATH; grep -q done work"], "printf '#!/bin/sh\\n' > grep; chmod +x grep")
        => "grep was added";
    an_ignored_cargo_configuration:
        Cheat::new(
            &["test -e .cargo/config.toml || grep -q done work"],
            "mkdir .cargo; touch .cargo/config.toml; echo .cargo > .gitignore",
        ) => ".cargo/config.toml was added";
    an_old_name_of_the_cargo_configuration:
        Cheat::new(&["test -e .cargo/config || grep -q done work"], "mkdir .cargo; touch .cargo/config")
        => ".cargo/config was added";
}
