//! Runs rewritten scripts in the real bash, with hostile values in every position of a reference. Each value must
//! arrive byte for byte, and nothing in it may be executed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod scripts;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use proptest::prelude::*;
use ralph_core::workflow::shell::{BoundScript, rewrite_script};
use ralph_core::workflow::{NodeId, NodeOutput, TextValues, VariableValues};
use scripts::{ACCEPTED, ARITHMETIC, ATTACKS, EXPRESSIONS_WITH_VARIABLES, HOSTILE, NAME_COMMANDS, NAMES, REFUSED};

/// How a position changes a value that it prints.
struct Position {
    name: &'static str,
    /// Prints the value to stdout.
    script: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn position(name: &'static str, script: &'static str) -> Position {
    Position { name, script, before: "", after: "" }
}

const fn framed(name: &'static str, script: &'static str, before: &'static str, after: &'static str) -> Position {
    Position { name, script, before, after }
}

const POSITIONS: &[Position] = &[
    position("unquoted", "printf '%s' $v.output"),
    framed("within a word", "printf '%s' a$v.output'b'", "a", "b"),
    position("assignment", "x=$v.output; printf '%s' \"$x\""),
    position("array", "x=($v.output); printf '%s' \"${x[@]}\""),
    position("double quotes", "printf '%s' \"$v.output\""),
    framed("double quotes with text", "printf '%s' \"it's $v.output \\\"b\\\"\"", "it's ", " \"b\""),
    position("single quotes", "printf '%s' '$v.output'"),
    framed("single quotes with text", "printf '%s' '$HOME \"$v.output\" `id`'", "$HOME \"", "\" `id`"),
    framed("ANSI quotes", "printf '%s' $'a\\'\\t$v.output\\n'", "a'\t", "\n"),
    framed("here-document", "cat <<EOF\n\"$v.output\"\nEOF", "\"", "\"\n"),
    framed("here-document without tabs", "cat <<-EOF\n\t'$v.output'\n\tEOF", "'", "'\n"),
    framed("quoted here-document", "cat <<'EOF'\n$HOME `id` \\$v.output\\n\nEOF", "$HOME `id` \\", "\\n\n"),
    framed("quoted here-document without tabs", "cat <<-\"EOF\"\n\t$(id) $v.output\n\tEOF", "$(id) ", "\n"),
    framed("here-document with blanks in its name", "cat <<'E F'\n$v.output\nE F", "", "\n"),
    framed("here-document in a substitution", "x=$(cat <<'EOF'\n$v.output.\nEOF\n); printf '%s' \"$x\"", "", "."),
    framed("here-string", "cat <<< $v.output", "", "\n"),
    framed("comment", "# $v.output '\nprintf a # \"$v.output\nprintf b", "ab", ""),
    framed("substitution", "x=$(printf '%s.' $v.output); printf '%s' \"$x\"", "", "."),
    framed("substitution in quotes", "printf '%s' \"$(printf '%s.' \"$v.output\")\"", "", "."),
    framed("two substitutions", "printf '%s' \"$(printf '%s' \"$(printf '%s.' '$v.output')\")\"", "", "."),
    framed("backquotes", "x=`printf '%s.' \"$v.output\"`; printf '%s' \"$x\"", "", "."),
    framed("backquotes in quotes", "printf '%s' \"`printf '%s.' \\\"$v.output\\\"`\"", "", "."),
    framed("backquotes twice", "x=`printf '%s' \"\\`printf '%s.' '$v.output'\\`\"`; printf '%s' \"$x\"", "", "."),
    framed("process substitution", "cat <(printf '%s.' $v.output)", "", "."),
    position("default", "unset -v u; printf '%s' ${u:-$v.output}"),
    position("default in quotes", "unset -v u; printf '%s' \"${u:-$v.output}\""),
    position("default with single quotes", "unset -v u; printf '%s' ${u:-'$v.output'}"),
    framed("case in a substitution", "printf '%s' \"$(case a in (b) ;; a) printf '%s.' $v.output;; esac)\"", "", "."),
    framed("pattern", "x='a'$v.output; printf '%s' \"${x#\"a\"}\"; [[ $x == a$v.output ]] && printf '%s' =", "", "="),
    position("replacement", "x=@; printf '%s' \"${x/@/$v.output}\""),
    position("key", "declare -A m; m[$v.output.]=1; k=(\"${!m[@]}\"); printf '%s' \"${k[0]%.}\""),
    framed("case", "case $v.output in $v.output) printf same;; *) printf other;; esac", "same", ""),
    position("function", "f() { printf '%s' \"$1\"; }\nf $v.output"),
    position("strict mode", "set -euo pipefail\nprintf '%s' \"$v.output\" | cat"),
];

fn bound_script(script: &str, value: &str, directory: &Path) -> BoundScript {
    let output = NodeOutput::text(value);
    let id = NodeId("v".to_owned());
    let values = TextValues {
        output_of: &|node| (*node == id).then_some(&output),
        previous_outputs: None,
        inputs: &BTreeMap::new(),
        variables: &VariableValues::new(),
    };
    rewrite_script(script).bind(&values, directory.to_str().unwrap()).unwrap()
}

/// Runs a script with a value in an empty directory, which is still empty afterwards.
#[track_caller]
fn run_script(script: &str, value: &str) -> Output {
    let work = tempfile::tempdir().unwrap();
    let files = tempfile::tempdir().unwrap();
    let bound = bound_script(script, value, files.path());
    for file in &bound.files {
        std::fs::write(files.path().join(&file.variable), &file.content).unwrap();
    }
    let program = files.path().join("script");
    std::fs::write(&program, &bound.text).unwrap();
    let output = Command::new("bash")
        .arg(&program)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", "/nowhere")
        .envs(bound.environment)
        .current_dir(work.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let created = std::fs::read_dir(work.path()).unwrap().count();
    assert_eq!(created, 0, "the value was executed: {value:?} in {script}");
    output
}

#[track_caller]
fn assert_arrives(position: &Position, value: &str) {
    let output = run_script(position.script, value);
    let is_printed = !matches!(position.name, "comment" | "case");
    let expected = [position.before, if is_printed { value } else { "" }, position.after].concat();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let short = |text: &[u8]| String::from_utf8_lossy(text.get(..text.len().min(300)).unwrap()).into_owned();
    assert!(
        output.stdout == expected.as_bytes(),
        "{}: {:?} instead of {:?}; stderr: {stderr}",
        position.name,
        short(&output.stdout),
        short(expected.as_bytes()),
    );
    assert_eq!(stderr, "", "{}", position.name);
}

// spec: W6
// fault: 79, 80
#[test]
fn hostile_values_arrive_unchanged_in_every_position() {
    for position in POSITIONS {
        for value in HOSTILE {
            assert_arrives(position, value);
        }
    }
}

// spec: W6
// fault: 79
#[test]
fn a_value_of_one_megabyte_arrives_unchanged_in_every_position() {
    let value = "$(touch pwned) 'é\n".repeat(60_000);
    assert!(value.len() > 1_000_000);
    for position in POSITIONS.iter().filter(|position| !is_slow_in_bash(position.name)) {
        assert_arrives(position, &value);
    }
}

/// Positions in which bash itself needs time that grows with the square of the value.
fn is_slow_in_bash(name: &str) -> bool {
    matches!(name, "pattern" | "case")
}

// spec: W6
// fault: 80
#[test]
fn an_arithmetic_expression_executes_nothing() {
    for script in ARITHMETIC {
        for value in HOSTILE {
            run_script(script, value);
        }
    }
}

// spec: W6
// fault: 80
#[test]
fn an_expression_with_a_variable_executes_nothing() {
    for script in EXPRESSIONS_WITH_VARIABLES {
        for value in HOSTILE.iter().filter(|value| value.contains("touch")) {
            run_script(script, value);
        }
    }
}

// spec: W6
// fault: 80
#[test]
fn a_script_that_evaluates_a_value_as_a_name_or_a_program_is_refused() {
    for script in REFUSED {
        let found = rewrite_script(script).unsafe_uses;
        assert!(!found.is_empty(), "accepted: {script}");
        assert!(script.get(found[0].range.clone()).is_some_and(|part| !part.is_empty()), "{script}: {found:?}");
    }
    for script in POSITIONS.iter().map(|position| &position.script).chain(ARITHMETIC).chain(EXPRESSIONS_WITH_VARIABLES)
    {
        assert_eq!(rewrite_script(script).unsafe_uses, [], "{script}");
    }
}

// spec: W6
// fault: 80
#[test]
fn a_command_that_takes_names_executes_no_value_beside_them() {
    for script in ACCEPTED {
        assert_eq!(rewrite_script(script).unsafe_uses, [], "{script}");
        for value in HOSTILE {
            run_script(script, value);
        }
    }
}

// spec: W6
#[test]
fn an_expression_with_a_variable_gets_its_number() {
    for script in EXPRESSIONS_WITH_VARIABLES {
        let output = run_script(script, "7");
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.trim_end().ends_with("ok"), "{script}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{script}");
    }
}

// spec: W6
#[test]
fn a_script_without_values_from_outside_keeps_its_expressions() {
    let output = run_script("a=0x10; b='a * 2'; n=3; echo $(( b + n ))", "");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "35\n");
}

