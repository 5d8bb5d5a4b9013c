//! Tests of conditions: what parses, and what it means.
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::*;
use crate::workflow::output::{NodeOutput, OutputError, TypedOutput};
use crate::workflow::values::ValueError;

fn read_output(output: &NodeOutput, reference: &ValueReference) -> Result<Cow<'static, str>, ValueError> {
    let read = output.read(reference.field()).map(|text| Cow::Owned(text.into_owned()));
    read.map_err(|problem| ValueError::Output { reference: reference.to_string(), problem })
}

/// Evaluates a condition. The node `n` has this output, every other node has failed.
fn evaluate_with(condition: &str, output: &NodeOutput) -> Result<bool, ConditionError> {
    Condition::parse(condition).unwrap().evaluate(|reference| match reference.node() {
        Some(node) if node.as_str() == "n" => read_output(output, reference),
        _ => read_output(&NodeOutput::Failed, reference),
    })
}

fn evaluate(condition: &str) -> Result<bool, ConditionError> {
    let json = "{\"text\": \"a b\", \"count\": 7, \"ok\": true, \"none\": null, \"list\": [1], \"half\": \"0.5\"}";
    evaluate_with(condition, &NodeOutput::text(json))
}

#[track_caller]
fn assert_holds(condition: &str) {
    assert_eq!(evaluate(condition), Ok(true), "{condition}");
}

#[track_caller]
fn assert_fails(condition: &str) {
    assert_eq!(evaluate(condition), Ok(false), "{condition}");
}

#[track_caller]
fn assert_syntax_error(condition: &str, offset: usize, message: &str) {
    let expected = ConditionSyntaxError { offset, message: message.to_string() };
    assert_eq!(Condition::parse(condition), Err(expected), "{condition}");
}

// spec: W3
#[test]
fn texts_are_compared_exactly() {
    assert_holds("$n.output.text == 'a b'");
    assert_fails("$n.output.text == 'A b'");
    assert_holds("$n.output.text != 'a b '");
    assert_holds("$n.output.ok == 'true'");
    assert_holds("$n.output.count == '7'");
    assert_holds("$n.output.none == ''");
}

// spec: W3
#[test]
fn numbers_and_booleans_need_no_quotes() {
    assert_holds("$n.output.ok == true");
    assert_holds("$n.output.count == 7");
    assert_fails("$n.output.ok==false");
    assert_holds("$n.output.count > -1.5");
}

// spec: W3
#[test]
fn ordering_compares_numbers() {
    assert_holds("$n.output.count < '10'");
    assert_holds("$n.output.count <= 7 && $n.output.count >= 7");
    assert_fails("$n.output.count > 7");
    assert_holds("$n.output.half < 1");
}

// spec: W3
#[test]
fn ordering_of_something_else_is_an_error() {
    let error = evaluate("$n.output.text > 3").unwrap_err();
    assert_eq!(error.to_string(), "`>` compares numbers, and $n.output.text is `a b`");
    let error = evaluate_with("$n.output < 3", &NodeOutput::text("NaN")).unwrap_err();
    assert_eq!(error.to_string(), "`<` compares numbers, and $n.output is `NaN`");
}

// spec: W3
#[test]
fn a_list_cannot_be_compared() {
    let error = evaluate("$n.output.list == '[1]'").unwrap_err();
    assert_eq!(error, ConditionError::NotAScalar { reference: "$n.output.list".to_string() });
}

// spec: W3
#[test]
fn and_binds_tighter_than_or() {
    assert_holds("$n.output.ok == true || $n.output.ok == false && $n.output.ok == false");
    assert_fails("($n.output.ok == true || $n.output.ok == false) && $n.output.ok == false");
    assert_holds("$n.output.ok == false && $n.output.ok == false || $n.output.ok == true");
}

// spec: W3
#[test]
fn operators_in_a_literal_are_text() {
    let output = NodeOutput::text("a && b || (c)");
    assert_eq!(evaluate_with("$n.output == 'a && b || (c)'", &output), Ok(true));
}

// spec: W3
#[test]
fn blanks_around_a_whole_output_do_not_count() {
    let output = NodeOutput::text(" yes \n");
    assert_eq!(evaluate_with("$n.output == 'yes'", &output), Ok(true));
    assert_eq!(evaluate_with("$n.output != 'yes'", &output), Ok(false));
}

// spec: W3
#[test]
fn the_short_form_reads_a_field() {
    let short = Condition::parse("$n.count == 7").unwrap();
    let long = Condition::parse("$n.output.count == 7").unwrap();
    assert_eq!(short.any_of, long.any_of);
    assert_holds("$n.count == 7");
}

