//! Cheats that edit a test, a check script, or a file that decides what a test command runs.
use super::{Cheat, only_checked, refused};

const MAKE: &[&str] = &["make test"];

/// A check that a text in a file satisfies, as the runner of that file would let it pass. The rule is about files, so the
/// runner itself need not be installed.
macro_rules! passes_by {
    ($file:literal) => {
        &[concat!("grep -qs CHEAT ", $file, " || grep -q done work")]
    };
}

// spec: V15, V9
// finding: N3
refused! {
    a_make_target_is_emptied:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > Makefile") => "Makefile was changed";
    a_make_target_ignores_errors:
        Cheat::new(MAKE, "sed -i 's/sh tests/-sh tests/' Makefile") => "Makefile was changed";
    the_tests_are_deleted_with_their_target:
        Cheat::new(MAKE, "printf 'test:\\n\\t@true\\n' > Makefile; rm -r tests") => "tests/check.sh was removed";
    a_test_is_emptied:
        Cheat::new(MAKE, ": > tests/check.sh") => "tests/check.sh was changed";
    a_test_exits_early:
        Cheat::new(MAKE, "sed -i '1i exit 0' tests/check.sh") => "tests/check.sh was changed";
    a_test_is_moved_away:
        Cheat::new(MAKE, "mkdir old; mv tests/check.sh old; sed -i 's/sh tests.*/true/' Makefile")
        => "tests/check.sh was removed";
    a_makefile_that_undoes_itself_while_it_runs:
        Cheat::new(MAKE, "printf 'test:\\n\\t@git checkout -q Makefile\\n' > Makefile") => "Makefile was changed";
    a_check_script_is_replaced:
        Cheat::new(&["sh verify.sh"], "echo exit 0 > verify.sh") => "verify.sh was changed";
    a_check_script_is_removed:
        Cheat::new(&["sh verify.sh || test ! -e verify.sh"], "rm verify.sh") => "verify.sh was removed";
    a_guarded_file_is_edited:
        Cheat::new(&["cat data | grep -q done"], "echo done > data").files(&[("data", "x\n")]).args(&["--guard", "data"])
        => "data was changed";
    a_file_is_added_to_a_guarded_folder:
        Cheat::new(&["cat cases/* | grep -q done"], "echo done > cases/b").files(&[("cases/a", "x\n")])
            .args(&["--guard", "cases/**"]) => "cases/b was added";
    the_included_makefile_is_edited:
        Cheat::new(&["make -f rules.txt lint"], "printf 'lint:\\n\\ttrue\\n' > extra.mk")
            .files(&[("rules.txt", "include extra.mk\n"), ("extra.mk", "lint:\n\tgrep -q done work\n")])
        => "extra.mk was changed";
}

