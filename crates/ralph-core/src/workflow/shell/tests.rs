//! The rewritten text for each position of a reference. `crates/ralph-app/tests/shell_values.rs` runs such scripts.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use std::format;

use super::*;
use crate::workflow::node::NodeId;
use crate::workflow::output::NodeOutput;
use crate::workflow::values::{TextValues, ValueError};
use crate::workflow::variables::VariableValues;

fn rewritten(script: &str) -> String {
    rewrite_script(script).text
}

#[track_caller]
fn assert_rewritten(pairs: &[(&str, &str)]) {
    for (script, expected) in pairs {
        assert_eq!(&rewritten(script), expected, "rewritten from: {script}");
    }
}

// spec: W6
#[test]
fn outside_of_quotes_a_value_is_one_word() {
    assert_rewritten(&[
        ("x=$a.output", "x=\"${RALPH_V1}\""),
        ("echo $a.output.f/$b.output", "echo \"${RALPH_V1}\"/\"${RALPH_V2}\""),
        ("test $a.output = $a.output", "test \"${RALPH_V1}\" = \"${RALPH_V1}\""),
        ("a=(1 $a.output)", "a=(1 \"${RALPH_V1}\")"),
        ("cat <<< $a.output", "cat <<< \"${RALPH_V1}\""),
        ("diff <(echo $a.output) x", "diff <(echo \"${RALPH_V1}\") x"),
        ("echo ${x:-$a.output}", "echo ${x:-\"${RALPH_V1}\"}"),
    ]);
}

// spec: W6
#[test]
fn in_double_quotes_a_value_has_no_quotes_of_its_own() {
    assert_rewritten(&[
        ("echo \"a $a.output.f b\"", "echo \"a ${RALPH_V1} b\""),
        ("echo \"${x:-$a.output}\"", "echo \"${x:-${RALPH_V1}}\""),
        ("echo \"it's $a.output\"", "echo \"it's ${RALPH_V1}\""),
        ("echo $\"a $a.output\"", "echo $\"a ${RALPH_V1}\""),
        ("echo \"$(echo $a.output)\"", "echo \"$(echo \"${RALPH_V1}\")\""),
        ("echo \"$(echo \"$a.output\")\"", "echo \"$(echo \"${RALPH_V1}\")\""),
    ]);
}

// spec: W6
#[test]
fn single_quotes_are_left_for_a_value() {
    assert_rewritten(&[
        ("echo 'a $a.output b'", "echo 'a '\"${RALPH_V1}\"' b'"),
        ("echo $'a\\'$a.output'", "echo $'a\\''\"${RALPH_V1}\"$''"),
        ("echo ${x:-'$a.output'}", "echo ${x:-''\"${RALPH_V1}\"''}"),
        ("echo \"${x:-'$a.output'}\"", "echo \"${x:-'${RALPH_V1}'}\""),
        ("echo \"${x#'$a.output'}\"", "echo \"${x#''\"${RALPH_V1}\"''}\""),
    ]);
}

// spec: W6
#[test]
fn a_here_document_that_expands_takes_the_value_as_it_is() {
    assert_rewritten(&[
        ("cat <<EOF\n'$a.output'\nEOF\necho '$x'", "cat <<EOF\n'${RALPH_V1}'\nEOF\necho '$x'"),
        ("cat <<-EOF\n\t$a.output\n\tEOF\necho $a.output", "cat <<-EOF\n\t${RALPH_V1}\n\tEOF\necho \"${RALPH_V1}\""),
        ("cat <<A <<B\n$a.output\nA\n'$a.output\nB\nx", "cat <<A <<B\n${RALPH_V1}\nA\n'${RALPH_V1}\nB\nx"),
        ("cat <<EOF\n$(echo $a.output)\nEOF", "cat <<EOF\n$(echo \"${RALPH_V1}\")\nEOF"),
        ("cat <<EOF\na\\\nEOF\n'$a.output'\nEOF", "cat <<EOF\na\\\nEOF\n'${RALPH_V1}'\nEOF"),
    ]);
}

