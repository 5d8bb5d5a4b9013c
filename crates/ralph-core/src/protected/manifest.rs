//! Manifests that mix deciding parts with others: compares and replaces only the parts that decide what a test command
//! runs. A dependency that the work adds is not a deciding part.
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::build_files::{compared_gradle_lines, deciding_elements, deciding_gradle_lines};
use super::cmake_commands::{compared_commands, deciding_commands, merge_commands, redefines_test_command};
use super::manifest_keys::{
    CARGO_KEYS, DOTNET, GO_MODULE_MARKS, JSON_KEYS, MESON_MARKS, POM, PYPROJECT_KEYS, SETUP_CFG_KEYS, TEST_LINE_MARKS,
    TSCONFIG_KEYS, TSCONFIG_OPTIONS,
};
use super::sections::{DecidingKeys, SectionSyntax, SectionedText};

/// How the deciding parts of a manifest are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestKind {
    /// JSON with deciding keys at the top level.
    PackageJson,
    Cargo,
    Pyproject,
    SetupCfg,
    Pom,
    Gradle,
    DotNetProject,
    CMake,
    Meson,
    /// Build files of sbt and Bazel, of which the lines about tests decide.
    TestLines,
    GoModule,
    /// JSON with comments, of which the selection of files and the strictness decide.
    TsConfig,
}

impl ManifestKind {
    /// Returns whether the deciding parts differ. `None` is a file that does not exist.
    #[must_use]
    pub fn deciding_parts_differ(self, base: &str, claimed: &str) -> bool {
        let claimed_parts = match self {
            Self::CMake => compared_commands(base, claimed),
            Self::Gradle => compared_gradle_lines(base, claimed),
            Self::PackageJson
            | Self::Cargo
            | Self::Pyproject
            | Self::SetupCfg
            | Self::Pom
            | Self::DotNetProject
            | Self::Meson
            | Self::TestLines
            | Self::GoModule
            | Self::TsConfig => self.read_deciding_parts(claimed),
        };
        self.read_deciding_parts(base) != claimed_parts
    }

    /// Returns whether a new manifest can decide what an existing test command runs. Other programs read only the
    /// manifest of the folder in which they run.
    #[must_use]
    pub fn decides_when_added(self, claimed: &str) -> bool {
        match self {
            Self::Pyproject | Self::SetupCfg => self.deciding_parts_differ("", claimed),
            Self::CMake => redefines_test_command(claimed),
            Self::PackageJson
            | Self::Cargo
            | Self::Pom
            | Self::Gradle
            | Self::DotNetProject
            | Self::Meson
            | Self::TestLines
            | Self::GoModule
            | Self::TsConfig => false,
        }
    }

    /// Returns the claimed manifest with the deciding parts of the base, or `None` if they cannot be separated.
    #[must_use]
    pub fn with_deciding_parts_of(self, base: &str, claimed: &str) -> Option<String> {
        match self {
            Self::PackageJson => merge_json(base, claimed),
            Self::Cargo => merge_sections(SectionSyntax::Toml, base, claimed, CARGO_KEYS),
            Self::Pyproject => merge_sections(SectionSyntax::Toml, base, claimed, PYPROJECT_KEYS),
            Self::SetupCfg => merge_sections(SectionSyntax::Ini, base, claimed, SETUP_CFG_KEYS),
            Self::CMake => {
                let merged = merge_commands(base, claimed);
                (deciding_commands(base) == compared_commands(base, &merged)).then_some(merged)
            }
            Self::GoModule => Some(merge_lines(base, claimed, GO_MODULE_MARKS)),
            Self::Pom | Self::Gradle | Self::DotNetProject | Self::Meson | Self::TestLines | Self::TsConfig => None,
        }
    }

    /// Returns whether the parts of a manifest can be separated. An empty text is a file that does not exist.
    #[must_use]
    pub fn can_parse(self, text: &str) -> bool {
        match self {
            Self::PackageJson | Self::TsConfig => text.trim().is_empty() || parse_object(text).is_some(),
            Self::Cargo | Self::Pyproject => SectionedText::parse(text, SectionSyntax::Toml).is_readable(),
            Self::SetupCfg => SectionedText::parse(text, SectionSyntax::Ini).is_readable(),
            Self::Pom
            | Self::Gradle
            | Self::DotNetProject
            | Self::CMake
            | Self::Meson
            | Self::TestLines
            | Self::GoModule => true,
        }
    }

