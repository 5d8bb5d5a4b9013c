//! The evidence of a claim as rows: each criterion, and behind it its stages.
use ralph_core::evidence::CheckEvidence;

use super::statement_batch::{SqlStatement, sql};

/// Returns the statements that store what was seen of a claim.
pub(super) fn insert_checks(run_and_iteration: (&str, u32), checks: &[CheckEvidence]) -> Vec<SqlStatement> {
    let mut statements = Vec::new();
    for (check, number) in checks.iter().zip(1_u32..) {
        insert_check_with_stages(run_and_iteration, &number.to_string(), check, &mut statements);
    }
    statements
}

fn insert_check_with_stages(
    run_and_iteration: (&str, u32),
    outline_number: &str,
    check: &CheckEvidence,
    statements: &mut Vec<SqlStatement>,
) {
    let position = statements.len() as u64 + 1;
    statements.push(insert_check(run_and_iteration, (position, outline_number), check));
    for (stage, number) in check.stages.iter().zip(1_u32..) {
        insert_check_with_stages(run_and_iteration, &format!("{outline_number}.{number}"), stage, statements);
    }
}

fn insert_check((run, iteration): (&str, u32), (position, place): (u64, &str), check: &CheckEvidence) -> SqlStatement {
    let judgement = check.judgement.as_ref().and_then(|judgement| serde_json::to_string(judgement).ok());
    sql!(
        "INSERT INTO verdicts (run, iteration, position, place, method, name, command, verdict, reason, exit_code,
            duration_ms, log, required, tries, cached, digest, judgement)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        run,
        iteration,
        position,
        place,
        check.method.as_str(),
        check.name.as_deref(),
        check.command.as_str(),
        check.verdict.as_str(),
        check.reason.as_str(),
        check.exit_code.map(i64::from),
        check.duration_ms,
        check.log.as_str(),
        i64::from(check.required),
        check.tries,
        i64::from(check.cached),
        check.digest.as_deref(),
        judgement.as_deref()
    )
}
