//! Runs every command line of the README and the guide. A line that is not run must be in a list here, with its reason.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{FAKE_AGENT, Project};

/// Lines whose program ends only when a person ends it, or waits for one: only their options are checked.
const PARSED_ONLY: &[(&str, &str)] = &[
    ("ralph status --watch", "runs until Ctrl-C"),
    ("ralph board", "needs a terminal; the tests of the board start it in tmux"),
    ("ralph serve", "runs until a signal; the tests of the server start it"),
    ("ralph trust", "asks a person"),
    ("ralph task approve", "asks a person"),
    ("ralph run \"…\" --agent acp", "needs a program that speaks the protocol"),
    ("ralph undo RUN", "the id is an example"),
    ("ralph why TASK-001 2", "needs a task with two iterations"),
    ("ralph show RUN", "the id is an example"),
    ("ralph show 3f2a9c41", "the id is an example"),
    ("ralph diff 3f2a9c41", "the id is an example"),
    ("ralph logs 3f2a9c41", "the id is an example"),
    ("ralph show 7cd7411f", "the id is an example"),
    ("ralph workflow approve", "the id is an example"),
    ("ralph workflow reject", "the id is an example"),
    ("ralph workflow respond", "the id is an example"),
    ("ralph accept 3f2a9c41", "the id is an example"),
    ("ralph reject 3f2a9c41", "the id is an example"),
    ("ralph guide 3f2a9c41", "the id is an example"),
    ("ralph attach 3f2a9c41", "the id is an example"),
    ("ralph limit 3f2a9c41", "the id is an example"),
    ("ralph pause 3f2a9c41", "the id is an example"),
    ("ralph resume 3f2a9c41", "the id is an example"),
    ("ralph resume 9c3f2a41", "the id is an example"),
    ("ralph task edit TASK-001 --status todo", "the task is ready already"),
    ("ralph cancel worker-7c1d20e5", "the id is an example"),
    ("ralph rewind TASK-001 coder 2", "needs a task with two iterations"),
    ("ralph diff TASK-001 --iteration 2", "needs a task with two iterations"),
    ("ralph guide 'Keep the script POSIX sh'", "needs an active loop; the tests of control have one"),
];

/// Lines of other programs than ralph.
const OTHER_PROGRAMS: &[&str] = &["cargo install", "git for-each-ref", "cp FILE"];

/// The exit codes with which a correct call may end in the prepared project: the work of the scripted agent may be
/// incomplete, and a task may be in another state. A usage error or an internal error is never right.
const POSSIBLE_EXIT_CODES: [i32; 8] = [0, 1, 2, 3, 4, 6, 7, 8];

/// The page whose blocks are run as a whole, because they write files.
const FIRST_TUTORIAL: &str = "tutorial";

/// Pages on which every line must succeed.
const TUTORIALS: [&str; 1] = ["overnight"];

fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = vec![root.join("README.md")];
    let guide = fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    files.extend(guide.filter(|path| path.extension().is_some_and(|kind| kind == "md")));
    files.sort();
    let name = |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Returns the lines of all `sh` blocks.
fn shell_lines(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut language = None;
    for line in page.lines() {
        match (line.trim().strip_prefix("```"), &language) {
            (Some(name), None) => language = Some(name.to_owned()),
            (Some(_), Some(_)) => language = None,
            (None, Some(name)) if name == "sh" && !line.trim().is_empty() => lines.push(line.trim().to_owned()),
            (None, _) => {}
        }
    }
    lines
}

/// A project with everything that the examples name, and agents that do what is asked.
struct ExampleProject {
    project: Project,
    path: String,
}