// spec: W6
#[test]
fn a_quoted_here_document_expands_the_value_and_nothing_else() {
    assert_rewritten(&[
        ("cat <<'EOF'\n$HOME `id` \\n $a.output\nEOF\n", "cat <<EOF\n\\$HOME \\`id\\` \\\\n ${RALPH_V1}\nEOF\n"),
        ("cat <<-\"EOF\"\n\t$a.output\n\tEOF\n", "cat <<-EOF\n\t${RALPH_V1}\n\tEOF\n"),
        ("cat <<\\EOF | wc\n$a.output\nEOF", "cat <<EOF | wc\n${RALPH_V1}\nEOF"),
        ("x=$(cat <<'EOF'\n$a.output\nEOF\n)\n", "x=$(cat <<EOF\n${RALPH_V1}\nEOF\n)\n"),
        ("cat <<'END 1'\n$a.output RALPH_END\nEND 1\n", "cat <<RALPH_END_\n${RALPH_V1} RALPH_END\nRALPH_END_\n"),
        ("cat <<'EOF'\n$ARTIFACTS_DIR $HOME\nEOF\n", "cat <<EOF\n${ARTIFACTS_DIR} \\$HOME\nEOF\n"),
    ]);
}

// spec: W6
#[test]
fn a_quoted_here_document_without_references_is_unchanged() {
    let script = "node <<'EOF'\nconsole.log(`${ARTIFACTS_DIR}/$x`)\nEOF\n";
    assert_eq!(rewritten(script), script);
}

// spec: W6
#[test]
fn text_that_the_shell_does_not_expand_is_unchanged() {
    for script in [
        "# $a.output",
        "echo x # it's $a.output",
        "echo \\$a.output",
        "echo \"\\$a.output\"",
        "echo $$a.output",
        "echo ${a.output}",
        "echo $a.outputs $a.output_dir",
        "case x in x) # $a.output\n;; esac",
    ] {
        assert_eq!(rewritten(script), script);
        assert_eq!(find_script_references(script), []);
    }
}

// spec: W6
#[test]
fn a_sign_inside_of_a_word_starts_no_comment() {
    assert_rewritten(&[
        ("echo a#$a.output", "echo a#\"${RALPH_V1}\""),
        ("echo ${#x} $# $a.output", "echo ${#x} $# \"${RALPH_V1}\""),
        ("echo $(( 16#ff )) $a.output", "echo $(( 16#ff )) \"${RALPH_V1}\""),
    ]);
}

// spec: W6
#[test]
fn a_command_in_backquotes_with_a_reference_becomes_a_substitution() {
    assert_rewritten(&[
        ("x=`echo $a.output`", "x=$(echo \"${RALPH_V1}\"\n)"),
        ("echo \"`echo \\\"$a.output\\\"`\"", "echo \"$(echo \"${RALPH_V1}\"\n)\""),
        ("x=`echo \\`echo $a.output\\``", "x=$(echo $(echo \"${RALPH_V1}\"\n)\n)"),
        ("x=`date`; y=$a.output", "x=`date`; y=\"${RALPH_V1}\""),
    ]);
}

// spec: W6
#[test]
fn the_pattern_of_a_case_does_not_end_a_substitution() {
    assert_rewritten(&[(
        "x=$(case $a.output in a) echo 'b';; (c) echo \"$a.output\";; esac); echo '$a.output'",
        "x=$(case \"${RALPH_V1}\" in a) echo 'b';; (c) echo \"${RALPH_V1}\";; esac); echo ''\"${RALPH_V1}\"''",
    )]);
}

