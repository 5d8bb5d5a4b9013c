//! `ralph accept` and `ralph reject`: a person decides on a claim that the checks did not accept.
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::{Call, Project};

/// An agent that guts `make test` as a coder, and passes in every other role.
const GUTTING_AGENT: &str = r#"
prompt=$(cat)
printf '%s\n' "$prompt" >> "$(dirname "$0")/prompts"
role=$(printf '%s\n' "$prompt" | sed -n 's/^- \*\*Stage\*\*: //p')
commit() { git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet --allow-empty -m work; }
case $role in
reviewer) echo '<promise>REVIEW_PASSED</promise>'; exit;;
tester) echo '<promise>TESTS_PASSED</promise>'; exit;;
qa) echo '<promise>QA_PASSED</promise>'; exit;;
esac
if printf '%s\n' "$prompt" | grep -q 'keep the Makefile'; then
    git checkout --quiet "$(git rev-list --max-parents=0 HEAD)" -- Makefile; echo done > work
else
    printf 'test:\n\t@true\n' > Makefile
fi
[ -z "$role" ] || commit
case $role in coder) echo '<promise>IMPLEMENTATION_COMPLETE</promise>';; *) echo '<promise>DONE</promise>';; esac
"#;

/// A project whose `make test` fails until `work` says `done`.
pub fn project() -> Project {
    let project = Project::new();
    fs::create_dir(project.root().join("tests")).unwrap();
    project.write("Makefile", "test:\n\tsh tests/check.sh\n");
    project.write("tests/check.sh", "grep -q done work\n");
    project.write("work", "open\n");
    project.commit();
    project.shell(GUTTING_AGENT);
    project
}

fn agent(project: &Project) -> String {
    project.outside("agent.sh").display().to_string()
}

/// Starts a run that ends as blocked, because its agent changed the Makefile twice.
pub fn blocked_run(project: &Project, more: &[&str]) -> String {
    let run = project.ralph(["run", "Make it pass", "--agent", "text", "--agent-cmd", &agent(project), "--json"]);
    let answer = run.args(["--check", "make test", "--max-iterations", "4"]).args(more).output().expect(6);
    answer.finished()["run"].as_str().unwrap().to_owned()
}

fn decide<'a>(project: &'a Project, args: &[&str]) -> Call<'a> {
    project.ralph(args).env("USER", "anna")
}

fn shown(project: &Project, run: &str) -> Value {
    project.ralph(["show", run, "--json"]).output().expect(0).json()
}

fn prompts(project: &Project) -> String {
    fs::read_to_string(project.outside("prompts")).unwrap()
}