impl ExampleProject {
    fn new() -> Self {
        let project = Project::new();
        let programs = project.outside("programs");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_ralph"), programs.join("ralph")).unwrap();
        for (name, mode) in [("claude", "claude-complete"), ("codex", "complete"), ("cargo", "complete")] {
            let text = match name {
                "cargo" => "#!/bin/sh\nexit 0\n".to_owned(),
                _ => format!("{AGENT_SCRIPT}exec {FAKE_AGENT} {mode}\n"),
            };
            write_program(&programs.join(name), &text);
        }
        project.write("Makefile", "lint:\n\ttrue\ntest:\n\ttrue\n");
        project.write("task.md", "Make the tests pass\n");
        project.write("SPEC.md", "# A shop\n");
        project.write("review.md", "Review it. <promise>COMPLETE</promise>\n");
        project.write("deploy.txt", "a-secret-value\n");
        project.write("iteration-003.ndjson", "");
        fs::create_dir(project.root().join("docs")).unwrap();
        project.write("docs/auth.md", "# Login\n");
        project.write("tasks.yaml", EXAMPLE_TASKS);
        let settings = project.home().join(".config/ralph");
        fs::create_dir_all(&settings).unwrap();
        fs::write(settings.join("config.yaml"), "agents:\n  mine: { type: text, cli: /bin/cat }\n").unwrap();
        write_program(
            &project.root().join("my-agent.sh"),
            "#!/bin/sh\ncat >/dev/null\necho '<promise>DONE</promise>'\n",
        );
        project.commit();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        Self { project, path }
    }

    /// Writes the YAML file that the page tells the reader to write.
    fn write_tasks_of(&self, page: &str) {
        let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        if let Some(tasks) = blocks.into_iter().find(|block| block.starts_with("task") || block.starts_with("- ")) {
            self.project.write("tasks.yaml", tasks);
        }
    }

    /// Writes the workflows that the page tells the reader to write, and approves them.
    fn write_workflows_of(&self, page: &str) {
        let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let name_of = |block: &'_ str| block.lines().find_map(|line| Some(line.strip_prefix("name: ")?.to_owned()));
        let named = blocks.filter_map(|block| Some((name_of(block)?, block)));
        for (name, block) in named.filter(|(_, block)| block.contains("\ndescription: ")) {
            fs::create_dir_all(self.project.root().join(".ralph/workflows")).unwrap();
            self.project.write(&format!(".ralph/workflows/{name}.yaml"), block);
            self.project.ralph(["trust", "--yes"]).start().wait_without_invariants();
        }
    }

    /// Imports the tasks if the page names one that it does not import.
    fn import_tasks_for(&self, lines: &[String]) {
        let is_named = lines.iter().any(|line| line.contains("TASK-001"));
        if is_named && !lines.iter().any(|line| line.contains("task import tasks.yaml")) {
            assert_eq!(self.run("ralph task import tasks.yaml").0, 0);
        }
    }

    /// Runs a line in a shell, and returns its exit code and output.
    fn run(&self, line: &str) -> (i32, String) {
        let mut shell = Command::new("timeout");
        shell.args(["--kill-after=5", "60", "sh", "-c", line]);
        let call = self.project.ralph(["--version"]).replace_program(shell).env("PATH", &self.path);
        let call = call.env("RALPH_MAX_ITERATIONS", "2").env("RALPH_PIPELINE_STAGES", "coder");
        let answer = call.start().wait_without_invariants();
        (answer.code(), format!("{}{}", answer.stdout, answer.stderr))
    }
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Does the tasks of the tutorial, and claims as the prompt asks.
const AGENT_SCRIPT: &str = r#"#!/bin/sh
prompt=$(cat)
case $prompt in
*"Write shout.sh"*) echo 'sh greet.sh | tr a-z A-Z' > shout.sh;;
*"Write greet.sh"*) echo 'echo hello' > greet.sh;;
esac
git add --all; git -c user.name=A -c user.email=a@example.invalid commit --quiet --allow-empty -m work
FA_PROMISE=$(printf '%s\n' "$prompt" | sed -n 's/.*<promise>\([A-Z_]*\)<\/promise>.*/\1/p' | tail -1)
export FA_PROMISE
"#;

