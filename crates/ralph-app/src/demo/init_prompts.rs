//! The scripted agent on the prompts of `ralph init`: it writes a small plan, and then completes one task per start.
//! Its only product is `DEMO.md`.
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::demo_repository::commit_only;
use super::demo_stream_writer::DemoStreamWriter;

/// Tasks that work in any repository.
const DEMO_PLAN_TASKS: &[&str] = &["Say hello in DEMO.md", "Say in DEMO.md what was planned", "Say goodbye in DEMO.md"];

const PRODUCT_FILE: &str = "DEMO.md";

/// The step that a prompt requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RequestedStep {
    Plan { plan: PathBuf },
    Build { plan: PathBuf },
}

impl RequestedStep {
    /// Recognizes the prompts that `ralph init` writes; `None` for any other prompt.
    pub(super) fn from_prompt(prompt: &str) -> Option<Self> {
        let plan = prompt.split('`').find(|word| word.ends_with("implementation_plan.md")).map(PathBuf::from)?;
        match prompt.lines().next()? {
            "# Plan" => Some(Self::Plan { plan }),
            "# Build" => Some(Self::Build { plan }),
            _ => None,
        }
    }
}

pub(super) fn follow_prompt(root: &Path, step: &RequestedStep, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    match step {
        RequestedStep::Plan { plan } => write_plan(root, plan, stream, tag),
        RequestedStep::Build { plan } => build_next_task(root, plan, stream, tag),
    }
}

/// Writes the plan. The next time, reads it again and claims completion.
fn write_plan(root: &Path, plan: &Path, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    if root.join(plan).is_file() {
        stream.write_tool_call("Read", &json!({ "file_path": plan }), Ok("(the plan)"));
        return stream.write_result(&format!("The plan is whole; nothing in it had to change.\n\n{tag}"));
    }
    let tasks: Vec<String> = DEMO_PLAN_TASKS.iter().map(|task| format!("- [ ] {task}\n")).collect();
    let text = format!("# Implementation plan\n\n{}\n## Learned\n\n- The demo agent made this plan.\n", tasks.concat());
    edit_file(root, plan, &text, stream);
    commit_files(root, &[plan], "plan: three small tasks", stream);
    stream.write_result("I wrote a plan with three small tasks. Another look at it will do no harm.");
}

/// Completes the first open task; claims completion with the last one.
fn build_next_task(root: &Path, plan: &Path, stream: &mut DemoStreamWriter<impl Write>, tag: &str) {
    let text = std::fs::read_to_string(root.join(plan)).unwrap_or_default();
    let Some(task) = text.lines().find_map(|line| line.strip_prefix("- [ ] ")) else {
        return stream.write_result(&format!("No open task is left in the plan.\n\n{tag}"));
    };
    stream.write_text(&format!("I take the first open task: {task}."));
    let mut product = std::fs::read_to_string(root.join(PRODUCT_FILE)).unwrap_or_default();
    product.push_str(&format!("- {task}: done by the demo agent\n"));
    edit_file(root, Path::new(PRODUCT_FILE), &product, stream);
    let ticked = text.replacen("- [ ] ", "- [x] ", 1);
    edit_file(root, plan, &ticked, stream);
    commit_files(root, &[Path::new(PRODUCT_FILE), plan], task, stream);
    if ticked.contains("- [ ] ") {
        stream.write_result(&format!("Done: {task}. The plan is up to date and the work is committed."));
    } else {
        stream.write_result(&format!("Done: {task}. That was the last task of the plan.\n\n{tag}"));
    }
}

fn edit_file(root: &Path, path: &Path, text: &str, stream: &mut DemoStreamWriter<impl Write>) {
    let path_in_root = root.join(path);
    let folder = path_in_root.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written = folder.and_then(|()| std::fs::write(&path_in_root, text)).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    stream.write_tool_call("Edit", &json!({ "file_path": path }), result);
}

fn commit_files(root: &Path, paths: &[&Path], message: &str, stream: &mut DemoStreamWriter<impl Write>) {
    let committed = commit_only(root, paths, message).map_err(|error| error.to_string());
    let result = committed.as_ref().map(|()| message).map_err(String::as_str);
    stream.write_tool_call("Bash", &json!({ "command": "git commit" }), result);
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A9
    #[test]
    fn the_prompts_of_init_are_recognised_and_others_are_not() {
        let plan = PathBuf::from(".ralph/implementation_plan.md");
        let prompt = |title: &str| format!("{title}\n\nRead `.ralph/implementation_plan.md`.\n");
        assert_eq!(RequestedStep::from_prompt(&prompt("# Plan")), Some(RequestedStep::Plan { plan: plan.clone() }));
        assert_eq!(RequestedStep::from_prompt(&prompt("# Build")), Some(RequestedStep::Build { plan }));
        assert_eq!(RequestedStep::from_prompt(&prompt("# Repair")), None);
        assert_eq!(RequestedStep::from_prompt("# Plan\n\nWrite one.\n"), None);
    }
}
