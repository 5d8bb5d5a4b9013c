//! The rows for the evidence of a claim: each criterion, followed by its stages.
use ralph_core::evidence::CheckEvidence;

use crate::driver::statement::{SqlStatement, sql};

/// Returns the statements that store the evidence of a claim.
pub(crate) fn insert_checks(run: &str, iteration: u32, checks: &[CheckEvidence]) -> Vec<SqlStatement> {
    let mut statements = Vec::new();
    for (check, number) in checks.iter().zip(1_u32..) {
        insert_check_with_stages(run, iteration, &number.to_string(), check, &mut statements);
    }
    statements
}

fn insert_check_with_stages(
    run: &str,
    iteration: u32,
    outline_number: &str,
    check: &CheckEvidence,
    statements: &mut Vec<SqlStatement>,
) {
    let position = statements.len() as u64 + 1;
    statements.push(insert_check(run, iteration, position, outline_number, check));
    for (stage, number) in check.stages.iter().zip(1_u32..) {
        insert_check_with_stages(run, iteration, &format!("{outline_number}.{number}"), stage, statements);
    }
}

fn insert_check(run: &str, iteration: u32, position: u64, outline_number: &str, check: &CheckEvidence) -> SqlStatement {
    let judgement = check.judgement.as_ref().and_then(|judgement| serde_json::to_string(judgement).ok());
    sql!(
        "INSERT INTO verdicts (run, iteration, position, place, method, name, command, verdict, reason, exit_code,
            duration_ms, log, required, tries, cached, digest, judgement)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        run,
        iteration,
        position,
        outline_number,
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
