//! Checks that loops can end.
use alloc::borrow::Cow;

use super::{GraphProblemKind, GraphValidator};
use crate::workflow::node::{LoopControl, Node, NodeKind};

pub(super) fn check_loops(validator: &mut GraphValidator<'_>, node: &Node, path: &[usize]) {
    match &node.kind {
        NodeKind::Loop(looping) => {
            check_control(validator, &looping.control, looping.until_field.is_some(), path, "loop");
            if let Some(field) = looping.until_field.as_ref().filter(|field| !node.requires_boolean(field)) {
                let kind = GraphProblemKind::CompletionFieldNotDeclared(field.clone());
                validator.report(path, Cow::Borrowed("loop.until_field"), None, kind);
            }
        }
        NodeKind::LoopGroup(group) => {
            check_control(validator, &group.control, false, path, "loop_group");
            if group.nodes.is_empty() {
                validator.report(path, Cow::Borrowed("loop_group.nodes"), None, GraphProblemKind::EmptyGroup);
            }
        }
        NodeKind::Workflow(_) if path.len() > 1 => {
            validator.report(path, Cow::Borrowed("workflow"), None, GraphProblemKind::ChildInGroup);
        }
        NodeKind::Agent(_)
        | NodeKind::Bash(_)
        | NodeKind::Script(_)
        | NodeKind::Approval(_)
        | NodeKind::Cancel { .. }
        | NodeKind::Workflow(_)
        | NodeKind::Checks(_) => {}
    }
}

fn check_control(
    validator: &mut GraphValidator<'_>,
    control: &LoopControl,
    has_field: bool,
    path: &[usize],
    key: &'static str,
) {
    if control.max_iterations == 0 {
        let field = alloc::format!("{key}.max_iterations");
        validator.report(path, Cow::Owned(field), None, GraphProblemKind::NoIterations);
    }
    let can_complete =
        has_field || control.until.is_some() || control.until_bash.is_some() || !control.checks.is_empty();
    if !can_complete {
        validator.report(path, Cow::Borrowed(key), None, GraphProblemKind::NoCompletion);
    }
}
