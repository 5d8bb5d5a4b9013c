//! Files in world-writable folders are never used, and ralph creates no predictable names there.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{FAKE_AGENT, Project};

// fault: 63
// spec: L13
#[test]
fn a_run_writes_nothing_into_the_temporary_folder() {
    let project = Project::new();
    let shared = project.outside("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let prompt = project.write("go.md", "Do it.\n<promise>COMPLETE</promise>\n");
    let agent = ["--agent", "text", "--agent-cmd", FAKE_AGENT, "--agent-arg=complete"];
    let calls = [
        project.run(&["complete"]).args(["--check", "true"]),
        project.ralph(["prompt".as_ref(), prompt.as_os_str()]).args(agent),
        project.ralph(["resume"]),
        project.ralph(["init"]),
        project.ralph(["trust", "--yes"]),
        project.ralph(["backup", "copy.db"]),
        project.ralph(["gc", "--older-than", "1ms"]),
    ];
    for call in calls {
        call.env("TMPDIR", &shared).output().expect(0);
        let left: Vec<_> = fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

// fault: 63
// spec: U2
#[test]
fn the_demo_works_in_a_new_folder_with_an_unpredictable_name() {
    let project = Project::new();
    let shared = project.outside("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let victim = project.outside("victim");
    fs::create_dir(&victim).unwrap();
    for name in ["ralph-demo", "ralph", "demo", "ralph-demo-"] {
        symlink(&victim, shared.join(name)).unwrap();
    }
    let planted = || fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().path());
    let before: Vec<_> = planted().collect();
    for _ in 0..2 {
        project.ralph(["demo", "--fast"]).env("TMPDIR", &shared).output().expect(0);
    }
    let made: Vec<_> = planted().filter(|path| !before.contains(path)).collect();
    assert_eq!(made.len(), 2, "each has its own: {made:?}");
    for folder in made {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
    }
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 0, "no link was followed");
}
