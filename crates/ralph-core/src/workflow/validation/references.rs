//! Checks that references have a value: known nodes, declared fields, known inputs.
use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use super::graph_index::GraphIndex;
use super::{GraphProblemKind, GraphValidator};
use crate::workflow::node::{Node, NodeId, NodeKind};
use crate::workflow::node_texts::{NodeText, TextRole};
use crate::workflow::references::{TextReference, ValueReference, find_references, parse_value_reference};
use crate::workflow::script_code::find_refused_references;
use crate::workflow::shell::{UnsafeUseKind, find_script_references, rewrite_script, takes_outside_values};

pub(super) fn check_references<'a>(
    validator: &mut GraphValidator<'a>,
    node: &'a Node,
    index: &GraphIndex<'a>,
    path: &[usize],
) {
    let mut checker = ReferenceChecker { validator, node, index, path };
    checker.check_condition();
    for text in node.texts() {
        checker.check_text(&text);
    }
}

struct ReferenceChecker<'v, 'a> {
    validator: &'v mut GraphValidator<'a>,
    node: &'a Node,
    index: &'v GraphIndex<'a>,
    path: &'v [usize],
}

/// A reference in a text.
struct WrittenReference<'r> {
    reference: &'r ValueReference,
    /// As written.
    part: &'r str,
    role: TextRole,
    field: &'r Cow<'static, str>,
}

