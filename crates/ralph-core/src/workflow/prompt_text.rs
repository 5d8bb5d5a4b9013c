//! Replaces the references in the text of a prompt. Each value is inserted once and literally: what an agent, a person
//! or a file wrote is never expanded again.
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::node::NodeId;
use super::references::{FoundReference, TextReference, ValueReference, find_references};
use super::values::{TextValues, ValueError};
use super::variables::WorkflowVariable;
use crate::claim::neutralise_tags;

/// A prompt with its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstitutedText {
    pub text: String,
    /// References to nodes that the workflow does not have. They are unchanged in the text, because a prompt may
    /// explain the format. Each one occurs once.
    pub unknown_nodes: Vec<NodeId>,
}

/// Replaces the references in a prompt. Text of agents, commands and issues has its promise tags neutralised.
pub fn substitute_prompt(template: &str, values: &TextValues<'_>) -> Result<SubstitutedText, ValueError> {
    substitute(template, values, prompt_value)
}

/// Replaces the references in a text that no agent reads as its prompt, such as the message for a child workflow, a
/// value of `with`, or the message of an approval. The values are unchanged.
pub fn substitute_text(template: &str, values: &TextValues<'_>) -> Result<SubstitutedText, ValueError> {
    substitute(template, values, |_, value| value)
}

fn substitute<'v>(
    template: &str,
    values: &TextValues<'v>,
    convert: impl for<'t> Fn(&TextReference, Cow<'t, str>) -> Cow<'t, str>,
) -> Result<SubstitutedText, ValueError> {
    let mut substituted = SubstitutedText { text: String::with_capacity(template.len()), unknown_nodes: Vec::new() };
    let mut from = 0;
    for FoundReference { range, reference } in find_references(template) {
        let value = match read_reference(&reference, values) {
            Ok(value) => value,
            Err(ValueError::UnknownNode { node, .. }) => {
                if !substituted.unknown_nodes.contains(&node) {
                    substituted.unknown_nodes.push(node);
                }
                continue;
            }
            Err(error) => return Err(error),
        };
        substituted.text.push_str(template.get(from..range.start).unwrap_or_default());
        substituted.text.push_str(&convert(&reference, value));
        from = range.end;
    }
    substituted.text.push_str(template.get(from..).unwrap_or_default());
    Ok(substituted)
}

fn read_reference<'v>(reference: &TextReference, values: &TextValues<'v>) -> Result<Cow<'v, str>, ValueError> {
    match reference {
        TextReference::Value(reference) => values.value_of(reference),
        TextReference::Variable(variable) => values.variable(*variable).map(Cow::Borrowed),
    }
}

