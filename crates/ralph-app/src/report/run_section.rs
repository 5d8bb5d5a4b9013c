//! The sections of a report about one run.
use ralph_core::explanation::RuleNumber;
use ralph_core::receipt::Receipt;
use ralph_engine::project::Project;
use ralph_store::{CheckRow, IterationRow};
use serde_json::Value;

use super::document::{ReportBlock, ReportCell, ReportFact, ReportTable, ReportTone};
use crate::board::{CheckMark, CriterionRow, criteria_rows};
use crate::overview::{load_run_journal, read_check_log};
use crate::run::load_sent_prompt;
use crate::view::{RunView, accepted_by, format_cost, format_elapsed, format_timestamp, format_tokens, run_title};
use crate::why::ExplanationView;

/// How much of the output of the failing check is shown.
const MAX_EVIDENCE_BYTES: u64 = 6_000;
/// How much of a prompt is shown.
const MAX_PROMPT_CHARS: usize = 60_000;
/// The journal is searched for changed tests up to this event.
const MAX_JOURNAL_EVENTS: u32 = 20_000;

/// Returns whether a run succeeded.
pub(super) fn tone_of_status(status: &str) -> ReportTone {
    match status {
        "completed" | "done" => ReportTone::Good,
        "running" | "waiting" | "todo" | "coding" | "reviewing" | "testing" | "qa" => ReportTone::Open,
        _ => ReportTone::Bad,
    }
}

/// Returns the sections of a run, without its changed files.
pub(super) async fn run_blocks(project: &Project, view: &RunView, why: Option<&ExplanationView>) -> Vec<ReportBlock> {
    let mut blocks = vec![ReportBlock::Facts(run_facts(view))];
    if tone_of_status(&view.row().status) != ReportTone::Good {
        blocks.extend(failure_blocks(project, view, why));
    }
    blocks.extend(criteria_blocks(view));
    blocks.extend(claim_blocks(view));
    let tests = changed_tests(project, view).await;
    if !tests.is_empty() {
        blocks.extend([ReportBlock::Section("Changed tests"), ReportBlock::List(tests)]);
    }
    blocks.extend(receipt_blocks(view));
    blocks.extend(prompt_blocks(project, view).await);
    blocks
}

fn run_facts(view: &RunView) -> Vec<ReportFact> {
    let run = view.row();
    let mut facts = vec![ReportFact::new("outcome", run.status.clone())];
    let proof = view.proof().map_or_else(|| "none".to_owned(), |proof| proof.describe());
    facts.push(ReportFact::new("proof", proof));
    let accepted = accepted_by(run);
    facts.extend(accepted.map(|by| ReportFact::new("accepted", format!("{}, {}", by.describe(), by.at))));
    facts.push(ReportFact::new("prompt", run_title(run)));
    if let Some((task, role)) = run.task.as_ref().zip(run.role.as_ref()) {
        facts.push(ReportFact::new("stage", format!("{task}, {role}")));
    }
    facts.push(ReportFact::new("run", run.id.clone()));
    facts.push(ReportFact::new("agent", run.agent.clone()));
    facts.push(ReportFact::new("iterations", format!("{} of at most {}", run.iterations, run.max_iterations)));
    facts.push(ReportFact::new("started", format_timestamp(run.started_at)));
    facts.push(ReportFact::new("ended", run.ended_at.map_or_else(|| "not yet".to_owned(), format_timestamp)));
    facts.push(ReportFact::new("spent", format_spend(run.cost_micros, run.input_tokens, run.output_tokens)));
    facts
}

/// Returns cost and tokens. Unknown values are named.
fn format_spend(cost_micros: Option<i64>, input_tokens: Option<i64>, output_tokens: Option<i64>) -> String {
    let tokens = format_tokens(input_tokens, output_tokens);
    let tokens = tokens.map_or_else(|| "tokens unknown".to_owned(), |tokens| format!("tokens {tokens}"));
    format!("{}, {tokens}", format_cost(cost_micros))
}

/// Returns the first failing check with its output, and the rule that decided.
fn failure_blocks(project: &Project, view: &RunView, why: Option<&ExplanationView>) -> Vec<ReportBlock> {
    let failing = view.first_failing_check();
    let mut blocks = failing.map(|check| failing_check_blocks(project, view, check)).unwrap_or_default();
    let Some(explained) = why.map(|why| &why.explained) else { return blocks };
    blocks.push(ReportBlock::Section("Why"));
    blocks.push(ReportBlock::Sentence(explained.rule.sentence()));
    // Lines of output are shown above.
    let is_output = |text: &str| failing.is_some() && text.starts_with('|');
    let evidence = explained.evidence.iter().map(|line| line.text.clone()).filter(|text| !is_output(text));
    let lines: Vec<String> = explained.numbers.iter().map(RuleNumber::text).chain(evidence).collect();
    blocks.extend((!lines.is_empty()).then_some(ReportBlock::List(lines)));
    blocks
}

fn failing_check_blocks(project: &Project, view: &RunView, check: &CheckRow) -> Vec<ReportBlock> {
    let mut facts = vec![
        ReportFact::new("check", check_name(check)),
        ReportFact::new("iteration", check.iteration.to_string()),
        ReportFact::new("reason", check.reason.clone()),
    ];
    if check.method == "external" && check.name.is_some() {
        facts.push(ReportFact::new("command", check.command.clone()));
    }
    let output = read_check_log(project, view.id(), check, MAX_EVIDENCE_BYTES);
    let output = output.map(|log| log.text).filter(|text| !text.trim().is_empty());
    let section = [ReportBlock::Section("First failing evidence"), ReportBlock::Facts(facts)];
    section.into_iter().chain(output.map(ReportBlock::Code)).collect()
}

