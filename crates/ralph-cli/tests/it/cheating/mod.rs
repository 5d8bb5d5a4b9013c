//! The cheating suite: agents that try to pass without doing the work, by class of cheat. Each cheat is refused, or its result
//! is reported at its true proof level.
mod build_files;
mod cache;
mod edit;
mod index;
mod landing;
mod later_attempt;
mod later_stage;
mod link;
mod refs;
mod run_files;
mod sessions;
mod shadow;
mod stages;
mod swap;
mod task_cheat;

use std::fs;

use serde_json::Value;

use crate::harness::{CallOutput, Project};

/// The files of every project: nothing passes until `work` says `done`.
const FILES: &[(&str, &str)] = &[
    ("work", "open\n"),
    ("verify.sh", "grep -q done work\n"),
    ("build.sh", "true\n"),
    ("Makefile", "build:\n\tsh build.sh\ntest:\n\tsh build.sh\n\tsh tests/check.sh\n"),
    ("tests/check.sh", "grep -q done work\n"),
];

const COMMIT: &str = "git add -A; git -c user.name=A -c user.email=a@example.invalid commit -qm work";

/// One cheat: what the project has, what decides, and what the agent does before it claims.
struct Cheat<'a> {
    files: &'a [(&'a str, &'a str)],
    /// Files that git ignores.
    ignored: &'a [(&'a str, &'a str)],
    checks: &'a [&'a str],
    args: &'a [&'a str],
    agent_script: &'a str,
}

impl<'a> Cheat<'a> {
    const fn new(check: &'a [&'a str], agent_script: &'a str) -> Self {
        Self { files: &[], ignored: &[], checks: check, args: &[], agent_script }
    }

    const fn files(self, files: &'a [(&'a str, &'a str)]) -> Self {
        Self { files, ..self }
    }

    const fn ignored(self, ignored: &'a [(&'a str, &'a str)]) -> Self {
        Self { ignored, ..self }
    }

    const fn args(self, args: &'a [&'a str]) -> Self {
        Self { args, ..self }
    }

    fn project(&self) -> Project {
        let project = Project::new();
        let write = |(name, text): &(&str, &str)| {
            if let Some(folder) = project.root().join(name).parent() {
                fs::create_dir_all(folder).unwrap();
            }
            project.write(name, text);
        };
        FILES.iter().chain(self.files).for_each(write);
        if !self.ignored.is_empty() {
            let names: Vec<&str> = self.ignored.iter().map(|(name, _)| *name).collect();
            project.write(".gitignore", names.join("\n") + "\n");
        }
        project.commit();
        self.ignored.iter().for_each(write);
        project
    }

    fn run(&self, project: &Project) -> CallOutput {
        let agent = format!("cat > /dev/null\n{}\necho '<promise>COMPLETE</promise>'", self.agent_script);
        let call = project.run_shell(&agent).args(["--max-iterations", "1"]).args(self.args);
        call.args(self.checks.iter().flat_map(|check| ["--check", *check])).output()
    }

    /// The only claim is rejected for this reason.
    #[track_caller]
    fn is_refused(&self, why: &str) {
        let answer = self.run(&self.project());
        let verdicts = answer.events_named("verdict");
        assert_eq!(verdicts.len(), 1, "{}{}", answer.stdout, answer.stderr);
        assert_eq!((&verdicts[0]["verdict"], answer.code()), (&Value::from("rejected"), 3), "{}", answer.stdout);
        let reason = verdicts[0]["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{reason}");
    }

    /// The claim is accepted, but only as checked, for this reason.
    #[track_caller]
    fn is_only_checked(&self, why: &str) {
        let finished = self.run(&self.project()).expect(0).finished();
        assert_eq!(finished["proof"], "checked", "{finished}");
        assert!(finished["proof_reason"].as_str().unwrap().contains(why), "{finished}");
    }
}

/// A test for each cheat that is refused, with the reason.
macro_rules! refused {
    ($($(#[doc = $doc:literal])* $name:ident: $cheat:expr => $why:expr;)*) => {
        $($(#[doc = $doc])* #[test] fn $name() { $cheat.is_refused($why); })*
    };
}

/// A test for each cheat whose result is only checked, with the reason.
macro_rules! only_checked {
    ($($name:ident: $cheat:expr => $why:expr;)*) => { $(#[test] fn $name() { $cheat.is_only_checked($why); })* };
}

pub(crate) use {only_checked, refused};
