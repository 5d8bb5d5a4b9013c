//! The scripted agent at work on the prompts of `ralph init`: it writes a small plan, and then does one task of it each
//! time it is started. What it builds is only a file that tells so.
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::speech::Voice;
use super::stage::commit_only;

/// What it can do in any repository.
const TASKS: &[&str] = &["Say hello in DEMO.md", "Say in DEMO.md what was planned", "Say goodbye in DEMO.md"];

const PRODUCT: &str = "DEMO.md";

/// What a prompt asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Plan { plan: PathBuf },
    Build { plan: PathBuf },
}

impl Asked {
    /// Reads the prompts that `ralph init` writes; any other asks for something else.
    pub(super) fn of(prompt: &str) -> Option<Self> {
        let plan =
            prompt.split('`').find(|word| word.ends_with("implementation_plan.md")).map(PathBuf::from)?;
        match prompt.lines().next()? {
            "# Plan" => Some(Self::Plan { plan }),
            "# Build" => Some(Self::Build { plan }),
            _ => None,
        }
    }
}

pub(super) fn follow(root: &Path, asked: &Asked, voice: &mut Voice<impl Write>, tag: &str) {
    match asked {
        Asked::Plan { plan } => make_plan(root, plan, voice, tag),
        Asked::Build { plan } => build(root, plan, voice, tag),
    }
}

/// Writes the plan, looks at it again the next time, and claims once nothing has to change.
fn make_plan(root: &Path, plan: &Path, voice: &mut Voice<impl Write>, tag: &str) {
    if root.join(plan).is_file() {
        voice.uses("Read", &json!({ "file_path": plan }), Ok("(the plan)"));
        return voice.finishes(&format!("The plan is whole; nothing in it had to change.\n\n{tag}"));
    }
    let tasks: Vec<String> = TASKS.iter().map(|task| format!("- [ ] {task}\n")).collect();
    let text = format!(
        "# Implementation plan\n\n{}\n## Learned\n\n- The demo agent made this plan.\n",
        tasks.concat()
    );
    edit(root, plan, &text, voice);
    keep(root, &[plan], "plan: three small tasks", voice);
    voice.finishes("I wrote a plan with three small tasks. Another look at it will do no harm.");
}

/// Does the first open task, and claims with the last one.
fn build(root: &Path, plan: &Path, voice: &mut Voice<impl Write>, tag: &str) {
    let text = std::fs::read_to_string(root.join(plan)).unwrap_or_default();
    let Some(task) = text.lines().find_map(|line| line.strip_prefix("- [ ] ")) else {
        return voice.finishes(&format!("No open task is left in the plan.\n\n{tag}"));
    };
    voice.says(&format!("I take the first open task: {task}."));
    let mut product = std::fs::read_to_string(root.join(PRODUCT)).unwrap_or_default();
    product.push_str(&format!("- {task}: done by the demo agent\n"));
    edit(root, Path::new(PRODUCT), &product, voice);
    let ticked = text.replacen("- [ ] ", "- [x] ", 1);
    edit(root, plan, &ticked, voice);
    keep(root, &[Path::new(PRODUCT), plan], task, voice);
    if ticked.contains("- [ ] ") {
        voice.finishes(&format!("Done: {task}. The plan is up to date and the work is committed."));
    } else {
        voice.finishes(&format!("Done: {task}. That was the last task of the plan.\n\n{tag}"));
    }
}

fn edit(root: &Path, path: &Path, text: &str, voice: &mut Voice<impl Write>) {
    let path_in_root = root.join(path);
    let folder = path_in_root.parent().map_or(Ok(()), std::fs::create_dir_all);
    let written =
        folder.and_then(|()| std::fs::write(&path_in_root, text)).map_err(|error| error.to_string());
    let result = written.as_ref().map(|()| "The file has been updated.").map_err(String::as_str);
    voice.uses("Edit", &json!({ "file_path": path }), result);
}

fn keep(root: &Path, paths: &[&Path], message: &str, voice: &mut Voice<impl Write>) {
    let committed = commit_only(root, paths, message).map_err(|error| error.to_string());
    let result = committed.as_ref().map(|()| message).map_err(String::as_str);
    voice.uses("Bash", &json!({ "command": "git commit" }), result);
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: A9
    #[test]
    fn the_prompts_of_init_are_recognised_and_others_are_not() {
        let plan = PathBuf::from(".ralph/implementation_plan.md");
        let prompt = |title: &str| format!("{title}\n\nRead `.ralph/implementation_plan.md`.\n");
        assert_eq!(Asked::of(&prompt("# Plan")), Some(Asked::Plan { plan: plan.clone() }));
        assert_eq!(Asked::of(&prompt("# Build")), Some(Asked::Build { plan }));
        assert_eq!(Asked::of(&prompt("# Repair")), None);
        assert_eq!(Asked::of("# Plan\n\nWrite one.\n"), None);
    }
}
