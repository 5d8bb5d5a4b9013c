//! Tests of the analysis with common commands.
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use proptest::prelude::{any, prop_assert, proptest};

use super::*;

fn files_executed_by(text: &str) -> ExecutedFiles {
    CheckCommand::from(text).executed_files(&|name| (name == "HOME").then(|| "/home/me".to_owned()))
}

fn scripts_executed_by(text: &str) -> Vec<String> {
    files_executed_by(text).scripts.concat()
}

// spec: V9
#[test]
fn programs_and_scripts_are_reported_and_files_that_are_only_read_are_not() {
    let cases: &[(&str, &[&str])] = &[
        ("cargo test", &[]),
        ("sh test.sh", &["test.sh"]),
        ("./check.sh --fast && grep -q done src/main.rs", &["./check.sh"]),
        ("test -f src/a.py && python3 -u tools/verify.py src/a.py", &["tools/verify.py"]),
        ("CI=1 env A=b timeout 30 bash -e 'my check.sh'", &["my check.sh"]),
        ("make -f build/Check.mk test", &["build/Check.mk"]),
        ("if ./a; then ./b; else ! ./c; fi", &["./a", "./b", "./c"]),
        ("echo $(./inner) `./other` # ./comment", &["./inner", "./other"]),
        ("node --test tests/a.js", &["tests/a.js"]),
        ("npm test", &[]),
        (". ./env.sh; . lib.sh", &["./env.sh", "lib.sh"]),
        ("cat < ./data.sh", &[]),
        ("./a > out/log.sh 2>&1", &["./a"]),
        ("sh 2>/dev/null v.sh", &["v.sh"]),
        ("deno run --allow-read check.ts", &["check.ts"]),
        ("make -fX.mk; gmake --makefile=Y.mk", &["X.mk", "Y.mk"]),
        ("awk -f a.awk work; sed -nf b.sed work; gawk -fc.awk", &["a.awk", "b.sed", "c.awk"]),
        ("awk '/x/' src/a.txt; sed -n p src/a.txt", &[]),
        ("java -cp lib tools/Check.java src/A; java -jar a.jar", &["tools/Check.java"]),
        ("ENV=production npm test", &[]),
        ("python3 -c 'import a' x.py; node -e 1 y.js", &[]),
    ];
    for (text, named) in cases {
        assert_eq!(scripts_executed_by(text), *named, "{text}");
        assert_eq!(files_executed_by(text).unresolved_words, Vec::<String>::new(), "{text}");
    }
}

// spec: V9
#[test]
fn scripts_are_found_behind_options_versions_quotes_and_wrappers() {
    for text in [
        "bash -eo pipefail v.sh",
        "bash -euo pipefail -- v.sh",
        "bash --norc - v.sh",
        "bash -o errexit -c 'sh v.sh'",
        "bash -lc \"exec sh v.sh\"",
        "python3.11 -W ignore v.sh",
        "pypy3 v.sh",
        "timeout -s KILL 30 sh v.sh",
        "timeout -k 5 --signal=KILL 30s sh v.sh",
        "nice -n 5 env -u A -i sh v.sh",
        "sudo -u nobody sh v.sh",
        "flock lock sh v.sh",
        "flock lock -c 'sh v.sh'",
        "echo x | xargs -n 1 sh v.sh",
        "find . -name x -exec sh v.sh {} \\;",
        "test \"$(sh v.sh; echo $?)\" = 0",
        "test \"`sh v.sh`\" = 0",
        "x=$(sh v.sh) && test $x",
        "eval sh v.sh",
        "S=v.sh; sh $S",
        "S=v; sh \"${S}.sh\"",
        "for s in v.sh; do sh \"$s\"; done",
        "check() { sh v.sh; }; check",
        "trap 'sh v.sh' EXIT",
        "poetry run python -X dev v.sh",
        "uv run --with x python v.sh",
        "ruby -r ./v.sh -e 1",
        "bundle exec ruby -I lib v.sh",
        "{ sh v.sh; } 2>&1 | tee log",
        "env -S 'sh v.sh'",
        "cd $HOME; sh v.sh",
    ] {
        let found = files_executed_by(text);
        let named = found.scripts.concat();
        assert!(named.iter().any(|name| ["v.sh", "./v.sh"].contains(&name.as_str())), "{text}: {found:?}");
        assert!(found.unresolved_words.is_empty(), "{text}: {found:?}");
    }
}