// spec: V17, V16
#[test]
fn a_person_accepts_a_blocked_run_and_every_view_says_so() {
    let project = project();
    let run = blocked_run(&project, &[]);
    let printed = decide(&project, &["accept", &run, "--because", "the target was wrong"]).output().expect(0).stdout;
    assert!(printed.contains("is completed (checked, accepted by anna)"), "{printed}");
    let show = shown(&project, &run);
    assert_eq!(
        (&show["status"], &show["proof"], &show["exit_code"]),
        (&"completed".into(), &"checked".into(), &0.into())
    );
    let by = &show["accepted_by"];
    assert_eq!((&by["user"], &by["because"]), (&"anna".into(), &"the target was wrong".into()), "{show}");
    by["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let receipt: Value = serde_json::from_slice(&project.log("receipt.json")).unwrap();
    assert_eq!(receipt["accepted_by"], *by);
    assert_eq!(receipt["repository"]["tree"].as_str().unwrap().len(), 40);
    let listed = project.ralph(["runs"]).output().expect(0).stdout;
    assert!(listed.contains("completed (checked, accepted by anna)"), "{listed}");
    let text = project.ralph(["show", &run]).output().expect(0).stdout;
    assert!(text.contains("accepted by anna: the target was wrong"), "{text}");
    let events = project.ralph(["events", &run, "--json"]).output().expect(0);
    let names: Vec<Value> = events.events().iter().map(|event| event["event"].clone()).collect();
    assert_eq!(names[names.len() - 3..], ["run.accepted", "receipt", "run.finished"]);
    let again = decide(&project, &["accept", &run]).output().expect(1).stderr;
    assert!(again.contains("is completed, so nothing waits for a decision"), "{again}");
}

// spec: V17, D4
#[test]
fn a_run_that_a_person_accepted_can_be_exported_and_imported() {
    let project = project();
    let run = blocked_run(&project, &[]);
    decide(&project, &["accept", &run]).output().expect(0);
    let exported = project.ralph(["export", &run]).output().expect(0).stdout;
    let (other, file) = (Project::new(), project.outside("run.json"));
    fs::write(&file, exported).unwrap();
    other.ralph(["import", file.to_str().unwrap()]).output().expect(0);
    assert_eq!(shown(&other, &run)["accepted_by"]["user"], "anna");
}

// spec: V17
#[test]
fn an_acceptance_is_refused_if_the_files_have_changed_since_the_claim() {
    let project = project();
    let run = blocked_run(&project, &[]);
    project.write("work", "more\n");
    let refused = decide(&project, &["accept", &run]).output().expect(1).stderr;
    assert!(refused.contains("have changed since the claim"), "{refused}");
    assert_eq!(shown(&project, &run)["status"], "blocked");
    project.write("work", "open\n");
    decide(&project, &["accept", &run]).output().expect(0);
}

// spec: V17
#[test]
fn files_that_the_checks_leave_do_not_prevent_an_acceptance() {
    let project = project();
    let run = blocked_run(&project, &["--check", "date +%s%N > by-product"]);
    decide(&project, &["accept", &run]).output().expect(0);
}

// spec: V17
#[test]
fn the_branch_of_a_run_with_its_own_work_tree_follows_an_acceptance() {
    let project = project();
    let run = blocked_run(&project, &["--worktree"]);
    decide(&project, &["accept", &run]).output().expect(0);
    let tree = project.ralph(["runs", "--json"]).output().expect(0).json()[0]["id"].as_str().unwrap().to_owned();
    let branch = format!("ralph/run-{}:Makefile", &tree[tree.len() - 8..]);
    let output = std::process::Command::new("git").args(["show", &branch]).current_dir(project.root()).output();
    assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), "test:\n\t@true\n");
}

