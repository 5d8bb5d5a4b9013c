//! Prompts of classic mode: prompt files, variables, and the reason after a rejected claim.
use std::fs;

use super::{PROMISE_REQUEST, project, run, run_shell};
use crate::harness::Project;

/// An agent that stores each prompt, and claims on its last start.
fn prompt_recorder(starts: u32) -> String {
    format!(
        "n=$(($(cat ../n 2>/dev/null || echo 0) + 1)); echo $n > ../n; cat > ../prompt-$n\n\
         if [ $n -ge {starts} ]; then echo '<promise>COMPLETE</promise>'; else echo 'More to do.'; fi"
    )
}

fn stored_prompt(project: &Project, number: u32) -> String {
    fs::read_to_string(project.outside(&format!("prompt-{number}"))).unwrap()
}

// spec: C3
#[test]
fn variables_of_the_run_and_the_configuration_are_replaced_for_each_iteration() {
    let project = project();
    project.write(".ralph/config", "SPECS_DIR=specs\nTEAM='the $MODE team'\n");
    let template = "$MODE ${MODE} $ITERATION/$MAX_ITERATIONS in ${SPECS_DIR} by $TEAM\n";
    project.write(".ralph/prompts/build.md", format!("{template}{PROMISE_REQUEST}"));
    run_shell(&project, &["build", "5"], &prompt_recorder(2)).output().expect(0);
    assert_eq!(stored_prompt(&project, 1), format!("build build 1/5 in specs by the $MODE team\n{PROMISE_REQUEST}"));
    assert_eq!(stored_prompt(&project, 2), format!("build build 2/5 in specs by the $MODE team\n{PROMISE_REQUEST}"));
}

// spec: C3
#[test]
fn the_specs_are_in_specs_unless_the_configuration_says_otherwise() {
    let project = project();
    project.write(".ralph/prompts/plan.md", format!("$SPECS_DIR $MODE\n{PROMISE_REQUEST}"));
    run_shell(&project, &["plan"], &prompt_recorder(1)).output().expect(0);
    assert_eq!(stored_prompt(&project, 1), format!("specs plan\n{PROMISE_REQUEST}"));
}

// spec: C3
#[test]
fn an_unknown_variable_becomes_empty_and_is_reported_once() {
    let project = project();
    project.write(".ralph/prompts/build.md", format!("[$NOPE] [${{NOPE}}] [$OTHER]\n{PROMISE_REQUEST}"));
    let answer = run_shell(&project, &["build"], &prompt_recorder(3)).output().expect(0);
    assert_eq!(stored_prompt(&project, 3), format!("[] [] []\n{PROMISE_REQUEST}"));
    let warnings = answer.events_named("warning");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let text = warnings[0]["message"].as_str().unwrap();
    assert!(text.contains("$NOPE, $OTHER"), "{text}");
}

// spec: C3, L4
// fault: 79
#[test]
fn text_that_is_not_a_variable_reaches_the_agent_byte_for_byte() {
    let project = project();
    let wild = "costs $5, $$, ${X:-y}, $(id), `id`, {{x}}, %s, \\n, \"'\t\r\n\u{1f980} ";
    let long = format!("{}\n{PROMISE_REQUEST}", wild.repeat(20_000));
    project.write(".ralph/prompts/build.md", &long);
    run_shell(&project, &["build"], &prompt_recorder(1)).output().expect(0);
    assert!(stored_prompt(&project, 1) == long, "{} bytes went out, others came in", long.len());
}

// spec: C3, L4
#[test]
fn the_prompt_file_is_read_again_for_every_iteration() {
    let project = project();
    let script = project.script(&format!(
        "write .ralph/prompts/build.md $ITERATION other words {}\ntext more\n---\ntext {{promise}}\n",
        PROMISE_REQUEST.trim()
    ));
    run(&project, &["build"], &["script", &script]).output().expect(0);
    let second = project.starts().pop().unwrap();
    let length = format!("2 other words {PROMISE_REQUEST}").len();
    assert!(second.ends_with(&length.to_string()), "{second}");
}

// spec: L4
#[test]
fn nothing_is_added_to_a_prompt_of_classic_mode() {
    let project = project();
    project.write(".ralph/prompts/plan.md", "Look around.\n");
    let answer = run_shell(&project, &["plan", "1"], &prompt_recorder(1)).output().expect(0);
    assert_eq!(stored_prompt(&project, 1), "Look around.\n");
    assert!(answer.stderr.contains("plan.md does not ask for <promise>COMPLETE</promise>"), "{}", answer.stderr);
}

