//! Cheats against a check with several stages, one of which is a judge.
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::Cheat;
use crate::harness::Project;

/// A judge that accepts whatever the work tree contains, with a quotation of the changed file.
const JUDGE: &str = r#"#!/bin/sh
question=$(cat)
id=$(printf '%s' "$question" | grep -o 'mark [0-9a-f]\{32\}' | head -1 | cut -d' ' -f2)
printf '{"id":"%s","findings":[{"criterion":1,"met":true,"quotation":"exit 0","reason":"I saw it"}]}' "$id"
"#;

/// Writes the judge, and a configuration with a check that runs `make test` and then asks it.
fn configure(project: &Project) -> String {
    let judge = project.outside("judge.sh");
    fs::write(&judge, JUDGE).unwrap();
    fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
    let config = project.outside("judging.yaml");
    let text = format!(
        "agents: {{judge: {{type: text, cli: '{}'}}}}\nverification: {{judge: {{agent: judge}}}}\n\
         checks: [{{stages: [make test, {{check_for: [it works]}}]}}]\n",
        judge.display()
    );
    fs::write(&config, text).unwrap();
    config.display().to_string()
}

// spec: V15
#[test]
fn a_test_is_gutted_where_a_judge_is_one_stage_of_the_check() {
    let cheat = Cheat::new(&[], "echo 'exit 0' > tests/check.sh");
    let project = cheat.project();
    let config = configure(&project);
    let answer = Cheat { args: &["--config", &config], ..cheat }.run(&project).expect(3);
    let verdict = answer.events_named("verdict").pop().unwrap();
    assert_eq!(verdict["checks"][0]["verdict"], "accepted", "the judge and the gutted test accept: {verdict}");
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.contains("tests/check.sh was changed"), "{reason}");
}