// spec: V17
#[test]
fn a_rejected_run_is_resumed_with_the_reason_in_its_prompt() {
    let project = project();
    let run = blocked_run(&project, &[]);
    let usage = decide(&project, &["reject", &run]).output().expect(64).stderr;
    assert!(usage.contains("--because"), "{usage}");
    let printed = decide(&project, &["reject", &run, "--because", "keep the Makefile"]).output().expect(0).stdout;
    assert!(printed.contains("ralph resume"), "{printed}");
    assert_eq!(shown(&project, &run)["status"], "interrupted");
    let answer = project.ralph(["resume", &run, "--json"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(shown(&project, &run)["accepted_by"], Value::Null);
    assert!(prompts(&project).contains("rejected by anna: keep the Makefile"), "{}", prompts(&project));
}

// spec: V17
#[test]
fn a_question_is_not_accepted_but_answered() {
    let project = Project::new();
    project.commit();
    let lines = "p=$(cat); case $p in *safe*) echo '<promise>COMPLETE</promise>';; *) echo '<blocked>which key?</blocked>';; esac";
    let run = project.run_shell(lines).output().expect(6).finished()["run"].as_str().unwrap().to_owned();
    for order in [vec!["accept", run.as_str()], vec!["reject", &run, "--because", "so"]] {
        let refused = decide(&project, &order).output().expect(1).stderr;
        assert!(refused.contains("waits for an answer") && refused.contains("which key?"), "{refused}");
        assert!(refused.contains("ralph guide"), "{refused}");
    }
    let printed = decide(&project, &["guide", &run, "the one in the safe"]).output().expect(0).stdout;
    assert!(printed.contains("ralph resume"), "{printed}");
    project.ralph(["resume", &run, "--json"]).output().expect(0);
}

// spec: V17
#[test]
fn a_run_that_does_not_wait_is_not_decided_on() {
    let project = project();
    let run = project.run_shell("cat > /dev/null").args(["--max-iterations", "1"]).output().expect(3);
    let run = run.finished()["run"].as_str().unwrap().to_owned();
    let refused = decide(&project, &["accept", &run]).output().expect(1).stderr;
    assert!(refused.contains("is exhausted, so nothing waits for a decision"), "{refused}");
}

/// A task that is checked by `make test` in every role, and whose coder has blocked it.
fn blocked_task(project: &Project) {
    import_task(project);
    work(project).output().expect(3);
    assert_eq!(task(project)["status"], "blocked");
}

fn import_task(project: &Project) {
    let check =
        |role: &str| format!("{role}: {{verification_method: external, verification_config: {{command: make test}}}}");
    let roles: Vec<String> = ["coder", "reviewer", "tester", "qa"].iter().map(|role| check(role)).collect();
    let text = format!(
        "task:\n  id: T-1\n  spec_id: s\n  title: Do it\n  completion:\n    outcome: it is there\n    \
         acceptance_criteria: [it is there]\n    {}\n",
        roles.join("\n    ")
    );
    let path: PathBuf = project.outside("task.yaml");
    fs::write(&path, text).unwrap();
    project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
}

fn work(project: &Project) -> Call<'_> {
    project.ralph(["work", "--agent", "text", "--agent-cmd", &agent(project), "--json", "--until-idle"])
}

fn task(project: &Project) -> Value {
    project.ralph(["task", "show", "T-1", "--json"]).output().expect(0).json()
}

// spec: V17
#[test]
fn a_person_accepts_the_stage_of_a_task_and_the_next_one_is_queued() {
    let project = project();
    blocked_task(&project);
    let printed = decide(&project, &["accept", "T-1"]).output().expect(0).stdout;
    assert!(printed.contains("anna accepted coder of T-1; the next stage is reviewer"), "{printed}");
    let shown = task(&project);
    assert_eq!(shown["status"], "reviewing");
    assert_eq!(shown["runs"][0]["status"], "completed");
    assert_eq!(shown["runs"][0]["accepted_by"]["user"], "anna");
    let makefile = |path: &Path| fs::read_to_string(path.join("Makefile")).unwrap();
    assert!(makefile(&project.root()).contains("check.sh"), "nothing was landed");
    work(&project).output().expect(0);
    assert_eq!(task(&project)["status"], "done");
}

// spec: V17
#[test]
fn a_rejected_stage_continues_with_the_reason_in_its_prompt() {
    let project = project();
    blocked_task(&project);
    decide(&project, &["reject", "T-1", "--because", "keep the Makefile"]).output().expect(0);
    assert_eq!(task(&project)["status"], "coding");
    work(&project).output().expect(0);
    let shown = task(&project);
    assert_eq!((&shown["status"], &shown["runs"][0]["accepted_by"]), (&"done".into(), &Value::Null));
    assert!(prompts(&project).contains("rejected by anna: keep the Makefile"), "{}", prompts(&project));
    let refused = decide(&project, &["accept", "T-1"]).output().expect(1).stderr;
    assert!(refused.contains("T-1 is done, so nothing waits for a decision"), "{refused}");
}

// spec: V15
#[test]
fn claims_with_changed_tests_are_counted_across_the_attempts_of_a_task() {
    let project = project();
    let agent = r#"
cat > /dev/null
claimed="$(dirname "$0")/claimed-$RALPH_RUN_ID"
if [ -e "$claimed" ]; then echo "I looked around."; exit 0; fi
touch "$claimed"
printf 'test:\n\t@true\n' > Makefile
git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet --allow-empty -m work
echo '<promise>IMPLEMENTATION_COMPLETE</promise>'
"#;
    project.shell(agent);
    import_task(&project);
    work(&project).output().expect(3);
    let shown = task(&project);
    let of_runs = |key: &str| shown["runs"].as_array().unwrap().iter().map(|run| run[key].clone()).collect::<Vec<_>>();
    assert_eq!((&shown["status"], of_runs("status")), (&"blocked".into(), vec!["exhausted".into(), "blocked".into()]));
    let reason = of_runs("reason")[1].as_str().unwrap().to_owned();
    assert!(reason.contains("changed protected tests twice"), "{reason}");
}

// spec: V17
#[test]
fn the_end_of_a_blocked_run_says_how_to_decide() {
    let project = project();
    let run = project.ralph(["run", "Make it pass", "--agent", "text", "--agent-cmd", &agent(&project)]);
    let printed = run.args(["--check", "make test", "--max-iterations", "4"]).output().expect(6).stdout;
    let listed = project.ralph(["runs", "--json"]).output().expect(0).json();
    let id = listed[0]["id"].as_str().unwrap();
    let hint = printed.lines().find(|line| line.starts_with("decide ")).unwrap_or_else(|| panic!("{printed}"));
    let named = hint.split('`').nth(1).and_then(|command| command.strip_prefix("ralph accept ")).unwrap();
    assert!(id.starts_with(named) || id.ends_with(named), "{hint}");
    assert!(hint.contains(&format!("`ralph reject {named} --because TEXT`")), "{hint}");
    assert!(project.ralph(["show"]).output().expect(0).stderr.contains(&format!("ralph accept {named}")));
    decide(&project, &["accept", named]).output().expect(0);
    assert!(!project.ralph(["show"]).output().expect(0).stderr.contains("ralph accept"), "nothing waits any more");
}

// spec: V17
#[test]
fn a_run_that_asks_does_not_offer_a_decision() {
    let project = Project::new();
    project.commit();
    project.shell("cat > /dev/null; echo '<blocked>which key?</blocked>'");
    let printed =
        project.ralph(["run", "Do it", "--agent", "text", "--agent-cmd", &agent(&project)]).output().expect(6);
    assert!(!printed.stdout.contains("ralph accept"), "{}", printed.stdout);
    assert!(!project.ralph(["show"]).output().expect(0).stderr.contains("ralph accept"));
}

// spec: V17
#[test]
fn a_blocked_task_says_how_to_decide_and_its_landing_who_did() {
    let project = project();
    import_task(&project);
    let agent = agent(&project);
    let work_as_text = project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--until-idle"]);
    let printed = work_as_text.output().expect(3).stdout;
    let hint = "T-1  decide: `ralph accept T-1` or `ralph reject T-1 --because TEXT`";
    assert!(printed.contains(hint), "{printed}");
    let shown = project.ralph(["task", "show", "T-1"]).output().expect(0).stderr;
    assert!(shown.contains("decide: `ralph accept T-1`"), "{shown}");
    decide(&project, &["accept", "T-1", "--because", "the target was wrong"]).output().expect(0);
    work(&project).output().expect(0);
    let landed = project.ralph(["land", "T-1", "--json"]).output().expect(0).json();
    let by = &landed["accepted_by"][0];
    assert_eq!((&by["user"], &by["because"]), (&"anna".into(), &"the target was wrong".into()), "{landed}");
    let again = project.ralph(["land", "T-1"]).output().expect(0).stdout;
    assert!(again.contains("accepted by anna: the target was wrong"), "{again}");
}

// spec: V17
#[test]
fn an_acceptance_that_a_crash_interrupted_is_finished_by_the_next_one() {
    let project = project();
    blocked_task(&project);
    let killed = decide(&project, &["accept", "T-1"]).env("RALPH_FAIL", "decision.recorded:1").output();
    assert_ne!(killed.status.code(), Some(0));
    let shown = task(&project);
    assert_eq!((&shown["status"], &shown["runs"][0]["status"]), (&"blocked".into(), &"completed".into()));
    let printed = project.ralph(["accept", "T-1"]).env("USER", "bert").output().expect(0).stdout;
    assert!(printed.contains("anna accepted coder of T-1; the next stage is reviewer"), "{printed}");
    assert_eq!(task(&project)["status"], "reviewing");
    work(&project).output().expect(0);
    assert_eq!(task(&project)["status"], "done");
    project.ralph(["land", "T-1"]).output().expect(0);
}