// spec: W6
#[test]
fn an_arithmetic_expression_gets_its_number() {
    let output = run_script("echo $(( $v.output + 1 )); [[ $v.output -gt 41 ]] && echo yes", " 42\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "43\nyes\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    // spec: W6
    // fault: 79, 80
    #[test]
    fn any_value_arrives_unchanged(value in r#"([^\x00]|['"$`\\(){}\[\];&|<>#*?!~ \n\t-]|\$\(touch pwned\)|EOF\n){0,40}"#) {
        for position in POSITIONS {
            assert_arrives(position, &value);
        }
    }

    // spec: W6
    // fault: 80
    #[test]
    fn no_value_is_executed_as_arithmetic(value in r#"(\w|[\[\]$()+='" \n-]|\[\$\(touch pwned\)\]){0,20}"#) {
        for script in ARITHMETIC {
            run_script(script, &value);
        }
    }

    // spec: W6
    // fault: 80
    #[test]
    fn no_value_of_a_variable_is_executed_in_an_expression(
        script in proptest::sample::select(EXPRESSIONS_WITH_VARIABLES),
        value in r#"(\w|[\[\]$()+='" \n-]|[an]\[\$\(touch pwned\)\]){0,20}"#,
    ) {
        run_script(script, &value);
    }

    // spec: W6
    // fault: 80
    #[test]
    fn no_value_is_executed_where_it_is_the_name_of_a_variable(
        command in proptest::sample::select(NAME_COMMANDS),
        name in proptest::sample::select(NAMES),
        value in r#"(\w|[\[\]$()+='" -]|[an]\[\$\(touch pwned\)\]){0,12}"#,
    ) {
        let script = format!("n=$v.output; a=(1 2); declare -i i; {}", command.replace('@', name));
        if rewrite_script(&script).unsafe_uses.is_empty() {
            run_script(&script, &value);
        }
    }
}

// spec: W6
// fault: 80
#[test]
fn no_command_that_takes_a_name_executes_an_attack_in_any_of_its_names() {
    let scripts = NAME_COMMANDS.iter().flat_map(|command| NAMES.iter().map(|name| command.replace('@', name)));
    let scripts = scripts.map(|command| format!("n=$v.output; a=(1 2); declare -i i; {command}"));
    let accepted: Vec<String> = scripts.filter(|script| rewrite_script(script).unsafe_uses.is_empty()).collect();
    assert!(accepted.len() > 50, "most commands evaluate numbers: {}", accepted.len());
    for script in accepted {
        for value in ATTACKS {
            run_script(&script, value);
        }
    }
}