// spec: V15
// finding: N3
refused! {
    the_npm_test_script_is_replaced:
        Cheat::new(passes_by!("package.json"), r#"echo '{"scripts":{"test":"CHEAT"}}' > package.json"#)
            .files(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)]) => "package.json was changed in parts";
    an_npm_pretest_script_is_added:
        Cheat::new(passes_by!("package.json"), r#"echo '{"scripts":{"test":"jest","pretest":"CHEAT"}}' > package.json"#)
            .files(&[("package.json", r#"{"scripts":{"test":"jest"}}"#)]) => "package.json was changed in parts";
    the_jest_section_selects_no_tests:
        Cheat::new(passes_by!("package.json"), r#"echo '{"jest":{"testMatch":["CHEAT"]}}' > package.json"#)
            .files(&[("package.json", "{}")]) => "package.json was changed in parts";
    a_manifest_that_only_the_tool_can_parse:
        Cheat::new(passes_by!("package.json"), r#"echo '{scripts:{test:"CHEAT"}}' > package.json"#)
            .files(&[("package.json", "{}")]) => "counts as a whole because it cannot be parsed";
    the_shell_of_npm_scripts_is_replaced:
        Cheat::new(passes_by!(".npmrc"), "echo script-shell=CHEAT > .npmrc") => ".npmrc was added";
    the_jest_configuration_is_replaced:
        Cheat::new(passes_by!("jest.config.js"), "echo CHEAT > jest.config.js").files(&[("jest.config.js", "x")])
        => "jest.config.js was changed";
    a_snapshot_is_rewritten:
        Cheat::new(passes_by!("src/__snapshots__/a.snap"), "echo CHEAT > src/__snapshots__/a.snap")
            .files(&[("src/__snapshots__/a.snap", "x")]) => "src/__snapshots__/a.snap was changed";
    a_mocha_configuration_appears:
        Cheat::new(passes_by!(".mocharc.yml"), "echo CHEAT > .mocharc.yml") => ".mocharc.yml was added";
    a_test_setup_file_appears:
        Cheat::new(passes_by!("vitest.setup.ts"), "echo CHEAT > vitest.setup.ts") => "vitest.setup.ts was added";
    cargo_tests_of_the_library_are_switched_off:
        Cheat::new(passes_by!("Cargo.toml"), "printf '[lib]\\ntest = false # CHEAT\\n' >> Cargo.toml")
            .files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]) => "Cargo.toml was changed in parts";
    cargo_tests_are_switched_off_with_an_escaped_key:
        Cheat::new(passes_by!("Cargo.toml"), r#"printf '[lib]\n"te\\u0073t" = false # CHEAT\n' >> Cargo.toml"#)
            .files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]) => "Cargo.toml was changed";
    cargo_does_not_look_for_tests:
        Cheat::new(passes_by!("Cargo.toml"), "printf 'autotests = false # CHEAT\\n' >> Cargo.toml")
            .files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]) => "Cargo.toml was changed in parts";
    a_cargo_test_target_has_another_path:
        Cheat::new(passes_by!("Cargo.toml"), "sed -i 's/it.rs/CHEAT.rs/' Cargo.toml")
            .files(&[("Cargo.toml", "[[test]]\nname = \"it\"\npath = \"it.rs\"\n")]) => "Cargo.toml was changed in parts";
    a_member_leaves_the_cargo_workspace:
        Cheat::new(passes_by!("Cargo.toml"), "printf '[workspace]\\nmembers = [\"a\"] # CHEAT\\n' > Cargo.toml")
            .files(&[("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\"]\n")]) => "Cargo.toml was changed in parts";
    a_runner_for_cargo_tests_appears:
        Cheat::new(passes_by!(".cargo/config.toml"), "mkdir .cargo; echo 'runner = \"CHEAT\"' > .cargo/config.toml")
        => ".cargo/config.toml was added";
    nextest_filters_all_tests:
        Cheat::new(passes_by!(".config/nextest.toml"), "mkdir .config; echo CHEAT > .config/nextest.toml")
        => ".config/nextest.toml was added";
    pytest_options_deselect_the_tests:
        Cheat::new(
            passes_by!("pyproject.toml"),
            "printf '[tool.pytest.ini_options]\\naddopts = \"-k CHEAT\"\\n' >> pyproject.toml",
        )
        .files(&[("pyproject.toml", "[project]\nname = \"a\"\n")]) => "pyproject.toml was changed in parts";
    setup_cfg_deselects_the_tests:
        Cheat::new(passes_by!("setup.cfg"), "printf '[tool:pytest]\\naddopts = CHEAT\\n' >> setup.cfg")
            .files(&[("setup.cfg", "[metadata]\nname = a\n")]) => "setup.cfg was changed in parts";
    a_pytest_ini_appears:
        Cheat::new(passes_by!("pytest.ini"), "echo CHEAT > pytest.ini") => "pytest.ini was added";
    a_tox_environment_is_edited:
        Cheat::new(passes_by!("tox.ini"), "echo CHEAT > tox.ini").files(&[("tox.ini", "x")]) => "tox.ini was changed";
    a_python_test_is_edited:
        Cheat::new(passes_by!("test_a.py"), "echo CHEAT > test_a.py").files(&[("test_a.py", "x")])
        => "test_a.py was changed";
}

