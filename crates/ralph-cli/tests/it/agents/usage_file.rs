//! Token usage that an agent writes to a file.
use std::fs;

use serde_json::{Value, json};

use crate::harness::{CallOutput, Project};

/// A Copilot that runs a shell line with the usage file as `$1` in each iteration.
fn run(project: &Project, each: &[&str]) -> CallOutput {
    let last = each.len();
    let lines: Vec<String> = each.iter().enumerate().map(|(at, line)| format!("{}) {line} ;;\n", at + 1)).collect();
    let script = format!(
        r#"cat > /dev/null
echo x >> '{starts}'
n=$(wc -l < '{starts}')
echo "$n" > work
until [ "$1" = --usage-output-file ]; do shift; done; shift
tokens() {{ echo '{{ "modelMetrics": {{ "m": {{ "usage": {{ "inputTokens": '$1', "outputTokens": '$2' }} }} }} }}'; }}
case $n in
{lines}esac
say='Not yet.'
[ "$n" -lt {last} ] || say='<promise>DONE</promise>'
echo '{{"type":"assistant.message","data":{{"messageId":"'$n'","content":"'"$say"'"}}}}'
echo '{{"type":"result","sessionId":"s","exitCode":0}}'"#,
        starts = project.outside("count").display(),
        lines = lines.concat(),
    );
    let agent = project.shell(&script);
    let call = project.ralph(["run", "do it", "--agent", "copilot", "--agent-cmd", &agent, "--json"]);
    call.output().expect(0)
}

fn tokens(answer: &CallOutput) -> Vec<Value> {
    let ends = answer.events_named("attempt.ended");
    ends.iter().map(|end| json!([end["result"]["input_tokens"], end["result"]["output_tokens"]])).collect()
}

fn usage_file_exists(project: &Project) -> bool {
    let run = fs::read_dir(project.state().join("runs")).unwrap().next().unwrap().unwrap().path();
    run.join("usage.json").symlink_metadata().is_ok()
}

// spec: A5, L8, L10
#[test]
fn the_tokens_of_an_iteration_are_the_increase_in_the_usage_file_which_is_then_removed() {
    let project = Project::new();
    let answer = run(&project, &[r#"tokens 100 7 > "$1""#, r#"tokens 300 21 > "$1""#]);
    assert_eq!(tokens(&answer), [json!([100, 7]), json!([200, 14])], "{}", answer.stdout);
    assert_eq!(answer.finished()["input_tokens"], 300);
    assert!(!usage_file_exists(&project));
}

// spec: A5, L8
#[test]
fn a_missing_or_broken_usage_file_leaves_the_tokens_unknown_and_the_work_counts() {
    let project = Project::new();
    let odd = ["true", r#"echo '{"modelMetrics":' > "$1""#, r#"mkfifo "$1""#, r#"mkdir -m 700 "$1""#, "true"];
    let answer = run(&project, &odd);
    assert_eq!(tokens(&answer), vec![json!([null, null]); odd.len()], "{}", answer.stdout);
    assert_eq!(answer.finished()["outcome"], "completed");
    assert_eq!(answer.finished()["iterations"], odd.len());
    let events = answer.events_named("warning");
    let of = |words: &str| events.iter().filter(|warning| warning["message"].to_string().contains(words)).count();
    assert_eq!((of("is a named pipe"), of("is a folder"), of("cannot use the usage file")), (1, 1, 1), "{events:?}");
}