// spec: V9
#[test]
fn scripts_are_resolved_in_every_folder_that_a_command_enters() {
    for text in [
        "cd tools && ./v.sh",
        "cd tools; sh v.sh",
        "(cd -- tools && sh ./v.sh)",
        "D=tools; cd $D && ./v.sh",
        "env -C tools ./v.sh",
        "sh -c 'cd tools; ./v.sh'",
        "make -C tools -f v.sh",
        "pushd \"$PWD/tools\"; ./v.sh",
    ] {
        let found = scripts_executed_by(text);
        let is_it = |path: &&String| path.replace("/./", "/").trim_start_matches("./") == "tools/v.sh";
        assert!(found.iter().any(|path| is_it(&path)), "{text}: {found:?}");
    }
    assert_eq!(
        files_executed_by("cd a && ./x").scripts,
        [["./x", "a/./x"]],
        "the possible paths of one script are grouped"
    );
    for text in ["$PWD/v.sh", "${PWD}/v.sh", "$(pwd)/v.sh", "sh \"`pwd`/v.sh\""] {
        assert_eq!(scripts_executed_by(text), ["./v.sh"], "{text}");
    }
}

// spec: V9
#[test]
fn files_that_an_interpreter_reads_from_stdin_are_possible_files() {
    for (text, file) in [
        ("sh < v.sh", "v.sh"),
        ("bash -s < v.sh", "v.sh"),
        ("python3 - < v.py", "v.py"),
        ("cat v.sh | sh", "v.sh"),
        ("uv run v.py", "v.py"),
    ] {
        let found = files_executed_by(text);
        assert!(found.possible_files.iter().any(|possible| possible == file), "{text}: {found:?}");
    }
    assert_eq!(files_executed_by("cat v.sh | grep x").possible_files, Vec::<String>::new());
}

// spec: V9
// finding: N5
#[test]
fn files_in_which_python_finds_a_module_are_reported() {
    let modules = |text: &str| files_executed_by(text).python_modules;
    assert_eq!(
        modules("python3 -m unittest -v"),
        [PythonModule {
            name: "unittest".to_owned(),
            files: ["unittest.py", "unittest/__init__.py", "unittest/__main__.py"].map(String::from).to_vec()
        }]
    );
    let nested = modules("cd a; uv run python -W error -m tools.verify").concat_files();
    for file in ["tools.py", "a/tools/__init__.py", "tools/verify.py", "a/tools/verify/__main__.py"] {
        assert!(nested.iter().any(|found| found == file), "{file}: {nested:?}");
    }
    for (text, folder) in [("python3 -m pytest", "."), ("python3 tools/v.py", "tools"), ("python3 -c 'import a'", ".")]
    {
        assert!(files_executed_by(text).python_folders.iter().any(|found| found == folder), "{text}");
    }
}

trait ConcatFiles {
    fn concat_files(&self) -> Vec<String>;
}

impl ConcatFiles for Vec<PythonModule> {
    fn concat_files(&self) -> Vec<String> {
        self.iter().flat_map(|module| module.files.clone()).collect()
    }
}

// spec: V9
// finding: N9
#[test]
fn the_endings_that_node_adds_are_reported_for_each_folder() {
    let found = files_executed_by("cd web && node tools/verify").completions;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(&"tools/verify.js".to_owned()), "{found:?}");
    assert!(found[1].contains(&"web/tools/verify/index.js".to_owned()), "{found:?}");
}

