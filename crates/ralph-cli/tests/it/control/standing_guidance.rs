//! `ralph guide --keep`: guidance that stays in every later prompt.
use std::fs;

use crate::control::cancel::{beside, short};
use crate::harness::Project;
use crate::work::pipeline::{project as task_project, work};

// finding: N56
#[test]
fn kept_guidance_is_in_the_prompts_of_all_stages_of_a_task_until_it_is_cleared() {
    let project = task_project(&[("T-1", ""), ("T-2", "")]);
    let printed = project.ralph(["guide", "T-1", "--keep", "never touch the API"]).output().expect(0).stdout;
    assert_eq!(printed, "Kept for T-1; it is part of every later prompt\n");
    assert_eq!(project.ralph(["guide", "T-1", "--list"]).output().expect(0).stdout, "never touch the API\n");
    work(&project, &["--until-idle"]).env("RALPH_PIPELINE_STAGES", "coder,reviewer").output().expect(0);
    let prompt = |name: &str| fs::read_to_string(project.outside("marks").join(format!("prompt-{name}"))).unwrap();
    for stage in ["T-1-coder", "T-1-reviewer"] {
        let section = "## Standing guidance\n\nThe person in charge of the loop said this. Follow it in every iteration:\n\n\
            > never touch the API\n";
        assert!(prompt(stage).contains(section), "{}", prompt(stage));
    }
    assert!(!prompt("T-2-coder").contains("never touch"));
    assert_eq!(project.ralph(["guide", "T-1", "--clear"]).output().expect(0).stdout, "Removed the guidance of T-1\n");
    assert_eq!(project.ralph(["guide", "T-1", "--list"]).output().expect(0).stdout, "");
}

// finding: N56
#[test]
fn kept_guidance_of_a_run_is_in_every_later_prompt_and_shown() {
    let project = Project::new();
    let agent = r#"cat > "$(dirname "$0")/prompt"; touch "$(dirname "$0")/holding"; while [ ! -e go ]; do sleep 0.05; done; echo working"#;
    let running = project.run_shell(agent).args(["--max-iterations", "3"]).start();
    let run = running.wait_for_event("run.started")["run"].as_str().unwrap().to_owned();
    crate::harness::wait_until("the agent works", || project.outside("holding").exists());
    beside(&project, &["guide", short(&run), "--keep", "use tabs"]).expect(0);
    project.write("go", "");
    let answer = running.wait().expect(3);
    assert_eq!(answer.events_named("guidance.standing").len(), 1, "recorded with the second prompt only");
    let prompt = fs::read_to_string(project.outside("prompt")).unwrap();
    assert!(prompt.contains("> use tabs\n"), "{prompt}");
    let shown = project.ralph(["show", &run, "--json"]).output().expect(0).json();
    assert_eq!(shown["standing_guidance"][0], "use tabs");
    assert!(project.ralph(["show", &run]).output().expect(0).stdout.contains("always   use tabs\n"));
    let refused = project.ralph(["guide", &run, "--keep", "more"]).output().expect(1).stderr;
    assert!(refused.contains("has ended"), "{refused}");
}
