//! Reads approvals and child workflows.
use std::collections::BTreeSet;

use ralph_core::workflow::{ApprovalNode, ChildWorkflowNode, Decision, FanOut, FanOutJoin, RejectRework};

use crate::workflows::keys::{APPROVAL_KEYS, DECISION_KEYS, FAN_OUT_KEYS, ON_REJECT_KEYS};
use crate::workflows::table::Table;

pub(super) fn read_approval(table: &Table<'_>) -> Option<ApprovalNode> {
    let approval = table.open_child("approval")?;
    approval.check_keys(APPROVAL_KEYS);
    let decisions = read_decisions(&approval);
    let on_reject = read_rework(&approval);
    if on_reject.is_some() && !decisions.is_empty() {
        let hint = "use decisions, and a node with `when` for the rework";
        approval.report_key("on_reject", "cannot be combined with decisions", hint);
    }
    Some(ApprovalNode {
        message: approval.require_text("message", "the question to the person")?,
        capture_response: approval.read_flag("capture_response").unwrap_or(false),
        on_reject,
        decisions,
    })
}

const DEFAULT_REWORK_ATTEMPTS: u32 = 3;

fn read_rework(approval: &Table<'_>) -> Option<RejectRework> {
    let rework = approval.open_child("on_reject")?;
    rework.check_keys(ON_REJECT_KEYS);
    let max_attempts = rework.read_count("max_attempts", 1..=10).unwrap_or(DEFAULT_REWORK_ATTEMPTS);
    Some(RejectRework { prompt: rework.require_text("prompt", "what the agent does after a rejection")?, max_attempts })
}

fn read_decisions(approval: &Table<'_>) -> Vec<Decision> {
    const APPROVE: &str = "approve";
    let Some(items) = approval.read_list("decisions") else { return Vec::new() };
    let (mut decisions, mut seen) = (Vec::new(), BTreeSet::new());
    for item in items {
        let Some(table) = Table::open(item, &approval.child_scope("decisions"), approval.problems()) else { continue };
        table.check_keys(DECISION_KEYS);
        let Some(id) = table.require_text("id", "the name of the decision") else { continue };
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
            table.report_value("id", &format!("{id:?} is not a valid name"), "use letters, digits, `-` and `_`");
        }
        if !seen.insert(id.clone()) {
            table.report_value("id", &format!("{id:?} occurs twice"), "give each decision a name of its own");
        }
        decisions.push(Decision { id, label: table.read_text("label") });
    }
    if !seen.contains(APPROVE) {
        approval.report_value("decisions", "one decision must be `approve`", "add `- id: approve`");
    }
    decisions
}

pub(super) fn read_child_workflow(table: &Table<'_>) -> Option<ChildWorkflowNode> {
    if table.has("input") && table.has("with") {
        let hint = "use `with:` for named inputs, `input:` for a message";
        table.report_key("with", "cannot be combined with input", hint);
    }
    let isolations = [("inherit", false), ("worktree", true)];
    Some(ChildWorkflowNode {
        workflow: table.read_filled_text("workflow")?.trim().to_owned(),
        input: table.read_text("input"),
        with: table.read_values("with").unwrap_or_default(),
        own_worktree: table.read_choice("isolation", &isolations).unwrap_or(false),
        fan_out: read_fan_out(table),
    })
}

const DEFAULT_MAX_PARALLEL: u32 = 5;
const MAX_PARALLEL: u32 = 1_000;
/// The name of the item if the file gives none.
const DEFAULT_ITEM_NAME: &str = "item";

fn read_fan_out(table: &Table<'_>) -> Option<FanOut> {
    let fan_out = table.open_child("fan_out")?;
    fan_out.check_keys(FAN_OUT_KEYS);
    let joins = [("all_done", FanOutJoin::AllDone), ("all_success", FanOutJoin::AllSuccess)];
    let max_parallel = fan_out.read_count("max_parallel", 1..=MAX_PARALLEL).unwrap_or(DEFAULT_MAX_PARALLEL);
    let join = fan_out.read_choice("join", &joins).unwrap_or_default();
    Some(FanOut {
        items: fan_out.require_text("items", "a reference to a JSON array, such as $ID.output")?,
        item_name: fan_out.read_filled_text("as").unwrap_or_else(|| DEFAULT_ITEM_NAME.to_owned()),
        max_parallel,
        join,
    })
}