// spec: V9
#[test]
fn program_folders_that_a_command_names_are_reported() {
    for text in
        ["PATH=$PWD/bin:$PATH tool", "export PATH=\"bin:$PATH\"; tool", "env PATH=bin:/usr/bin tool", "PATH=bin; tool"]
    {
        let folders = files_executed_by(text).program_folders;
        assert!(folders.iter().any(|folder| folder.trim_start_matches("./") == "bin"), "{text}: {folders:?}");
    }
}

// spec: V9
#[test]
fn words_that_only_a_shell_can_resolve_are_reported() {
    for (text, unknown) in [
        ("$TOOL x", "${TOOL}"),
        ("sh $(ls | head -1)", "$?"),
        ("for t in tests/*.sh; do sh $t; done", "${t}"),
        ("cd \"$WHERE\" && ./v.sh", "cd ${WHERE}"),
        ("PATH=$TOOLS:$PATH x", "PATH=${TOOLS}:${PATH}"),
        ("sh < $X", "${X}"),
    ] {
        assert_eq!(files_executed_by(text).unresolved_words, [unknown], "{text}");
    }
    assert_eq!(scripts_executed_by("$HOME/bin/x"), ["/home/me/bin/x"]);
    assert!(
        files_executed_by("test $A = $B && grep $C *.txt").unresolved_words.is_empty(),
        "words in arguments that are only read are not reported"
    );
}

// spec: V9
#[test]
fn the_words_of_a_list_are_not_parsed_as_shell_text() {
    let scripts = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        CheckCommand::Argv(words).executed_files(&|_| None).scripts.concat()
    };
    assert_eq!(scripts(&["sh", "my check; ./x"]), ["my check; ./x"]);
    assert_eq!(scripts(&["tools/check", "./data"]), ["tools/check"]);
    assert_eq!(scripts(&["bash", "-c", "./x"]), ["./x"]);
    assert_eq!(scripts(&[]), Vec::<String>::new());
}

proptest! {
    // spec: V9
    #[test]
    fn any_text_is_analyzed_without_a_panic(text in any::<String>(), more in "[a-z$(){}\"'`<>|;&=/ .*-]{0,60}") {
        for text in [text.clone(), more.clone(), format!("{more} {text}")] {
            let found = CheckCommand::Shell(text.clone()).executed_files(&|_| Some("x".to_owned()));
            prop_assert!(found.scripts.iter().all(|paths| !paths.is_empty()));
        }
    }
}

// spec: V9
#[test]
fn the_test_targets_of_make_are_found() {
    let targets = |text: &str| files_executed_by(text).test_targets;
    assert_eq!(targets("make -s test check-all app"), ["test", "check-all"]);
    assert_eq!(targets("make -C sub test"), ["test", "sub/test"]);
    assert!(targets("make build/test.o && cargo test").is_empty());
}

// spec: V9
#[test]
fn a_variable_with_an_unknown_or_too_many_values_is_unresolved() {
    for text in ["S=$X; S=v.sh; sh $S", "S=v.sh; S=$X; sh $S", "for S; do sh $S; done"] {
        assert_eq!(files_executed_by(text).unresolved_words, ["${S}"], "{text}");
    }
    let loop_over = |count: usize| {
        let values: Vec<String> = (0..count).map(|number| format!("{number}.sh")).collect();
        files_executed_by(&format!("for S in {}; do sh $S; done", values.join(" ")))
    };
    let most = loop_over(MAX_ALTERNATIVES);
    assert_eq!((most.scripts.concat().len(), most.unresolved_words.len()), (MAX_ALTERNATIVES, 0));
    assert_eq!(loop_over(MAX_ALTERNATIVES + 1).unresolved_words, ["${S}"]);
}