// spec: L4, C1
#[test]
fn checks_of_the_configuration_decide_in_build_mode_and_the_reason_goes_back() {
    let project = project();
    project.write(".ralph/config.yaml", "checks: ['echo it is missing; test -e done.txt']\n");
    project.trust();
    let agent = prompt_recorder(1).replace("echo '<promise>", "[ $n -lt 2 ] || touch done.txt; echo '<promise>");
    let answer = run_shell(&project, &["build"], &agent).output().expect(0);
    let verdicts: Vec<_> = answer.events_named("verdict").iter().map(|event| event["verdict"].clone()).collect();
    assert_eq!(verdicts, ["rejected", "accepted"]);
    let second = stored_prompt(&project, 2);
    assert!(second.starts_with(&format!("Follow the plan.\n{PROMISE_REQUEST}")), "{second}");
    assert!(second.contains("## Your last claim was rejected") && second.contains("it is missing"), "{second}");
    fs::remove_file(project.root().join("done.txt")).unwrap();
    let answer = run(&project, &["plan"], &["complete"]).output().expect(0);
    assert!(answer.events_named("verdict").is_empty(), "a plan is not held against the checks");
}

// spec: C3, S2
// fault: 85
#[test]
fn an_agent_that_repeats_its_prompt_claims_nothing() {
    let project = project();
    let answer = run(&project, &["build", "1"], &["echo"]).output().expect(0);
    assert_eq!(answer.finished()["outcome"], "exhausted");
}

// spec: C1, C2
#[test]
fn a_named_configuration_replaces_that_of_the_project() {
    let project = project();
    project.write(".ralph/config", "WHO=project\nWHAT=thing\n");
    fs::write(project.outside("other"), "WHO=named\n").unwrap();
    project.write(".ralph/prompts/plan.md", format!("$WHO [$WHAT]\n{PROMISE_REQUEST}"));
    let call = run_shell(&project, &["plan"], &prompt_recorder(1));
    call.args(["--config"]).args([project.outside("other")]).output().expect(0);
    assert_eq!(stored_prompt(&project, 1), format!("named []\n{PROMISE_REQUEST}"));
}

// spec: C1
#[test]
fn the_root_is_the_home_if_it_has_prompts_and_config() {
    let project = Project::new();
    fs::create_dir(project.root().join("prompts")).unwrap();
    project.write("prompts/build.md", format!("At the root: $WHO\n{PROMISE_REQUEST}"));
    project.write("config", "WHO=me\n");
    project.write("implementation_plan.md", "- x\n");
    run_shell(&project, &["build"], &prompt_recorder(1)).output().expect(0);
    assert_eq!(stored_prompt(&project, 1), format!("At the root: me\n{PROMISE_REQUEST}"));
    let logs: Vec<_> = fs::read_dir(project.root().join("logs")).unwrap().flatten().collect();
    assert!(logs.iter().any(|log| log.file_name().to_string_lossy().starts_with("session-")));
    assert!(!project.root().join(".ralph").exists());
}

// spec: C1
#[test]
fn the_nearest_home_is_used_or_created() {
    let project = project();
    let inner = project.root().join("part/.ralph/prompts");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("plan.md"), format!("The part's own.\n{PROMISE_REQUEST}")).unwrap();
    let call = run_shell(&project, &["plan"], &prompt_recorder(1)).folder(&project.root().join("part"));
    call.output().expect(0);
    assert_eq!(stored_prompt(&project, 1), format!("The part's own.\n{PROMISE_REQUEST}"));

    let bare = Project::new();
    let own = bare.write("own.md", PROMISE_REQUEST);
    run_shell(&bare, &["prompt", own.to_str().unwrap()], &prompt_recorder(1)).output().expect(0);
    assert!(bare.root().join(".ralph/logs").is_dir());
}

// spec: C3
// fault: 80
#[test]
fn variables_in_agent_and_check_output_are_never_replaced() {
    let project = project();
    fs::create_dir_all(project.home().join(".config/ralph")).unwrap();
    let words = "$MODE ${ITERATION} {{env.CANARY_TOKEN}} $SPECS_DIR";
    let check = format!("test -e fixed || {{ echo '{words}'; exit 1; }}");
    let yaml = format!("checks: [{}]\n", serde_json::to_string(&check).unwrap());
    fs::write(project.home().join(".config/ralph/config.yaml"), yaml).unwrap();
    let second = project.outside("second");
    let script = project.script(&format!(
        "text {words} {{promise}}\ntext {{promise}}\n---\nprompt {}\nwrite fixed yes\ntext {{promise}}\n",
        second.display()
    ));
    run(&project, &["build"], &["script", &script]).output().expect(0);
    let prompt = fs::read_to_string(second).unwrap();
    assert!(prompt.contains(words), "{prompt}");
}

// spec: C3
#[test]
fn the_known_keys_of_a_classic_file_are_variables_too() {
    let project = project();
    fs::remove_file(project.root().join(".ralph/prompts/build.md")).unwrap();
    let ask = "$AGENT_TYPE ${MAX_RETRIES} $TEAM $SPECS_DIR";
    project.write(".ralph/prompts/build.md", format!("{ask}\n{PROMISE_REQUEST}"));
    project.write(".ralph/config", "AGENT_TYPE=text\nMAX_RETRIES=2\nTEAM=blue\nSPECS_DIR=docs\n");
    let seen = project.outside("seen");
    let script = project.script(&format!("prompt {}\ntext {{promise}}\n", seen.display()));
    run(&project, &["build"], &["script", &script]).output().expect(0);
    assert!(fs::read_to_string(seen).unwrap().starts_with("text 2 blue docs\n"));
}
