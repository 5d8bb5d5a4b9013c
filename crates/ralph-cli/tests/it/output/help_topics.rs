//! `ralph help`: commands in groups, and the pages of the guide from the binary.
use crate::harness::Project;

// spec: U11
// finding: N52
#[test]
fn commands_are_listed_in_groups_and_plumbing_is_hidden() {
    let project = Project::new();
    let help = project.ralph(["--help"]).output().expect(0).stdout;
    let groups = ["Run:", "Tasks:", "Look:", "Control:", "Set up:"];
    let titles: Vec<&str> = help.lines().filter(|line| groups.contains(line)).collect();
    assert_eq!(titles, groups);
    assert!(!help.contains("\n  hook "), "{help}");
    let (groups, _) = help.split_once("Options:").unwrap();
    let wide: Vec<&str> = groups.lines().filter(|line| line.starts_with("  ") && line.chars().count() > 80).collect();
    assert_eq!(wide, Vec::<&str>::new());
    let plumbing = project.ralph(["help", "plumbing"]).output().expect(0).stdout;
    assert!(plumbing.contains("\n  hook "), "{plumbing}");
}

// spec: U11
#[test]
fn the_names_that_people_type_work() {
    let project = Project::new();
    for (alias, name) in [("ps", "status"), ("stop", "cancel"), ("kill", "cancel"), ("log", "logs"), ("merge", "land")]
    {
        let help = project.ralph([alias, "--help"]).output().expect(0).stdout;
        assert!(help.contains(&format!("Usage: ralph {name}")), "{alias}: {help}");
    }
}

// spec: U12
#[test]
fn help_prints_pages_of_the_guide_and_help_of_commands() {
    let project = Project::new();
    let outside = project.outside("empty");
    std::fs::create_dir(&outside).unwrap();
    let page = project.ralph(["help", "overnight"]).folder(&outside).output().expect(0).stdout;
    assert!(
        page.starts_with("Your first overnight work\n") && page.contains("\n    ralph work --until-idle"),
        "{page}"
    );
    let list = project.ralph(["help"]).folder(&outside).output().expect(0).stdout;
    let begins = |title: &str| list.lines().find(|line| line.ends_with(title)).and_then(|line| line.find(title));
    assert_eq!(begins("Your first overnight work"), begins("Your first workflow"), "{list}");
    assert!(begins("Your first workflow").is_some(), "{list}");
    let command = project.ralph(["help", "run"]).output().expect(0).stdout;
    assert!(command.contains("Usage: ralph run") && command.contains("ralph help --guide run"), "{command}");
    let nested = project.ralph(["help", "task", "create"]).output().expect(0).stdout;
    assert!(nested.contains("Usage: ralph task create"), "{nested}");
    let page = project.ralph(["help", "--guide", "run"]).output().expect(0).stdout;
    assert!(!page.contains("Usage: ralph run"), "{page}");
}

// spec: U12
#[test]
fn an_unknown_topic_gets_a_suggestion() {
    let project = Project::new();
    let refused = project.ralph(["help", "overnigth"]).output().expect(64).stderr;
    assert!(refused.contains("did you mean `ralph help overnight`?"), "{refused}");
    let refused = project.ralph(["help", "zzzzzz"]).output().expect(64).stderr;
    assert!(refused.contains("`ralph help` lists the commands and topics"), "{refused}");
}