// spec: V9
#[test]
fn folders_are_counted_once_and_their_number_is_limited() {
    assert_eq!(files_executed_by("cd /x; cd /x; ./v").scripts, [["./v", "/x/./v"]]);
    assert_eq!(files_executed_by("cd a; /x/v").scripts, [["/x/v"]]);
    assert_eq!(files_executed_by("./v; ./v").scripts, [["./v"]]);
    let folders: Vec<String> = (0..MAX_ALTERNATIVES + 5).map(|number| format!("cd /{number};")).collect();
    let found = files_executed_by(&format!("{} ./v", folders.concat()));
    assert_eq!(found.scripts.concat().len(), MAX_ALTERNATIVES);
}

// spec: V9
#[test]
fn substitutions_are_followed_to_a_fixed_depth() {
    let nested = |levels: usize| format!("{}./x{}", "$(".repeat(levels), ")".repeat(levels));
    let depth = MAX_SHELL_DEPTH as usize;
    assert_eq!(scripts_executed_by(&nested(depth - 1)), ["./x"]);
    assert_eq!(scripts_executed_by(&nested(depth)), [""; 0]);
}

// spec: V9
#[test]
fn only_the_named_folders_of_a_search_path_and_of_imports_are_reported() {
    assert_eq!(files_executed_by("PATH=bin:$PATH tool").program_folders, ["bin"]);
    assert_eq!(files_executed_by("node -e 1").python_folders, [""; 0]);
    assert_eq!(files_executed_by("cd web && node /srv/verify").completions.len(), 1);
}

// spec: V9
#[test]
fn comments_end_at_the_line_and_a_backslash_continues_it() {
    assert_eq!(scripts_executed_by("# ./a\n./b # ./c\n./d"), ["./b", "./d"]);
    assert_eq!(scripts_executed_by("sh \\\n v.sh"), ["v.sh"]);
    assert_eq!(scripts_executed_by("./my\\ check.sh"), ["./my check.sh"]);
}

// spec: V9
#[test]
fn a_word_is_an_assignment_only_if_a_variable_name_precedes_the_equals_sign() {
    assert_eq!(scripts_executed_by("A_1=x sh v.sh"), ["v.sh"]);
    assert_eq!(scripts_executed_by("./a=b v.sh"), ["./a=b"]);
    assert_eq!(scripts_executed_by("1=x sh v.sh"), [""; 0]);
}

// spec: V9
// finding: N9
#[test]
fn files_that_find_and_xargs_pass_to_an_interpreter_are_unresolved() {
    for text in ["find ck -name '*.sh' -exec sh {} +", "ls ck/*.sh | xargs -n1 sh", "find ck | xargs -I{} bash -e {}"] {
        assert_eq!(files_executed_by(text).unresolved_words, ["$?"], "{text}");
    }
    for text in ["find src -name '*.c' -exec grep -q x {} +", "git ls-files | xargs grep -q x"] {
        assert!(files_executed_by(text).unresolved_words.is_empty(), "{text}");
    }
    for (text, files) in [
        ("BASH_ENV=a.sh ENV=./b.sh bash -c true", &["a.sh", "./b.sh"][..]),
        ("NODE_OPTIONS='--no-warnings --require ./a.js --import=./b.mjs' npm test", &["./a.js", "./b.mjs"]),
    ] {
        assert_eq!(files_executed_by(text).possible_files, files, "{text}");
    }
    assert_eq!(files_executed_by("PYTHONPATH=lib true").python_folders, ["lib"]);
    assert!(files_executed_by("python3 checks").possible_files.contains(&"checks/__main__.py".to_owned()));
}

// spec: V16
// finding: N9
#[test]
fn calls_of_programs_that_run_commands_of_a_file_are_reported() {
    let calls = files_executed_by("cd sub && make -C deep test; npm --prefix web test").task_calls;
    let found: Vec<(&str, &[String])> = calls.iter().map(|call| (call.program.as_str(), &call.folders[..])).collect();
    let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    assert_eq!(found[0], ("make", &all(&["deep", "sub/deep"])[..]));
    assert_eq!(found[1].0, "npm");
    assert_eq!(calls[0].words, ["-C", "deep", "test"]);
}