fn check_name(check: &CheckRow) -> String {
    check.name.clone().unwrap_or_else(|| check.command.clone())
}

/// Returns the criteria against the iterations.
fn criteria_blocks(view: &RunView) -> Vec<ReportBlock> {
    let rows = criteria_rows(view.iterations(), view.checks());
    if rows.is_empty() {
        let sentence = ReportBlock::Sentence("No check has verified a claim of this run.");
        return vec![ReportBlock::Section("Criteria"), sentence];
    }
    let numbers = view.iterations().iter().map(|iteration| iteration.number.to_string());
    let columns = std::iter::once("criterion".to_owned()).chain(numbers).chain(["last evidence".to_owned()]);
    let row = |row: CriterionRow| {
        let margin = "  ".repeat(row.depth);
        let optional = if row.is_required { "" } else { " (optional)" };
        let name = ReportCell::text(format!("{margin}{}{optional}", row.name));
        let marks = row.marks.iter().map(|mark| mark_cell(*mark));
        std::iter::once(name).chain(marks).chain([ReportCell::text(row.last_evidence)]).collect()
    };
    let table = ReportTable { columns: columns.collect(), rows: rows.into_iter().map(row).collect() };
    vec![ReportBlock::Section("Criteria by iteration"), ReportBlock::Table(table)]
}

fn mark_cell(mark: CheckMark) -> ReportCell {
    let (glyph, word, tone) = match mark {
        CheckMark::Met => ("✓", "accepted", ReportTone::Good),
        CheckMark::NotMet => ("✗", "rejected", ReportTone::Bad),
        CheckMark::CouldNotEvaluate => ("?", "could not be evaluated", ReportTone::Open),
        CheckMark::NotChecked => ("·", "not checked", ReportTone::Open),
    };
    ReportCell::Mark { glyph, word, tone }
}

fn claim_blocks(view: &RunView) -> Vec<ReportBlock> {
    if view.iterations().is_empty() {
        return Vec::new();
    }
    let columns = ["#", "claim", "verdict", "why", "took", "spent"].map(str::to_owned).to_vec();
    let rows = view.iterations().iter().map(claim_row).collect();
    vec![ReportBlock::Section("Claims and verdicts"), ReportBlock::Table(ReportTable { columns, rows })]
}

fn claim_row(iteration: &IterationRow) -> Vec<ReportCell> {
    let claim = match iteration.claimed {
        Some(true) => "claimed",
        Some(false) => "no claim",
        None => iteration.status.as_str(),
    };
    let reason = iteration.verdict_reason.as_deref().or(iteration.claim_reason.as_deref()).unwrap_or_default();
    let took = iteration.duration_ms.map_or_else(|| "unknown".to_owned(), format_elapsed);
    let cost = iteration.cost_micros.map_or_else(|| "unknown".to_owned(), |micros| format_cost(Some(micros)));
    let verdict = iteration.verdict.clone().unwrap_or_else(|| "none".to_owned());
    [iteration.number.to_string(), claim.to_owned(), verdict, reason.to_owned(), took, cost]
        .map(ReportCell::text)
        .to_vec()
}

/// Returns the tests that the agent has changed, as the evidence in the journal names them.
async fn changed_tests(project: &Project, view: &RunView) -> Vec<String> {
    let journal = load_run_journal(project, view.id(), 0, MAX_JOURNAL_EVENTS).await.unwrap_or_default();
    let mut tests = Vec::new();
    for entry in journal {
        if let Ok(body) = serde_json::from_str::<Value>(&entry.body) {
            collect_changed_tests(&body, &mut tests);
        }
    }
    tests.sort();
    tests.dedup();
    tests
}

fn collect_changed_tests(value: &Value, tests: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(changed)) = fields.get("changed_tests") {
                tests.extend(changed.iter().filter_map(|path| path.as_str().map(str::to_owned)));
            }
            fields.values().for_each(|value| collect_changed_tests(value, tests));
        }
        Value::Array(items) => items.iter().for_each(|value| collect_changed_tests(value, tests)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn receipt_blocks(view: &RunView) -> Vec<ReportBlock> {
    let Some(line) = view.receipt_line() else { return Vec::new() };
    let mut facts = vec![ReportFact::new("receipt", line)];
    if let Some(stored) = view.receipt() {
        facts.push(ReportFact::new("sha256", stored.sha256.clone()));
        let receipt: Option<Receipt> = serde_json::from_str(&stored.body).ok();
        if let Some(state) = receipt.as_ref().and_then(|receipt| receipt.input.repository.as_ref()) {
            facts.extend(state.commit.iter().map(|commit| ReportFact::new("commit", commit.clone())));
            facts.push(ReportFact::new("tree", state.tree.clone()));
        }
    }
    vec![ReportBlock::Section("Receipt"), ReportBlock::Facts(facts)]
}

/// Returns the prompts as they were sent, folded. Prompts of old runs may be gone.
async fn prompt_blocks(project: &Project, view: &RunView) -> Vec<ReportBlock> {
    let mut blocks = Vec::new();
    for iteration in view.iterations() {
        let number = u32::try_from(iteration.number).unwrap_or(u32::MAX);
        let Ok(prompt) = load_sent_prompt(project, Some(view.id()), Some(number)).await else { continue };
        let code: String = prompt.text.chars().take(MAX_PROMPT_CHARS).collect();
        blocks.push(ReportBlock::Folded { summary: format!("Prompt of iteration {number}"), code });
    }
    if !blocks.is_empty() {
        blocks.insert(0, ReportBlock::Section("Prompts"));
    }
    blocks
}