    /// Returns the deciding parts in a comparable form. A manifest that cannot be parsed decides as a whole.
    fn read_deciding_parts(self, text: &str) -> Vec<String> {
        let whole = || [text.to_string()].into();
        match self {
            Self::PackageJson => match parse_object(text) {
                Some(all) => select_keys(&all, JSON_KEYS),
                None if text.trim().is_empty() => Vec::new(),
                None => whole(),
            },
            Self::TsConfig => match parse_object(text) {
                Some(all) => {
                    let options = all.get("compilerOptions").and_then(Value::as_object);
                    let strictness = options.map(|options| select_keys(options, TSCONFIG_OPTIONS)).unwrap_or_default();
                    [select_keys(&all, TSCONFIG_KEYS), strictness].concat()
                }
                None if text.trim().is_empty() => Vec::new(),
                None => whole(),
            },
            Self::Cargo => SectionedText::parse(text, SectionSyntax::Toml).deciding_items(CARGO_KEYS),
            Self::Pyproject => SectionedText::parse(text, SectionSyntax::Toml).deciding_items(PYPROJECT_KEYS),
            Self::SetupCfg => SectionedText::parse(text, SectionSyntax::Ini).deciding_items(SETUP_CFG_KEYS),
            Self::Pom => deciding_elements(text, &POM),
            Self::DotNetProject => deciding_elements(text, &DOTNET),
            Self::CMake => deciding_commands(text),
            Self::Meson => marked_lines(text, MESON_MARKS),
            Self::TestLines => marked_lines(text, TEST_LINE_MARKS),
            Self::GoModule => marked_lines(text, GO_MODULE_MARKS),
            Self::Gradle => deciding_gradle_lines(text),
        }
    }
}

fn select_keys(all: &Map<String, Value>, keys: &[&str]) -> Vec<String> {
    keys.iter().filter_map(|key| all.get(*key).map(|value| alloc::format!("{key}={value}"))).collect()
}

/// Parses JSON with comments and trailing commas.
fn parse_object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(&strip_json_comments(text)) {
        Ok(Value::Object(all)) => Some(all),
        Ok(_) | Err(_) => None,
    }
}

