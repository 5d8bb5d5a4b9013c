//! Cheats in a task: the coder may have several attempts, and a tester follows.
use std::fs;

use super::FILES;
use crate::harness::{CallOutput, Project};
use crate::verification::task_seal::{AGENT, set_deed, task_ends, work};

/// What verifies the stages of a task, and what its coder does in each attempt.
pub struct TaskCheat<'a> {
    pub coder: &'a str,
    pub tester: &'a str,
    pub deeds: &'a [&'a str],
}

impl TaskCheat<'_> {
    pub fn project(&self) -> Project {
        let project = Project::new();
        fs::create_dir(project.root().join("tests")).unwrap();
        FILES.iter().for_each(|(name, text)| drop(project.write(name, text)));
        project.write("tester.sh", "grep -q tested work\n");
        project.commit();
        let check = |role: &str, command: &str| {
            format!("{role}: {{verification_method: external, verification_config: {{command: {command}}}}}")
        };
        let text = format!(
            "task:\n  id: T-1\n  spec_id: s\n  title: Do it\n  completion:\n    outcome: it is there\n    \
             acceptance_criteria: [it is there]\n    {}\n    {}\n",
            check("coder", self.coder),
            check("tester", self.tester)
        );
        let path = project.outside("T-1.yaml");
        fs::write(&path, text).unwrap();
        project.ralph(["task", "import", path.to_str().unwrap()]).output().expect(0);
        project.shell(AGENT);
        (1..).zip(self.deeds).for_each(|(number, agent_script)| set_deed(&project, number, agent_script));
        project
    }

    /// The task ends without being done, and some claim was rejected for this reason.
    #[track_caller]
    pub fn is_refused(&self, why: &str) {
        let project = self.project();
        let answer = work(&project).output();
        assert_ne!(answer.code(), 0, "{}", answer.stdout);
        assert!(!task_ends(&answer).contains(&"done".to_owned()), "{}", answer.stdout);
        assert!(was_rejected_for(&answer, why), "{}", answer.stdout);
        project.ralph(["land", "T-1"]).output().expect(1);
        assert_eq!(fs::read_to_string(project.root().join("work")).unwrap(), "open\n", "nothing is landed");
    }
}

fn was_rejected_for(answer: &CallOutput, why: &str) -> bool {
    let verdicts = answer.events_named("verdict");
    verdicts.iter().any(|event| event["verdict"] == "rejected" && event["reason"].as_str().unwrap().contains(why))
}
