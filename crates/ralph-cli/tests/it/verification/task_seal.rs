//! The seal of a task: made once from its base, and compared at every attempt, stage and landing.
use std::fs;

use sqlx::{ConnectOptions, Connection};

use crate::harness::{Call, CallOutput, Project};
use crate::work::work_trees::git;

/// The coder executes the lines for its attempt; every role claims.
pub const AGENT: &str = r#"
dir=$(dirname "$0")
prompt=$(cat)
role=$(printf '%s\n' "$prompt" | sed -n 's/^- \*\*Stage\*\*: //p')
echo "$role" >> "$dir/starts"
if [ "$role" = coder ]; then
  number=$(grep -c coder "$dir/starts")
  deed="$dir/deed-$number"; [ -e "$deed" ] && . "$deed"
  git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet --allow-empty -m work
fi
case $role in
coder) echo "<promise>IMPLEMENTATION_COMPLETE</promise>";;
tester) echo "<promise>TESTS_PASSED</promise>";;
esac
"#;

/// A task whose coder is checked by `verify.sh` and whose tester is checked by `tester.sh`.
fn project() -> Project {
    let project = Project::new();
    project.write("verify.sh", "grep -q done work\n");
    project.write("tester.sh", "grep -q tested work\n");
    project.write("work", "open\n");
    project.commit();
    let check = |role: &str, script: &str| {
        format!("{role}: {{verification_method: external, verification_config: {{command: sh {script}}}}}")
    };
    let text = format!(
        "task:\n  id: T-1\n  spec_id: s\n  title: Do it\n  completion:\n    outcome: it is there\n    \
         acceptance_criteria: [it is there]\n    {}\n    {}\n",
        check("coder", "verify.sh"),
        check("tester", "tester.sh")
    );
    let path = project.outside("T-1.yaml");
    fs::write(&path, text).unwrap();
    project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
    project.shell(AGENT);
    project
}

pub fn set_deed(project: &Project, number: u32, agent_script: &str) {
    fs::write(project.outside(&format!("deed-{number}")), agent_script).unwrap();
}

pub fn work(project: &Project) -> Call<'_> {
    let agent = project.outside("agent.sh").display().to_string();
    let call = project.ralph(["work", "--agent", "text", "--agent-cmd", &agent, "--json", "--until-idle"]);
    call.env("RALPH_PIPELINE_STAGES", "coder,tester")
        .env("RALPH_CODER_MAX_ITERATIONS", "1")
        .env("RALPH_TESTER_MAX_ITERATIONS", "1")
}

pub fn task_ends(answer: &CallOutput) -> Vec<String> {
    answer.events_named("task.over").iter().map(|event| event["status"].as_str().unwrap().to_owned()).collect()
}

// spec: V20
// finding: N1
#[test]
fn a_script_that_the_first_attempt_forged_is_rejected_in_the_second() {
    let project = project();
    set_deed(&project, 1, "echo 'exit 0' > verify.sh");
    let answer = work(&project).output().expect(3);
    assert_eq!(task_ends(&answer), ["todo", "blocked"], "{}", answer.stdout);
    let branch = git(&project.root(), &["show", "ralph/T-1:verify.sh"]);
    assert_eq!(branch, "grep -q done work", "the forged work was not accepted");
}

// spec: V20
// finding: N2
#[test]
fn a_script_of_a_later_stage_is_sealed_before_the_first() {
    let project = project();
    set_deed(&project, 1, "echo done > work; echo 'exit 0' > tester.sh");
    let answer = work(&project).output().expect(3);
    assert_eq!(task_ends(&answer), ["todo", "blocked"], "{}", answer.stdout);
    let starts = fs::read_to_string(project.outside("starts")).unwrap();
    assert_eq!(starts, "coder\ncoder\n", "the tester never started");
}

// spec: V20
#[test]
fn honest_work_passes_all_stages_with_one_seal_and_lands() {
    let project = project();
    set_deed(&project, 1, "echo done tested > work");
    let answer = work(&project).output().expect(0);
    assert_eq!(task_ends(&answer), ["done"], "{}", answer.stdout);
    project.ralph(["land", "T-1"]).output().expect(0);
    assert_eq!(fs::read_to_string(project.root().join("work")).unwrap(), "done tested\n");
}

// spec: V20
// finding: N10
#[test]
fn a_forged_reference_is_not_landed() {
    let project = project();
    set_deed(&project, 1, "echo done tested > work");
    work(&project).output().expect(0);
    let root = project.root();
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid"];
    let forged = [&identity[..], &["commit-tree", "ralph/T-1^{tree}", "-p", "ralph/T-1", "-m", "forged"]].concat();
    let forged = git(&root, &forged);
    let references = git(&root, &["for-each-ref", "--format=%(refname)", "refs/heads/ralph/T-1", "refs/ralph/T-1"]);
    for name in references.lines() {
        git(&root, &["update-ref", name, &forged]);
    }
    let refused = project.ralph(["land", "T-1"]).output().expect(1);
    assert!(refused.stderr.contains("the references of the task were changed from outside"), "{}", refused.stderr);
}

// spec: V20
#[test]
fn a_task_with_earlier_work_and_no_seal_is_sealed_from_its_base_commit() {
    let project = project();
    set_deed(&project, 1, "echo 'exit 0' > verify.sh");
    work(&project).output().expect(3);
    let starts = || fs::read_to_string(project.outside("starts")).unwrap().lines().count();
    let before = starts();
    project.ralph(["task", "edit", "T-1", "--status", "todo"]).output().expect(0);
    forget_seal(&project);
    let answer = work(&project).output().expect(3);
    assert!(starts() > before, "{}", answer.stdout);
    assert!(!task_ends(&answer).contains(&"done".to_owned()), "{}", answer.stdout);
}

/// Removes the stored seal, as in a database of an older version.
fn forget_seal(project: &Project) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(project.state().join("ralph.db"));
        let mut connection = options.connect().await.unwrap();
        sqlx::query("UPDATE tasks SET seal = NULL, base_commit = NULL").execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    });
}
