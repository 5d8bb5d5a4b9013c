//! Cheats that hide a test in a build file, so that it looks like a change that is free.
use super::{Cheat, refused};

macro_rules! passes_by {
    ($file:literal) => {
        &[concat!("grep -qs CHEAT ", $file, " || grep -q done work")]
    };
}

const CMAKE: (&str, &str) =
    ("CMakeLists.txt", "project(a C)\nenable_testing()\nadd_executable(a a.c)\nadd_test(NAME a\n  COMMAND a --all)\n");
const POM: (&str, &str) = (
    "pom.xml",
    "<project>\n<packaging>jar</packaging>\n<build>\n<plugin>\n\
     <artifactId>maven-surefire-plugin</artifactId>\n</plugin>\n</build>\n</project>\n",
);
const DOTNET: (&str, &str) =
    ("A.csproj", "<Project Sdk=\"Microsoft.NET.Sdk\">\n<PropertyGroup>\n</PropertyGroup>\n</Project>\n");
const GRADLE: (&str, &str) = ("build.gradle", "dependencies {\n implementation 'a:b:1'\n}\n");

// spec: V15
// finding: N3
refused! {
    a_cmake_test_is_changed_on_its_second_line:
        Cheat::new(passes_by!("CMakeLists.txt"), "sed -i 's/COMMAND a --all/COMMAND true # CHEAT\\n/' CMakeLists.txt")
            .files(&[CMAKE]) => "CMakeLists.txt was changed in parts";
    a_cmake_test_is_behind_a_return:
        Cheat::new(passes_by!("CMakeLists.txt"), "sed -i '2i return() # CHEAT' CMakeLists.txt").files(&[CMAKE])
        => "CMakeLists.txt was changed in parts";
    a_folder_with_tests_leaves_the_cmake_project:
        Cheat::new(passes_by!("CMakeLists.txt"), "echo '# CHEAT' > CMakeLists.txt")
            .files(&[("CMakeLists.txt", "add_subdirectory(lib)\n")]) => "CMakeLists.txt was changed in parts";
    an_included_cmake_file_is_emptied:
        Cheat::new(passes_by!("cmake/checks.cmake"), "echo '# CHEAT' > cmake/checks.cmake")
            .files(&[("cmake/checks.cmake", "add_test(a a)\n")]) => "cmake/checks.cmake was changed in parts";
    maven_builds_no_jar:
        Cheat::new(passes_by!("pom.xml"), "sed -i 's/jar/pom/;$a <!-- CHEAT -->' pom.xml").files(&[POM])
        => "pom.xml was changed in parts";
    a_maven_plugin_has_an_escaped_name:
        Cheat::new(
            passes_by!("pom.xml"),
            "sed -i 's/<build>/&<plugin>maven-\\&#115;urefire-plugin CHEAT<\\/plugin>/' pom.xml",
        )
            .files(&[POM]) => "pom.xml was changed in parts";
    a_maven_plugin_becomes_a_comment:
        Cheat::new(
            passes_by!("pom.xml"),
            "sed -i 's/<build>/<!-- CHEAT <build>/;s/<.build>/-->/' pom.xml",
        )
        .files(&[POM])
        => "pom.xml was changed in parts";
    a_dotnet_project_excludes_a_file_by_default:
        Cheat::new(
            passes_by!("A.csproj"),
            "sed -i 's/<.PropertyGroup>/<DefaultItemExcludes>CHEAT<\\/DefaultItemExcludes>&/' A.csproj",
        )
            .files(&[DOTNET]) => "A.csproj was changed in parts";
    a_dotnet_project_excludes_a_file_on_two_lines:
        Cheat::new(
            passes_by!("A.csproj"),
            "sed -i 's/<.Project>/<Compile\\nRemove=\"CHEAT.cs\"\\/>&/' A.csproj",
        )
        .files(&[DOTNET])
        => "A.csproj was changed in parts";
    a_test_project_leaves_the_solution:
        Cheat::new(passes_by!("A.sln"), "echo CHEAT > A.sln").files(&[("A.sln", "x\n")]) => "A.sln was changed";
    the_dependencies_of_a_gradle_script_disable_the_tests:
        Cheat::new(
            passes_by!("build.gradle"),
            "sed -i '2i project.test.enabled = false // CHEAT' build.gradle",
        )
        .files(&[GRADLE])
        => "build.gradle was changed in parts";
    a_bracket_in_a_string_keeps_the_dependencies_of_a_gradle_script_open:
        Cheat::new(
            passes_by!("build.gradle"),
            "printf 'dependencies {\\nprintln \"{\"\\n}\\ntest.enabled = false // CHEAT\\n' > build.gradle",
        )
            .files(&[GRADLE]) => "build.gradle was changed in parts";
    a_module_leaves_the_gradle_settings:
        Cheat::new(passes_by!("settings.gradle"), "echo \"include 'a' // CHEAT\" > settings.gradle")
            .files(&[("settings.gradle", "include 'a', 'tests'\n")]) => "settings.gradle was changed in parts";
    a_go_module_replaces_the_test_library:
        Cheat::new(passes_by!("go.mod"), "echo 'replace example.com/assert => ./CHEAT' >> go.mod")
            .files(&[("go.mod", "module a\n")]) => "go.mod was changed in parts";
    a_cargo_binary_with_tests_needs_a_feature:
        Cheat::new(passes_by!("Cargo.toml"), "echo 'required-features = [\"CHEAT\"]' >> Cargo.toml")
            .files(&[("Cargo.toml", "[[bin]]\nname = \"a\"\n")]) => "Cargo.toml was changed in parts";
    a_cargo_profile_switches_assertions_off:
        Cheat::new(
            passes_by!("Cargo.toml"),
            "printf '[profile.test]\\ndebug-assertions = false # CHEAT\\n' >> Cargo.toml",
        )
            .files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]) => "Cargo.toml was changed in parts";
    a_cargo_dependency_is_patched:
        Cheat::new(
            passes_by!("Cargo.toml"),
            "printf '[patch.crates-io]\\na = { path = \"CHEAT\" }\\n' >> Cargo.toml",
        )
            .files(&[("Cargo.toml", "[package]\nname = \"a\"\n")]) => "Cargo.toml was changed in parts";
    an_import_of_a_package_leads_to_a_stub:
        Cheat::new(passes_by!("package.json"), "echo '{\"imports\":{\"#lib\":\"./CHEAT.js\"}}' > package.json")
            .files(&[("package.json", "{}\n")]) => "package.json was changed in parts";
    composer_loads_another_file:
        Cheat::new(passes_by!("composer.json"), "echo '{\"autoload\":{\"files\":[\"CHEAT.php\"]}}' > composer.json")
            .files(&[("composer.json", "{}\n")]) => "composer.json was changed in parts";
    a_task_of_pixi_runs_nothing:
        Cheat::new(
            passes_by!("pyproject.toml"),
            "printf '[tool.pixi.tasks]\\ntest = \"true CHEAT\"\\n' >> pyproject.toml",
        )
            .files(&[("pyproject.toml", "[project]\nname = \"a\"\n")]) => "pyproject.toml was changed in parts";
    the_type_checker_reads_no_file:
        Cheat::new(passes_by!("tsconfig.json"), "echo '{\"exclude\": [\"CHEAT\"],}' > tsconfig.json")
            .files(&[("tsconfig.json", "{ // all files\n}\n")]) => "tsconfig.json was changed in parts";
    the_linter_has_no_rules:
        Cheat::new(passes_by!("eslint.config.js"), "echo CHEAT > eslint.config.js").files(&[("eslint.config.js", "x")])
        => "eslint.config.js was changed";
    a_test_with_another_ending_is_edited:
        Cheat::new(passes_by!("lib/a_test.mjs"), "echo CHEAT > lib/a_test.mjs").files(&[("lib/a_test.mjs", "x")])
        => "lib/a_test.mjs was changed";
}