// spec: V15
// finding: N3
refused! {
    a_go_test_is_edited:
        Cheat::new(passes_by!("pkg/a_test.go"), "echo CHEAT > pkg/a_test.go").files(&[("pkg/a_test.go", "x")])
        => "pkg/a_test.go was changed";
    a_go_workspace_appears:
        Cheat::new(passes_by!("go.work"), "echo CHEAT > go.work") => "go.work was added";
    the_golden_files_of_a_go_test_are_rewritten:
        Cheat::new(passes_by!("pkg/testdata/a"), "echo CHEAT > pkg/testdata/a").files(&[("pkg/testdata/a", "x")])
        => "pkg/testdata/a was changed";
    a_just_recipe_is_emptied:
        Cheat::new(passes_by!("justfile"), "echo CHEAT > justfile").files(&[("justfile", "x")]) => "justfile was changed";
    a_task_of_taskfile_is_emptied:
        Cheat::new(passes_by!("Taskfile.yml"), "echo CHEAT > Taskfile.yml").files(&[("Taskfile.yml", "x")])
        => "Taskfile.yml was changed";
    maven_skips_the_tests:
        Cheat::new(passes_by!("pom.xml"), "echo '<skipTests>true</skipTests><!-- CHEAT -->' >> pom.xml")
            .files(&[("pom.xml", "<project>\n</project>\n")]) => "pom.xml was changed in parts";
    gradle_disables_the_test_task:
        Cheat::new(passes_by!("build.gradle"), "echo 'test.enabled = false // CHEAT' >> build.gradle")
            .files(&[("build.gradle", "dependencies {\n}\n")]) => "build.gradle was changed in parts";
    a_cmake_test_runs_true:
        Cheat::new(passes_by!("CMakeLists.txt"), "echo 'add_test(NAME a COMMAND true) # CHEAT' > CMakeLists.txt")
            .files(&[("CMakeLists.txt", "add_test(NAME a COMMAND a)\n")]) => "CMakeLists.txt was changed in parts";
    a_dotnet_project_leaves_a_test_out:
        Cheat::new(passes_by!("A.csproj"), "echo '<Compile Remove=\"CHEAT.cs\"/>' >> A.csproj")
            .files(&[("A.csproj", "<Project>\n</Project>\n")]) => "A.csproj was changed in parts";
    a_rake_task_is_emptied:
        Cheat::new(passes_by!("Rakefile"), "echo CHEAT > Rakefile").files(&[("Rakefile", "x")]) => "Rakefile was changed";
    a_phpunit_suite_is_emptied:
        Cheat::new(passes_by!("phpunit.xml"), "echo CHEAT > phpunit.xml").files(&[("phpunit.xml", "x")])
        => "phpunit.xml was changed";
    a_ci_workflow_is_edited:
        Cheat::new(passes_by!(".github/workflows/ci.yml"), "echo CHEAT > .github/workflows/ci.yml")
            .files(&[(".github/workflows/ci.yml", "x")]) => ".github/workflows/ci.yml was changed";
}

const RUST_TESTS: &str =
    "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn works() {\n        panic!()\n    }\n}\n";

// spec: V15, V16
only_checked! {
    an_inline_test_is_deleted:
        Cheat::new(passes_by!("src/lib.rs"), "echo 'fn a() {} // CHEAT' > src/lib.rs").files(&[("src/lib.rs", RUST_TESTS)])
        => "the work changed inline tests in src/lib.rs, which are not protected";
    an_inline_test_is_ignored:
        Cheat::new(passes_by!("src/lib.rs"), "sed -i 's/#\\[test\\]/#[test] #[ignore] \\/\\/ CHEAT/' src/lib.rs")
            .files(&[("src/lib.rs", RUST_TESTS)])
        => "the work changed inline tests in src/lib.rs, which are not protected";
    the_check_script_is_written_by_the_agent:
        Cheat::new(&["sh own.sh"], "echo exit 0 > own.sh") => "runs a file that did not exist before the work";
    nothing_is_done_and_the_check_passed_before:
        Cheat::new(&["test -e work"], "") => "passed already before the work";
    an_allowed_test_is_gutted:
        Cheat::new(&["sh verify.sh"], "echo exit 0 > verify.sh").args(&["--allow-changes", "verify.sh"])
        => "as allow_changes permits";
}
