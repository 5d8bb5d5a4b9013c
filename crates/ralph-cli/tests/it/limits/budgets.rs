//! Budgets: cost, tokens and time end a run, and an open claim is still verified.
use rustix::process::Signal;

use crate::harness::{FAKE_AGENT, Project, wait_until};

/// One turn that costs a cent and 110 tokens.
const WORK: &str = "init\nsay still at it\nresult still at it\n";
const DONE: &str = "init\nsay All done.\\n\\n{promise}\nresult All done.\\n\\n{promise}\n";

// spec: L8, C8
// fault: 89
#[test]
fn a_run_ends_at_its_cost_limit_and_the_cost_is_stored() {
    let project = Project::new();
    project.agents(&[("mine", WORK)], "");
    let answer = project.run_agent_mine().args(["--max-cost", "0.03"]).output().expect(7);
    let end = answer.finished();
    assert_eq!((&end["outcome"], &end["iterations"]), (&"over_budget".into(), &3.into()));
    assert_eq!(end["reason"], "$0.03 of $0.03 spent (max_cost_usd)");
    assert_eq!(project.starts().len(), 3);
    let shown = project.ralph(["show", "--json"]).output().expect(0).json();
    assert_eq!(shown["cost_usd"], 0.03, "{shown}");
}

// spec: L8, C8
#[test]
fn a_run_ends_at_its_token_limit() {
    let project = Project::new();
    project.agents(&[("mine", WORK)], "");
    let answer = project.run_agent_mine().args(["--max-tokens", "200"]).output().expect(7);
    assert_eq!(answer.finished()["reason"], "220 of 200 tokens used (max_tokens)");
}

// spec: L8
// fault: 89
#[test]
fn an_agent_is_stopped_during_its_work_when_the_budget_is_used_up() {
    let project = Project::new();
    project.agents(&[("mine", &format!("{WORK}hang\n"))], "");
    let run = project.run_agent_mine().args(["--max-cost", "0.01", "--after-result", "10m"]);
    let answer = run.output().expect(7);
    let stop = answer.events_named("stop.requested");
    assert_eq!(stop[0]["reason"], "$0.01 of $0.01 spent (max_cost_usd)");
    assert_eq!(answer.finished()["iterations"], 1);
    assert_eq!(project.processes_of_runs().len(), 0);
}

// spec: L8
// fault: 89
#[test]
fn a_claim_is_verified_although_the_budget_is_used_up() {
    let project = Project::new();
    project.agents(&[("mine", DONE)], "");
    project.write("proof", "");
    let spent = ["--max-cost", "0.01", "--check", "test -e proof"];
    let answer = project.run_agent_mine().args(spent).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    let unproven = ["--max-cost", "0.01", "--check", "test -e nothing"];
    let answer = project.run_agent_mine().args(unproven).output().expect(7);
    assert_eq!(answer.events_named("verdict").len(), 1, "verified, rejected, and not begun again");
}

// spec: L8
#[test]
fn a_run_ends_at_its_time_limit_and_leaves_nothing_behind() {
    let project = Project::new();
    project.agents(&[("mine", "init\nhang\n")], "");
    let answer = project.run_agent_mine().args(["--max-duration", "300ms"]).output().expect(7);
    assert_eq!(answer.finished()["reason"], "the run has reached its time limit of 1s (max_duration)");
    assert_eq!(project.processes_of_runs().len(), 0);
}

// spec: L8, L13
// fault: 89
#[test]
fn the_cost_before_a_kill_counts_after_the_resume() {
    let project = Project::new();
    project.agents(&[("mine", &format!("{WORK}---\n{WORK}---\ninit\nhang\n---\n{WORK}"))], "");
    let run = project.run_agent_mine().args(["--max-cost", "0.03"]).start();
    run.wait_for_event("iteration.ended");
    wait_until("the third start", || project.starts().len() == 3);
    run.signal(Signal::KILL);
    run.wait_without_invariants();
    let answer = project.ralph(["resume", "--json"]).output().expect(7);
    assert_eq!(answer.finished()["reason"], "$0.03 of $0.03 spent (max_cost_usd)");
}

// spec: L8
#[test]
fn an_agent_that_reports_no_cost_is_refused_when_the_cost_must_be_known() {
    let project = Project::new();
    project.agents(&[("mine", WORK)], "limits: { require_known_cost: true }");
    let refused = project.run(&["complete"]).output().expect(1);
    assert!(refused.stderr.contains("the agent text does not report its cost"), "{}", refused.stderr);
    assert!(refused.stderr.contains("hint: choose another agent"), "{}", refused.stderr);
    assert_eq!(project.starts().len(), 0);
    project.run_agent_mine().args(["--max-iterations", "1"]).output().expect(3);
}

// spec: L8
#[test]
fn a_run_prints_its_budgets_and_agents_without_cost_reports() {
    let project = Project::new();
    let call = project.ralph(["run", "do it", "--agent", "text", "--agent-cmd", FAKE_AGENT]);
    let budget = ["--agent-arg", "complete", "--promise", "COMPLETE", "--max-cost", "2.5", "--max-tokens", "2M"];
    let answer = call.args(budget).output().expect(0);
    assert!(answer.stderr.contains("budget    $2.50, 2000000 tokens\n"), "{}", answer.stderr);
    assert!(answer.stderr.contains("warning   text does not report its cost"), "{}", answer.stderr);
}

// spec: L8, U1
#[test]
fn an_invalid_amount_is_refused() {
    let project = Project::new();
    for (flag, value, why) in [
        ("--max-cost", "-1", "is not an amount of dollars"),
        ("--max-cost", "0", "is zero: omit it for no limit"),
        ("--max-tokens", "many", "is not a number of tokens"),
        ("--max-duration", "0", "must be longer than zero"),
    ] {
        let answer = project.run_agent_mine().args([flag, value]).output().expect(64);
        assert!(answer.stderr.contains(why), "{flag} {value}: {}", answer.stderr);
    }
}