// spec: V15, V9
// finding: N9
refused! {
    the_rules_of_an_attached_option_are_replaced:
        Cheat::new(&["make -frules.txt lint"], "printf 'lint:\\n\\ttrue\\n' > rules.txt")
            .files(&[("rules.txt", "lint:\n\tgrep -q done work\n")]) => "rules.txt was changed";
    a_program_of_awk_is_replaced:
        Cheat::new(&["awk -f check.awk work"], "echo 'BEGIN { exit 0 }' > check.awk")
            .files(&[("check.awk", "/done/ { found = 1 } END { exit !found }\n")]) => "check.awk was changed";
    a_program_of_sed_is_replaced:
        Cheat::new(&["sed -nf check.sed work | grep -q done"], "echo 'c done' > check.sed")
            .files(&[("check.sed", "p\n")]) => "check.sed was changed";
    the_start_file_of_bash_is_replaced:
        Cheat::new(&["BASH_ENV=start.inc bash -c 'grep -q done work'"], "echo 'exit 0' > start.inc")
            .files(&[("start.inc", "true\n")]) => "start.inc was changed";
    the_main_file_of_a_python_folder_is_replaced:
        Cheat::new(&["python3 checks"], "echo 'raise SystemExit(0)' > checks/__main__.py")
            .files(&[("checks/__main__.py", "raise SystemExit('done' not in open('work').read())\n")])
        => "checks/__main__.py was changed";
    a_git_alias_is_added:
        Cheat::new(&["git check"], "git config alias.check '!true'") => "alias.check was added";
}