impl<'a> ReferenceChecker<'_, 'a> {
    fn report(&mut self, written: &WrittenReference<'_>, kind: GraphProblemKind) {
        self.validator.report(self.path, written.field.clone(), Some(written.part), kind);
    }

    fn check_condition(&mut self) {
        let Some(condition) = &self.node.when else { return };
        let field = Cow::Borrowed("when");
        for reference in condition.references() {
            // The short form `$ID.field` has no `.output` in the file.
            let part = shared_start(reference);
            let written = WrittenReference { reference, part: &part, role: TextRole::Value, field: &field };
            self.check_reference(&written);
            self.check_whole_answer(&written);
        }
    }

    /// Text equality with everything that an agent said holds almost never.
    fn check_whole_answer(&mut self, written: &WrittenReference<'_>) {
        let ValueReference::Output { node: id, field: None } = written.reference else { return };
        let Some(producer) = self.index.find(id) else { return };
        if producer.node.kind.agent_options().is_some() && producer.node.output_format.is_none() {
            self.report(written, GraphProblemKind::WholeAnswerCompared { id: id.clone() });
        }
    }

    fn check_text(&mut self, text: &NodeText<'_>) {
        for found in find_text_references(text) {
            let written = WrittenReference {
                reference: &found.reference,
                part: &found.part,
                role: text.role,
                field: &text.field,
            };
            self.check_reference(&written);
            if matches!(text.role, TextRole::Code(_)) {
                let kind = GraphProblemKind::ReferenceInCode { reference: found.part.clone() };
                self.report(&written, kind);
            }
        }
        if text.role == TextRole::Shell {
            self.check_other_references(text);
        }
    }

    /// Checks what the shell does not replace: references in comments, and variables in single quotes.
    fn check_other_references(&mut self, text: &NodeText<'_>) {
        let all = find_references(text.text);
        if !all.is_empty() || takes_outside_values(text.text) {
            for unsafe_use in rewrite_script(text.text).unsafe_uses {
                let part = text.text.get(unsafe_use.range).unwrap_or_default();
                let kind = match unsafe_use.kind {
                    UnsafeUseKind::Name => GraphProblemKind::ValueAsName { part: part.to_string() },
                    UnsafeUseKind::Program => GraphProblemKind::ValueAsProgram { part: part.to_string() },
                };
                self.validator.report(self.path, text.field.clone(), Some(part), kind);
            }
        }
        let has_variables = all.iter().any(|found| matches!(found.reference, TextReference::Variable(_)));
        if has_variables && text.text.contains('\'') {
            for unexpanded in rewrite_script(text.text).unexpanded_variables {
                let part = text.text.get(unexpanded.range).unwrap_or_default();
                let kind = GraphProblemKind::NotExpanded { variable: part.to_string() };
                self.validator.report(self.path, text.field.clone(), Some(part), kind);
            }
        }
        let unknown = all.into_iter().filter_map(|found| match found.reference {
            TextReference::Value(ValueReference::Output { node, .. }) => Some((found.range, node)),
            TextReference::Value(_) | TextReference::Variable(_) => None,
        });
        let unknown: Vec<(Range<usize>, NodeId)> = unknown.filter(|(_, id)| self.index.find(id).is_none()).collect();
        if unknown.is_empty() {
            return;
        }
        let read = find_script_references(text.text);
        for (range, id) in
            unknown.into_iter().filter(|(range, _)| read.iter().all(|read| read.range.start != range.start))
        {
            let part = text.text.get(range).unwrap_or_default();
            let kind = GraphProblemKind::LiteralReference { reference: part.to_string(), id };
            self.validator.report(self.path, text.field.clone(), Some(part), kind);
        }
    }

    fn check_reference(&mut self, written: &WrittenReference<'_>) {
        match written.reference {
            ValueReference::Output { node, field } => self.check_output(written, node, field.as_deref()),
            ValueReference::PreviousOutput { node, field } => self.check_previous(written, node, field.as_deref()),
            ValueReference::Input { name } => self.check_input(written, name),
        }
    }

    fn check_output(&mut self, written: &WrittenReference<'_>, id: &NodeId, field: Option<&str>) {
        let own_path = self.path_of_text(written);
        match self.index.find(id).filter(|found| found.is_visible_from(&own_path)) {
            None => self.report_unknown_node(written, id),
            Some(producer) => {
                let (node, is_own_graph) = (producer.node, producer.has_same_graph(self.path));
                self.check_field(written, node, field);
                if is_own_graph && id != &self.node.id && self.index.runs_before(id, self.node) == Some(false) {
                    let reference = written.reference.to_string();
                    self.report(written, GraphProblemKind::NotUpstream { reference, id: id.clone() });
                }
            }
        }
    }

    /// Texts that control a loop group can also read the nodes inside it.
    fn path_of_text(&self, written: &WrittenReference<'_>) -> Vec<usize> {
        let mut path = self.path.to_vec();
        let is_control = matches!(self.node.kind, NodeKind::LoopGroup(_)) && written.field.starts_with("loop_group.");
        if is_control {
            path.push(0);
        }
        path
    }

    fn report_unknown_node(&mut self, written: &WrittenReference<'_>, id: &NodeId) {
        let reference = written.reference.to_string();
        let kind = match written.role {
            TextRole::Prompt => GraphProblemKind::LiteralReference { reference, id: id.clone() },
            TextRole::Shell | TextRole::Code(_) | TextRole::Value => {
                let similar = self.index.find_similar(id).cloned();
                GraphProblemKind::UnknownReference { reference, id: id.clone(), similar }
            }
        };
        self.report(written, kind);
    }

    fn check_field(&mut self, written: &WrittenReference<'_>, producer: &Node, field: Option<&str>) {
        let Some(field) = field.filter(|field| !producer.may_have_field(field)) else { return };
        let (reference, id) = (written.reference.to_string(), producer.id.clone());
        self.report(written, GraphProblemKind::UndeclaredField { reference, id, field: field.to_string() });
    }

    fn check_previous(&mut self, written: &WrittenReference<'_>, id: &NodeId, field: Option<&str>) {
        let found = self.index.find(id);
        let is_in_group =
            found.is_some_and(|found| found.path.len() > 1 && found.is_visible_from(&self.path_of_text(written)));
        match found {
            None => self.report_unknown_node(written, id),
            Some(_) if !is_in_group => {
                let reference = written.reference.to_string();
                self.report(written, GraphProblemKind::NotInLoopGroup { reference, id: id.clone() });
            }
            Some(producer) => {
                let producer = producer.node;
                self.check_field(written, producer, field);
            }
        }
    }

    /// Only a workflow that declares its inputs can say which names are wrong.
    fn check_input(&mut self, written: &WrittenReference<'_>, name: &str) {
        let declared = &self.validator.workflow.inputs;
        let is_known = declared.is_empty() || declared.contains_key(name) || self.node.inputs.contains_key(name);
        if !is_known {
            let reference = written.reference.to_string();
            self.report(written, GraphProblemKind::UnknownInput { reference, name: name.to_string() });
        }
    }
}

/// Returns the part of a reference that is the same in both forms.
fn shared_start(reference: &ValueReference) -> String {
    match reference {
        ValueReference::Output { node, .. } => alloc::format!("${node}."),
        ValueReference::PreviousOutput { .. } | ValueReference::Input { .. } => reference.to_string(),
    }
}

struct PartReference {
    reference: ValueReference,
    part: String,
}

fn find_text_references(text: &NodeText<'_>) -> Vec<PartReference> {
    let part_of = |range: Range<usize>| text.text.get(range).unwrap_or_default().to_string();
    match text.role {
        TextRole::Prompt | TextRole::Value => find_references(text.text)
            .into_iter()
            .filter_map(|found| match found.reference {
                TextReference::Value(reference) => Some(PartReference { part: part_of(found.range), reference }),
                TextReference::Variable(_) => None,
            })
            .collect(),
        TextRole::Shell => find_script_references(text.text)
            .into_iter()
            .map(|found| PartReference { part: part_of(found.range), reference: found.reference })
            .collect(),
        TextRole::Code(runtime) => find_refused_references(text.text, runtime)
            .into_iter()
            .filter_map(|found| {
                let (reference, _) = parse_value_reference(found.reference.strip_prefix('$')?)?;
                Some(PartReference { part: part_of(found.range), reference })
            })
            .collect(),
    }
}