// spec: W6
// fault: 80
#[test]
fn an_arithmetic_expression_gets_only_numbers() {
    assert_rewritten(&[
        ("echo $(( $a.output + 1 ))", "echo $(( ${RALPH_N1} + 1 ))"),
        ("(( $a.output > 1 )) && x", "(( ${RALPH_N1} > 1 )) && x"),
        ("if (( $a.output )); then x; fi", "if (( ${RALPH_N1} )); then x; fi"),
        (
            "for ((i=0; i<$a.output; i++)); do x; done",
            "for ((0${i:++${i//*[!-+0123456789 ]*/ 1 1 }}, i=0;0${i:++${i//*[!-+0123456789 ]*/ 1 1 }},  \
             i<${RALPH_N1};0${i:++${i//*[!-+0123456789 ]*/ 1 1 }},  i++)); do x; done",
        ),
        ("[[ $a.output -gt 1 ]]", "[[ \"${RALPH_N1}\" -gt 1 ]]"),
        ("[[ 1 -lt \"$a.output\" && $a.output == x ]]", "[[ 1 -lt \"${RALPH_N1}\" && \"${RALPH_V2}\" == x ]]"),
        ("let x=$a.output", "let x=\"${RALPH_N1}\""),
        ("let x+=$a.output", "let \"0${x:++${x//*[!-+0123456789 ]*/ 1 1 }}\" x+=\"${RALPH_N1}\""),
        ("declare -i x=$a.output", "declare -i x=\"${RALPH_N1}\""),
        ("echo ${x:$a.output:2}", "echo ${x:${RALPH_N1}:2}"),
        ("echo ${x[$a.output]}", "echo ${x[${RALPH_N1}]}"),
        ("x[$a.output]=1", "x[${RALPH_N1}]=1"),
    ]);
}

// spec: W6
#[test]
fn a_comparison_that_takes_texts_gets_the_text() {
    assert_rewritten(&[
        ("[ \"$a.output\" -gt 1 ]", "[ \"${RALPH_V1}\" -gt 1 ]"),
        ("[[ $x == $(echo $a.output) ]]", "[[ $x == $(echo \"${RALPH_V1}\") ]]"),
        ("declare -A m; echo ${m[$a.output]}", "declare -A m; echo ${m[${RALPH_V1}]}"),
        ("x=$((cd /; echo $a.output) | wc)", "x=$((cd /; echo \"${RALPH_V1}\") | wc)"),
    ]);
}

// spec: W6
// fault: 80
#[test]
fn the_variables_of_an_expression_are_checked_if_the_script_takes_values() {
    let n = "${n//*[!-+0123456789 ]*/ 1 1 }";
    let guard = format!("0${{n:++{n}}}");
    assert_rewritten(&[
        ("n=$a.output; (( n > 1 ))", &format!("n=\"${{RALPH_V1}}\"; (( {guard},  n > 1 ))").replace("(( 0", "((0")),
        ("n=$a.output; (( $n > 1 ))", &format!("n=\"${{RALPH_V1}}\"; (( {n} > 1 ))")),
        ("n=$a.output; [[ $n -gt 1 ]]", &format!("n=\"${{RALPH_V1}}\"; [[ {n} -gt 1 ]]")),
        ("n=$a.output; [[ n -gt 1 ]]", &format!("n=\"${{RALPH_V1}}\"; [[ {n} -gt 1 ]]")),
        ("n=1; (( n > 1 ))", "n=1; (( n > 1 ))"),
    ]);
    let called = rewritten("[[ $(echo $a.output) -gt 1 ]]");
    assert!(called.ends_with("; [[ $(__ralph_number \"$(echo \"${RALPH_V1}\")\") -gt 1 ]]"), "{called}");
}

// spec: W6
#[test]
fn paths_and_ids_reach_the_places_that_the_shell_does_not_expand() {
    let script = rewrite_script("python3 -c 'open(\"$ARTIFACTS_DIR/a\")' \"$ARTIFACTS_DIR\"");
    assert_eq!(script.text, "python3 -c 'open(\"'\"${ARTIFACTS_DIR}\"'/a\")' \"$ARTIFACTS_DIR\"");
    assert_eq!(script.spliced_variables.into_iter().collect::<Vec<_>>(), [WorkflowVariable::ArtifactsDir]);
}