const EXAMPLE_TASKS: &str = "- id: TASK-001
  spec_id: auth
  title: Add a login
  completion: { outcome: it is there, acceptance_criteria: [the file is there] }
- id: TASK-002
  spec_id: auth
  title: Add a logout
  completion: { outcome: it is there, acceptance_criteria: [the file is there] }
";

fn is_in(list: &[(&str, &str)], line: &str) -> bool {
    list.iter().any(|(start, _)| line.starts_with(start))
}

/// Returns a line whose ralph only parses its options and prints help.
fn with_help(line: &str) -> String {
    let command = line.split(" #").next().unwrap_or_default().split(';').next().unwrap_or_default();
    format!("{command} --help")
}

// spec: U12
// finding: N58
#[test]
fn every_command_line_of_readme_and_guide_works() {
    let mut wrong = Vec::new();
    for (name, text) in pages() {
        let lines = shell_lines(&text);
        let example = ExampleProject::new();
        if TUTORIALS.contains(&name.as_str()) {
            example.write_tasks_of(&text);
        }
        example.write_workflows_of(&text);
        example.import_tasks_for(&lines);
        for line in lines.iter().filter(|line| line.contains("ralph") && name != FIRST_TUTORIAL) {
            if OTHER_PROGRAMS.iter().any(|program| line.starts_with(program)) {
                continue;
            }
            let (code, output) =
                if is_in(PARSED_ONLY, line) { example.run(&with_help(line)) } else { example.run(line) };
            let is_right = if is_in(PARSED_ONLY, line) || TUTORIALS.contains(&name.as_str()) {
                code == 0
            } else {
                POSSIBLE_EXIT_CODES.contains(&code)
            };
            if !is_right {
                wrong.push(format!("{name}: {line}\nexit code {code}\n{output}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Returns the `sh` blocks of a page.
fn shell_blocks(page: &str) -> Vec<String> {
    page.split("```sh\n").skip(1).filter_map(|rest| Some(rest.split("```").next()?.to_owned())).collect()
}

// spec: U12
#[test]
fn the_first_tutorial_works_from_its_first_line_to_its_last() {
    let (_, text) = pages().into_iter().find(|(name, _)| name == FIRST_TUTORIAL).unwrap();
    let example = ExampleProject::new();
    let place = example.project.outside("place");
    fs::write(&place, example.project.root().display().to_string()).unwrap();
    let identity = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.invalid GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.invalid";
    for block in shell_blocks(&text).iter().filter(|block| !block.starts_with("cargo install")) {
        let folder = format!("cd \"$(cat {0})\"", place.display());
        let id = if block.contains("6db4e469") {
            let (_, listed) = example.run(&format!("{folder}; ralph runs --json 2>/dev/null"));
            serde_json::from_str::<serde_json::Value>(listed.trim()).unwrap()[0]["id"].as_str().unwrap().to_owned()
        } else {
            String::new()
        };
        let script = format!(
            "{identity}\n{folder}\n{}\ncode=$?; pwd > {}; exit $code",
            block.replace("6db4e469", &id),
            place.display()
        );
        let (code, output) = example.run(&script);
        assert!(POSSIBLE_EXIT_CODES.contains(&code), "exit code {code}\n{block}\n{output}");
        assert!(!output.contains("error: "), "{block}\n{output}");
    }
}

// spec: U12
#[test]
fn the_lists_of_exceptions_name_only_lines_that_exist() {
    let lines: Vec<String> = pages().iter().flat_map(|(_, text)| shell_lines(text)).collect();
    let starts = PARSED_ONLY.iter().map(|(start, _)| start).chain(OTHER_PROGRAMS);
    let unused: Vec<&&str> = starts.filter(|start| !lines.iter().any(|line| line.starts_with(**start))).collect();
    assert_eq!(unused, Vec::<&&str>::new());
}