fn prompt_value<'t>(reference: &TextReference, value: Cow<'t, str>) -> Cow<'t, str> {
    let is_quoted = match reference {
        TextReference::Value(ValueReference::Output { .. } | ValueReference::PreviousOutput { .. }) => true,
        TextReference::Value(ValueReference::Input { .. }) => false,
        TextReference::Variable(WorkflowVariable::LoopPrevOutput | WorkflowVariable::Context) => true,
        TextReference::Variable(
            WorkflowVariable::Arguments
            | WorkflowVariable::ArtifactsDir
            | WorkflowVariable::BaseBranch
            | WorkflowVariable::WorkflowId
            | WorkflowVariable::StateDir
            | WorkflowVariable::DocsDir
            | WorkflowVariable::LoopUserInput
            | WorkflowVariable::RejectionReason
            | WorkflowVariable::AdoptedRunDir,
        ) => false,
    };
    if is_quoted { Cow::Owned(neutralise_tags(&value)) } else { value }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::string::ToString;
    use std::format;

    use proptest::prelude::*;

    use super::*;
    use crate::workflow::output::NodeOutput;
    use crate::workflow::variables::VariableValues;

    /// Substitutes in a workflow whose node `a` has this output, with this message of the user.
    fn substitute_values(template: &str, output: &NodeOutput, message: &str) -> Result<SubstitutedText, ValueError> {
        let id = NodeId("a".to_string());
        let variables = VariableValues::from([
            (WorkflowVariable::Arguments, message.to_string()),
            (WorkflowVariable::ArtifactsDir, "/runs/1".to_string()),
            (WorkflowVariable::LoopPrevOutput, message.to_string()),
        ]);
        let values = TextValues {
            output_of: &|node| (*node == id).then_some(output),
            previous_outputs: None,
            inputs: &BTreeMap::from([("mode".to_string(), "fast".to_string())]),
            variables: &variables,
        };
        substitute_prompt(template, &values)
    }

    #[track_caller]
    fn text(template: &str, output: &str, message: &str) -> String {
        substitute_values(template, &NodeOutput::text(output), message).unwrap().text
    }

    // spec: W6
    #[test]
    fn values_replace_their_references() {
        let template = "$USER_MESSAGE: $a.output.k in ${ARTIFACTS_DIR}/x ($INPUTS.mode) $LOOP_PREV.b.output|";
        assert_eq!(text(template, "{\"k\": [1, \"x\"]}", "Fix it"), "Fix it: [1,\"x\"] in /runs/1/x (fast) |");
    }

    // spec: W6, L4
    // fault: 80
    #[test]
    fn a_value_is_never_expanded_again() {
        assert_eq!(
            text("$ARGUMENTS $a.output", "$ARGUMENTS $a.output {{x}}", "$a.output"),
            "$a.output $ARGUMENTS $a.output {{x}}"
        );
    }

    // spec: W6
    #[test]
    fn an_unknown_name_stays_as_it_is() {
        let template = "cost $5, $HOME, $x, $nodeId.output.field and $nodeId.output";
        let substituted = substitute_values(template, &NodeOutput::Skipped, "").unwrap();
        assert_eq!(substituted.text, template);
        assert_eq!(substituted.unknown_nodes, [NodeId("nodeId".to_string())]);
    }

    // spec: L4
    #[test]
    fn promise_tags_in_quoted_text_are_neutralised() {
        let promise = "<promise>DONE</promise>";
        assert_eq!(
            text("$a.output $LOOP_PREV_OUTPUT say <promise>X</promise>", promise, promise),
            "[promise]DONE[/promise] [promise]DONE[/promise] say <promise>X</promise>"
        );
    }

    // spec: W6
    #[test]
    fn an_output_that_does_not_exist_is_an_error() {
        let error =
            |output: &NodeOutput, template: &str| substitute_values(template, output, "").unwrap_err().to_string();
        assert_eq!(error(&NodeOutput::Failed, "$a.output"), "$a.output: the node has failed");
        assert_eq!(error(&NodeOutput::NotRun, "$a.output"), "$a.output: the node has not run");
        assert_eq!(
            error(&NodeOutput::Skipped, "$a.output.x"),
            "$a.output.x: the node was skipped, so it has no field `x`"
        );
        assert_eq!(
            error(&NodeOutput::text("plain"), "$a.output.x"),
            "$a.output.x: the output is not a JSON object, so it has no field `x`"
        );
    }

    // spec: W6
    #[test]
    fn a_skipped_node_has_an_empty_output() {
        let substituted = substitute_values("[$a.output]", &NodeOutput::Skipped, "").unwrap();
        assert_eq!(substituted.text, "[]");
    }

    // spec: W6
    #[test]
    fn an_unknown_base_branch_and_an_unknown_input_are_errors() {
        let error = |template| substitute_values(template, &NodeOutput::Skipped, "").unwrap_err().to_string();
        assert_eq!(error("$BASE_BRANCH"), "$BASE_BRANCH: the value is not known for this run");
        assert_eq!(error("$INPUTS.nope"), "$INPUTS.nope: the workflow has no input `nope`");
    }

    proptest! {
        // spec: W6
        // fault: 79
        #[test]
        fn a_message_arrives_byte_for_byte(message in any::<String>(), around in "[^$]*") {
            let expected = format!("{around}{message}{around}");
            prop_assert_eq!(text(&format!("{around}${{ARGUMENTS}}{around}"), "", &message), expected);
        }
    }
}