/// Removes comments, and commas before a closing bracket, outside of strings.
fn strip_json_comments(text: &str) -> String {
    let (mut plain, mut in_string, mut is_escaped, mut rest) = (String::new(), false, false, text);
    while let Some(letter) = rest.chars().next() {
        if !in_string && rest.starts_with("//") {
            rest = rest.find('\n').and_then(|at| rest.get(at..)).unwrap_or_default();
            continue;
        }
        if !in_string && rest.starts_with("/*") {
            rest = rest.split_once("*/").map_or("", |(_, after)| after);
            continue;
        }
        if letter == '"' && !is_escaped {
            in_string = !in_string;
        }
        is_escaped = in_string && letter == '\\' && !is_escaped;
        if !in_string && matches!(letter, ']' | '}') && plain.trim_end().ends_with(',') {
            plain.truncate(plain.trim_end().len() - 1);
        }
        plain.push(letter);
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
    plain
}

fn merge_json(base: &str, claimed: &str) -> Option<String> {
    let (base, mut merged) = (parse_object(base)?, parse_object(claimed)?);
    for key in JSON_KEYS {
        match base.get(*key) {
            Some(value) => drop(merged.insert(key.to_string(), value.clone())),
            None => drop(merged.remove(*key)),
        }
    }
    serde_json::to_string_pretty(&Value::Object(merged)).ok()
}

fn merge_sections(syntax: SectionSyntax, base: &str, claimed: &str, keys: &[DecidingKeys]) -> Option<String> {
    let base = SectionedText::parse(base, syntax);
    let merged = SectionedText::parse(claimed, syntax).with_deciding_items_of(&base, keys);
    // The result must have exactly the deciding parts of the base: the lines may be written in an unknown way.
    let is_right = SectionedText::parse(&merged, syntax).deciding_items(keys) == base.deciding_items(keys);
    is_right.then_some(merged)
}

fn has_mark(text: &str, marks: &[&str]) -> bool {
    let lower = text.to_ascii_lowercase();
    marks.iter().any(|mark| lower.contains(mark))
}

fn marked_lines(text: &str, marks: &[&str]) -> Vec<String> {
    text.lines().map(str::trim).filter(|line| has_mark(line, marks)).map(str::to_string).collect()
}

fn merge_lines(base: &str, claimed: &str, marks: &[&str]) -> String {
    let kept = claimed.lines().filter(|line| !has_mark(line, marks));
    let added = base.lines().filter(|line| has_mark(line, marks));
    kept.chain(added).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: V15
    // finding: N3
    #[test]
    fn a_dependency_is_free_and_a_script_decides() {
        use ManifestKind::{CMake, Cargo, DotNetProject, PackageJson, Pom, Pyproject, SetupCfg};
        let cases: &[(ManifestKind, &str, &str, bool)] = &[
            (
                PackageJson,
                r#"{"scripts":{"test":"jest"}}"#,
                r#"{"scripts":{"test":"jest"},"dependencies":{"a":"1"}}"#,
                false,
            ),
            (PackageJson, r#"{"scripts":{"test":"jest"}}"#, r#"{"scripts":{"test":"true"}}"#, true),
            (PackageJson, r#"{"scripts":{"test":"jest"}}"#, r#"{"scripts":{"test":"jest","pretest":"rm a"}}"#, true),
            (PackageJson, "{}", r#"{"jest":{"testMatch":[]}}"#, true),
            (PackageJson, "{}", "{", true),
            (PackageJson, " \n", "{}", false),
            (Cargo, "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n", false),
            (Cargo, "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\n[lib]\ntest = false\n", true),
            (Cargo, "[package]\nname = \"a\"\n", "lib = { test = false }\n[package]\nname = \"a\"\n", true),
            (Cargo, "[package]\nname = \"a\"\n", "lib.test = false\n[package]\nname = \"a\"\n", true),
            (Cargo, "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\nautotests = false\n", true),
            (
                Cargo,
                "[package]\nname = \"a\"\n",
                "[package]\nname = \"a\"\n\n[[ test ]]\nname = \"t\"\npath = \"x\"\n",
                true,
            ),
            (Cargo, "[workspace]\nmembers = [\n \"a\",\n \"b\",\n]\n", "[workspace]\nmembers = [\n \"a\",\n]\n", true),
            (Cargo, "[lib]\nname = \"a\"\n", "[lib]\nname = \"b\"\n", false),
            (Cargo, "[lib]\nname = \"a\"\n", "[lib]\nname = \"a\"\n\"te\\u0073t\" = false\n", true),
            (Cargo, "[package]\nname = \"a\"\n", "[package]\nname = \"a\"\n[\"l\\u0069b\"]\ntest = false\n", true),
            (Pyproject, "[project]\nname='a'\n", "[project]\nname='a'\ndependencies=['x']\n", false),
            (Pyproject, "[project]\n", "[project]\n[tool.pytest.ini_options]\naddopts='-k no'\n", true),
            (Pyproject, "[project]\n", "[project]\n[tool]\npytest.ini_options.addopts='-k no'\n", true),
            (SetupCfg, "[metadata]\nname=a\n", "[metadata]\nname=a\n[tool:pytest]\naddopts=-k no\n", true),
            (
                Pom,
                "<dependencies></dependencies>",
                "<dependencies>\n<dependency>a</dependency>\n</dependencies>",
                false,
            ),
            (Pom, "<properties>\n</properties>", "<properties>\n<skipTests>true</skipTests>\n</properties>", true),
            (
                Pom,
                "<plugin>\nmaven-surefire-plugin\n</plugin>",
                "<plugin>\nmaven-surefire-plugin\n<x>1</x>\n</plugin>",
                true,
            ),
            (DotNetProject, "<PackageReference a/>", "<PackageReference a/>\n<PackageReference b/>", false),
            (DotNetProject, "<a/>", "<a/>\n<Compile Remove=\"Tests.cs\"/>", true),
            (
                CMake,
                "add_library(a a.c)\nadd_test(NAME a COMMAND a)\n",
                "add_library(a a.c b.c)\nadd_test(NAME a COMMAND a)\n",
                false,
            ),
            (CMake, "add_test(NAME a COMMAND a)\n", "add_test(NAME a COMMAND true)\n", true),
        ];
        for (kind, base, claimed, decides) in cases {
            assert_eq!(kind.deciding_parts_differ(base, claimed), *decides, "{kind:?}: {claimed}");
        }
    }

    // spec: V15
    #[test]
    fn a_part_that_puts_other_code_in_place_of_a_dependency_decides() {
        use ManifestKind::{Cargo, PackageJson};
        for (kind, base, claimed) in [
            (Cargo, "[dependencies]\n", "[dependencies]\n[patch.\"https://a/b\"]\nc = { path = \"stub\" }\n"),
            (PackageJson, "{}", r##"{"imports":{"#a":"./stub.js"}}"##),
            (PackageJson, "{}", r#"{"autoload":{"files":["stub.php"]}}"#),
        ] {
            assert!(kind.deciding_parts_differ(base, claimed), "{kind:?}: {claimed}");
        }
    }

    // spec: V15
    #[test]
    fn in_a_build_script_everything_outside_dependencies_decides() {
        use ManifestKind::{DotNetProject, GoModule, Gradle, Meson, Pom, TestLines, TsConfig};
        let cases: &[(ManifestKind, &str, &str, bool)] = &[
            (Gradle, "dependencies {\n a\n}\n", "dependencies {\n a\n b\n}\n", false),
            (Gradle, "dependencies {\n a\n}\n", "dependencies {\n a\n}\ntest.enabled = false\n", true),
            (Gradle, "dependencies {\n a {\n }\n}\n", "// new\n\ndependencies {\n a {\n }\n b {\n }\n c\n}\n", false),
            (Gradle, "dependencies {\n a {\n }\n}\n", "dependencies {\n a {\n }\n}\ntest.enabled = false\n", true),
            (Gradle, "test {\n a\n}\n", "test {\n b\n}\n", true),
            (Gradle, "", "dependenciesOfTests = []\n", true),
            (Meson, "test('a', a)\n", "test('a', a)\nb = executable('b')\n", false),
            (Meson, "test('a', a)\n", "test('a', a, should_fail: true)\n", true),
            (TestLines, "go_test(\n  name = 'a',\n)\n", "go_test(\n  name = 'a',\n  tags = ['manual'],\n)\n", true),
            (TestLines, "a\n", "libraryDependencies += b\na\n", false),
            (GoModule, "module a\n", "module a\n\nrequire b v1.0.0\n", false),
            (GoModule, "module a\n", "module a\nreplace b => ./c\n", true),
            (TsConfig, "{\"include\": [\"src\"],}", "{ // note\n \"include\": [\"src\"]}", false),
            (TsConfig, "{}", "{\"compilerOptions\":{\"paths\":{}}}", false),
            (TsConfig, "{}", "{\"exclude\":[\"src//a,]\"]}", true),
            (TsConfig, "{\"compilerOptions\":{\"strict\":true}}", "{\"compilerOptions\":{}}", true),
            (TsConfig, "{}", "{", true),
            (Pom, "<p><packaging>jar</packaging></p>", "<p><packaging>pom</packaging></p>", true),
            (DotNetProject, "<p></p>", "<p><DefaultItemExcludes>a</DefaultItemExcludes></p>", true),
            (DotNetProject, "<p></p>", "<p><EnableDefaultCompileItems>false</EnableDefaultCompileItems></p>", true),
            (DotNetProject, "<Target Name='a'><Exec C='a'/></Target>", "<Target Name='a'></Target>", true),
        ];
        for (kind, base, claimed, decides) in cases {
            assert_eq!(kind.deciding_parts_differ(base, claimed), *decides, "{kind:?}: {claimed}");
        }
    }

    // spec: V15
    #[test]
    fn a_merged_manifest_has_the_deciding_parts_of_the_base_and_the_rest_of_the_work() {
        let base = r#"{"name":"a","scripts":{"test":"jest"}}"#;
        let claimed = r#"{"name":"a","scripts":{"test":"true"},"jest":{},"dependencies":{"b":"1"}}"#;
        let merged = parse_object(&ManifestKind::PackageJson.with_deciding_parts_of(base, claimed).unwrap()).unwrap();
        assert_eq!(merged.get("scripts").unwrap().to_string(), r#"{"test":"jest"}"#);
        assert!(merged.contains_key("dependencies") && !merged.contains_key("jest"));
        let base = "[package]\nname = \"a\"\nautotests = true\n\n[[test]]\nname = \"t\"\n";
        let claimed = "[package]\nname = \"a\"\nautotests = false\n\n[lib]\nname = \"l\"\ntest = false\n\n[dependencies]\nb = \"1\"\n";
        let merged = ManifestKind::Cargo.with_deciding_parts_of(base, claimed).unwrap();
        assert_eq!(
            merged,
            "[package]\nautotests = true\nname = \"a\"\n\n[lib]\nname = \"l\"\n\n[dependencies]\nb = \"1\"\n[[test]]\nname = \"t\"\n"
        );
        let merged = ManifestKind::CMake.with_deciding_parts_of("add_test(a)\n", "add_library(b)\n").unwrap();
        assert_eq!(merged, "add_library(b)\nadd_test(a)\n");
        let merged = ManifestKind::GoModule.with_deciding_parts_of("module a\n", "module a\nreplace b => ./c\n");
        assert_eq!(merged.as_deref(), Some("module a\n"));
        assert_eq!(ManifestKind::Pom.with_deciding_parts_of("a", "b"), None, "it is not taken apart");
        assert_eq!(ManifestKind::PackageJson.with_deciding_parts_of("{}", "{"), None);
    }

    // spec: V15
    #[test]
    fn a_new_manifest_counts_only_where_a_test_command_would_find_it() {
        assert!(ManifestKind::Pyproject.decides_when_added("[tool.pytest.ini_options]\naddopts='-k no'\n"));
        assert!(!ManifestKind::Pyproject.decides_when_added("[project]\nname='a'\n"));
        assert!(!ManifestKind::PackageJson.decides_when_added(r#"{"scripts":{"test":"jest"}}"#));
    }
}