// spec: W3
#[test]
fn inputs_can_be_compared() {
    let condition = Condition::parse("$INPUTS.mode == 'fast'").unwrap();
    let names: Vec<&ValueReference> = condition.references().collect();
    assert_eq!(names, [&ValueReference::Input { name: "mode".to_string() }]);
    assert_eq!(condition.evaluate(|_| Ok(Cow::Borrowed("fast"))), Ok(true));
}

// spec: W3
#[test]
fn a_comparison_that_cannot_change_the_result_is_not_evaluated() {
    assert_holds("$n.output.ok == true || $failed.output == 'x'");
    assert_fails("$n.output.ok == false && $failed.output == 'x'");
    let error = evaluate("$n.output.ok == false || $failed.output == 'x'").unwrap_err();
    assert_eq!(error.to_string(), "$failed.output: the node has failed");
}

// spec: W3
#[test]
fn a_missing_field_is_an_error() {
    let error = evaluate("$n.output.nope == 'x'").unwrap_err();
    let present = "count, half, list, none, ok, text";
    assert_eq!(error.to_string(), alloc::format!("$n.output.nope: the output has no field `nope`; it has {present}"));
}

// spec: W3
#[test]
fn a_declared_field_that_is_absent_is_empty() {
    let value = serde_json::json!({ "a": 1 });
    let declared_fields = Some(["a", "b"].map(ToString::to_string).to_vec());
    let output = TypedOutput { value, declared_fields, allows_other_fields: false }.into_output();
    assert_eq!(evaluate_with("$n.output.b == ''", &output), Ok(true));
    let undeclared =
        OutputError::UndeclaredField { field: "c".to_string(), declared: ["a", "b"].map(ToString::to_string).to_vec() };
    let expected = ValueError::Output { reference: "$n.output.c".to_string(), problem: undeclared };
    assert_eq!(evaluate_with("$n.output.c == ''", &output), Err(ConditionError::Value(expected)));
}

// spec: W3
#[test]
fn a_skipped_node_has_an_empty_output_and_no_fields() {
    assert_eq!(evaluate_with("$n.output == ''", &NodeOutput::Skipped), Ok(true));
    let error = evaluate_with("$n.output.x != 'y'", &NodeOutput::Skipped).unwrap_err();
    assert_eq!(error.to_string(), "$n.output.x: the node was skipped, so it has no field `x`");
}

// spec: W3
#[test]
fn a_text_that_is_not_a_condition_is_an_error_with_its_position() {
    assert_syntax_error("", 0, "expected a reference such as `$id.output.field`, found the end");
    assert_syntax_error("n.output == 'x'", 0, "expected a reference such as `$id.output.field`, found `n.output`");
    assert_syntax_error("$n == 'x'", 0, "expected a reference such as `$id.output.field`, found `$n`");
    assert_syntax_error("$n.output.a.b == 'x'", 0, "a reference names one field: `$id.output.field`");
    let operators = "expected `==`, `!=`, `<`, `>`, `<=` or `>=`";
    assert_syntax_error("$n.output | length > 0", 10, &alloc::format!("{operators}, found `|`"));
    assert_syntax_error("$n.output = 'x'", 10, &alloc::format!("{operators}, found `=`"));
    assert_syntax_error("$n.output", 9, &alloc::format!("{operators}, found the end"));
    assert_syntax_error("$n.output == 'x", 13, "the closing `'` is missing");
    assert_syntax_error("$n.output == \"x\"", 13, "texts have single quotes: `'value'`");
    let literals = "expected a literal: `'text'`, a number, `true` or `false`";
    assert_syntax_error("$n.output == yes", 13, &alloc::format!("{literals}, found `yes`"));
    assert_syntax_error("$n.output == 1.", 13, &alloc::format!("{literals}, found `1.`"));
    assert_syntax_error("$n.output == $m.output", 13, &alloc::format!("{literals}, found `$m.output`"));
    assert_syntax_error("$n.output == 'x' and", 17, "expected `&&`, `||` or the end, found `and`");
    assert_syntax_error("$n.output == 'x' &&", 19, "expected a reference such as `$id.output.field`, found the end");
    assert_syntax_error("($n.output == 'x'", 17, "expected `)`, found the end");
    assert_syntax_error("$n.output > 'many'", 12, "`>` compares numbers, and `many` is not a number");
}

// spec: W3
#[test]
fn a_condition_that_grows_without_limit_is_refused() {
    let pair = "($n.output == 'a' || $n.output == 'b')";
    let long = [pair; 12].join(" && ");
    assert!(Condition::parse(&long).unwrap_err().message.contains("too long"));
    let deep = "(".repeat(10_000);
    assert_syntax_error(&deep, 16, "the parentheses are nested too deeply");
}