// spec: W6
#[test]
fn the_message_of_the_user_in_single_quotes_stays_and_is_reported() {
    let script = rewrite_script("echo '$ARGUMENTS'");
    assert_eq!(script.text, "echo '$ARGUMENTS'");
    let expected = UnexpandedVariable { range: 6..16, variable: WorkflowVariable::Arguments };
    assert_eq!(script.unexpanded_variables, [expected]);
}

// spec: W6
#[test]
fn references_have_their_positions_in_the_script() {
    let script = "# $no.output\necho '$a.output' \"$(b \"$INPUTS.c\")\"\ncat <<'E'\n$LOOP_PREV.d.output.e\nE\necho `f $g.output`";
    let found = find_script_references(script);
    let written: Vec<&str> = found.iter().map(|found| &script[found.range.clone()]).collect();
    assert_eq!(written, ["$a.output", "$INPUTS.c", "$LOOP_PREV.d.output.e", "$g.output"]);
}

fn bind(script: &str, output: &str) -> Result<BoundScript, ValueError> {
    let output = NodeOutput::text(output);
    let id = NodeId("a".to_string());
    let values = TextValues {
        output_of: &|node| (*node == id).then_some(&output),
        previous_outputs: None,
        inputs: &BTreeMap::new(),
        variables: &VariableValues::new(),
    };
    rewrite_script(script).bind(&values, "/run/it's")
}

fn pair(name: &str, value: &str) -> (String, String) {
    (name.to_string(), value.to_string())
}

// spec: W6
#[test]
fn a_value_is_in_the_environment() {
    let bound = bind("echo $a.output", "$(id)\n").unwrap();
    assert_eq!(bound.environment, [pair("RALPH_V1", "$(id)\n")]);
    assert_eq!(bound.text, "echo \"${RALPH_V1}\"");
}

// spec: W6
#[test]
fn a_value_that_is_too_large_for_the_environment_is_in_a_file() {
    let large = "y".repeat(MAX_VARIABLE_BYTES + 1);
    let bound = bind("echo $a.output", &large).unwrap();
    assert_eq!(bound.files, [ValueFile { variable: "RALPH_V1".to_string(), content: format!("{large}x") }]);
    let read = "RALPH_V1=$(<'/run/it'\\''s/RALPH_V1') || exit 1; RALPH_V1=${RALPH_V1%x}; ";
    assert_eq!(bound.text, format!("{read}echo \"${{RALPH_V1}}\""));
    assert_eq!(bound.environment, []);
}

// spec: W6
// fault: 80
#[test]
fn a_text_in_an_arithmetic_expression_is_a_syntax_error_of_the_expression() {
    let value = |text| bind("echo $(( $a.output ))", text).unwrap().environment;
    assert_eq!(value(" 42\n"), [pair("RALPH_N1", "42")]);
    assert_eq!(value("a[$(id)]"), [pair("RALPH_N1", "1 (not a number)")]);
}

// spec: W6
#[test]
fn an_unknown_base_branch_is_an_error_where_it_is_used() {
    let unknown = ValueError::UnknownVariable { variable: WorkflowVariable::BaseBranch };
    assert_eq!(bind("git diff $BASE_BRANCH", ""), Err(unknown));
    assert!(bind("git diff ${BASE_BRANCH:-main}", "").is_ok());
    assert!(bind("BASE_BRANCH=main; git diff $BASE_BRANCH", "").is_ok());
}

// spec: W6
#[test]
fn a_missing_node_is_an_error_with_the_reference() {
    let error = bind("echo $nope.output.x", "").unwrap_err();
    assert_eq!(error.to_string(), "$nope.output.x: the workflow has no node `nope`");
}

// spec: W6
#[test]
fn deep_nesting_needs_no_stack_and_no_long_time() {
    for part in ["$(", "\"$(", "${x:-", "$((", "(", "`", "<<A\n$(", "'", "[[ ", "case x in ", "$[", "\\`"] {
        let script = part.repeat(20_000) + "$a.output";
        assert!(rewritten(&script).len() >= 20_000);
    }
}
