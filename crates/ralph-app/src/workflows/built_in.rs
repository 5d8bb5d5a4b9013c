//! Workflows and commands that are part of ralph. Files of the same name replace them.

/// A file that is part of ralph.
#[derive(Debug)]
pub(super) struct BuiltInFile {
    pub name: &'static str,
    pub text: &'static str,
}

pub(super) const BUILT_IN_WORKFLOWS: &[BuiltInFile] = &[
    BuiltInFile { name: "fix-issue", text: include_str!("builtin/fix-issue.yaml") },
    BuiltInFile { name: "plan-build", text: include_str!("builtin/plan-build.yaml") },
    BuiltInFile { name: "ralph", text: include_str!("builtin/ralph.yaml") },
    BuiltInFile { name: "review", text: include_str!("builtin/review.yaml") },
];

pub(super) const BUILT_IN_COMMANDS: &[BuiltInFile] = &[
    BuiltInFile { name: "fix-issue-investigate", text: include_str!("builtin/commands/fix-issue-investigate.md") },
    BuiltInFile { name: "fix-issue-iterate", text: include_str!("builtin/commands/fix-issue-iterate.md") },
    BuiltInFile { name: "fix-issue-review", text: include_str!("builtin/commands/fix-issue-review.md") },
    BuiltInFile { name: "plan-build-iterate", text: include_str!("builtin/commands/plan-build-iterate.md") },
    BuiltInFile { name: "plan-build-plan", text: include_str!("builtin/commands/plan-build-plan.md") },
    BuiltInFile { name: "plan-build-review", text: include_str!("builtin/commands/plan-build-review.md") },
    BuiltInFile { name: "ralph-iterate", text: include_str!("builtin/commands/ralph-iterate.md") },
    BuiltInFile { name: "review-aspect", text: include_str!("builtin/commands/review-aspect.md") },
    BuiltInFile { name: "review-report", text: include_str!("builtin/commands/review-report.md") },
];

#[cfg(test)]
mod tests;
