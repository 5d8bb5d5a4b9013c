//! Decides how to answer an agent's permission request.
use std::path::{Component, Path, PathBuf};

use super::message::{AcpPermissionOption, AcpToolLocation};
use crate::launch::permission::PermissionLevel;
use crate::launch::work_scope::{FileAccess, WorkScope};
use ralph_util::json;

/// The tool kinds that permission `edits` allows. All others (`execute`, `delete`, `fetch`, `switch_mode`, `other`) are
/// refused.
const EDIT_LEVEL_TOOL_KINDS: &[&str] = &["read", "search", "think", "edit", "move"];

/// The tool kinds that permission `work` allows to an agent that must not edit.
const READ_LEVEL_TOOL_KINDS: &[&str] = &["read", "search", "think"];

/// The action that an agent asks to perform.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestedAction<'a> {
    /// The kind of the tool.
    pub(crate) kind: &'a str,
    /// The files that the tool names.
    pub(crate) locations: &'a [AcpToolLocation<'a>],
    /// The command line, if the tool runs one.
    pub(crate) command: Option<&'a str>,
}

/// The actions that the agent may perform, and where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PermissionRules<'a> {
    pub(crate) level: PermissionLevel,
    pub(crate) work_scope: &'a WorkScope,
    pub(crate) folder: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionDecision {
    Allow,
    Refuse,
}

/// Decides by the permission level, the kind of the tool, the files that it names, and the command that it runs.
pub(crate) fn decide_permission(rules: PermissionRules<'_>, action: RequestedAction<'_>) -> PermissionDecision {
    let is_inside = || action.locations.iter().all(|location| is_inside_folder(location, rules.folder));
    let is_of = |kinds: &[&str]| kinds.contains(&action.kind) && is_inside();
    let runs_allowed_command =
        || action.kind == "execute" && action.command.is_some_and(|command| rules.work_scope.allows_command(command));
    let is_allowed = match (rules.level, rules.work_scope.files()) {
        (PermissionLevel::Full, _) => true,
        (PermissionLevel::Work, FileAccess::Edit) => is_of(EDIT_LEVEL_TOOL_KINDS) || runs_allowed_command(),
        (PermissionLevel::Work, FileAccess::Read) => is_of(READ_LEVEL_TOOL_KINDS) || runs_allowed_command(),
        (PermissionLevel::Edits, _) => is_of(EDIT_LEVEL_TOOL_KINDS),
        (PermissionLevel::Ask, _) => false,
    };
    if is_allowed { PermissionDecision::Allow } else { PermissionDecision::Refuse }
}

/// Returns the id of the option for this decision. Prefers a one-time option, because the decision may be different for
/// the next request. Options of unknown kinds are never chosen.
pub(crate) fn choose_option(decision: PermissionDecision, options: &[AcpPermissionOption<'_>]) -> Option<String> {
    let kinds = match decision {
        PermissionDecision::Allow => ["allow_once", "allow_always"],
        PermissionDecision::Refuse => ["reject_once", "reject_always"],
    };
    let of_kind = |kind: &&str| options.iter().find(|option| json::as_name(option.kind) == *kind);
    kinds.iter().find_map(of_kind).and_then(|option| json::decode_string(option.id))
}

/// Returns whether a location is inside the folder. Relative paths are relative to the folder. A path that is not a
/// string is outside. Invalid bytes are replaced, which does not change the folder that a path is in.
fn is_inside_folder(location: &AcpToolLocation<'_>, folder: &str) -> bool {
    let Some(raw) = location.path else { return true };
    let folder = Path::new(folder);
    json::decode_string(Some(raw))
        .is_some_and(|path| normalize_path(&folder.join(path)).starts_with(normalize_path(folder)))
}

/// Removes `.` and `..` from a path lexically, without following links.
fn normalize_path(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut plain, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => plain.push(part),
        }
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide_for_paths(permission: PermissionLevel, kind: &str, paths: &[&str]) -> PermissionDecision {
        let quoted: Vec<String> = paths.iter().map(|path| format!("{path:?}")).collect();
        let locations: Vec<AcpToolLocation<'_>> =
            quoted.iter().map(|path| AcpToolLocation { path: Some(path.as_bytes()) }).collect();
        decide(permission, RequestedAction { kind, locations: &locations, command: None })
    }

    fn decide(level: PermissionLevel, action: RequestedAction<'_>) -> PermissionDecision {
        decide_permission(PermissionRules { level, work_scope: &WorkScope::default(), folder: "/home/p" }, action)
    }

    // spec: A11
    #[test]
    fn work_allows_edits_and_the_commands_of_the_project_and_a_judge_may_not_edit() {
        let answer = |files: FileAccess, kind: &'static str, command: Option<&str>| {
            let work_scope = &WorkScope::new(["make test"], files);
            let rules = PermissionRules { level: PermissionLevel::Work, work_scope, folder: "/home/p" };
            decide_permission(rules, RequestedAction { kind, locations: &[], command })
        };
        let (coder, judge) = (FileAccess::Edit, FileAccess::Read);
        for files in [coder, judge] {
            assert_eq!(answer(files, "read", None), PermissionDecision::Allow);
            assert_eq!(answer(files, "execute", Some("make test VERBOSE=1")), PermissionDecision::Allow);
            for command in [None, Some("curl x"), Some("make test && curl x")] {
                assert_eq!(answer(files, "execute", command), PermissionDecision::Refuse, "{command:?}");
            }
            assert_eq!(answer(files, "fetch", None), PermissionDecision::Refuse);
        }
        assert_eq!(answer(coder, "edit", None), PermissionDecision::Allow);
        assert_eq!(answer(judge, "edit", None), PermissionDecision::Refuse);
    }

    #[test] // spec: A6
    fn edits_allows_reads_and_writes_in_the_project_and_nothing_else() {
        for kind in ["read", "search", "edit", "think", "move"] {
            assert_eq!(
                decide_for_paths(PermissionLevel::Edits, kind, &["/home/p/a", "b/c"]),
                PermissionDecision::Allow,
                "{kind}"
            );
        }
        for kind in ["execute", "delete", "fetch", "switch_mode", "other", "", "a new one"] {
            assert_eq!(decide_for_paths(PermissionLevel::Edits, kind, &[]), PermissionDecision::Refuse, "{kind}");
        }
        for path in ["/etc/passwd", "/home/p/../q", "../x", "/home/project2"] {
            assert_eq!(
                decide_for_paths(PermissionLevel::Edits, "edit", &["/home/p/a", path]),
                PermissionDecision::Refuse,
                "{path}"
            );
        }
    }

    #[test] // spec: A6
    fn a_path_that_is_not_a_string_is_outside_the_project_and_invalid_bytes_do_not_move_a_path() {
        let edit = |path: &'static [u8]| {
            let locations = [AcpToolLocation { path: Some(path) }];
            decide(PermissionLevel::Edits, RequestedAction { kind: "edit", locations: &locations, command: None })
        };
        for path in [&b"\"/home/p/\xff\xfe\""[..], b"\"\xff/x\"", b"\"a\\ud800b\""] {
            assert_eq!(edit(path), PermissionDecision::Allow, "{}", path.escape_ascii());
        }
        let outside = [
            &b"\"/home/\xff/../../etc\""[..],
            b"\"/home/p\xff/x\"",
            b"\"..\xff/../../q\"",
            b"7",
            b"null",
            b"[\"/home/p/a\"]",
        ];
        for path in outside {
            assert_eq!(edit(path), PermissionDecision::Refuse, "{}", path.escape_ascii());
        }
    }

    #[test] // spec: A6
    fn ask_refuses_every_request_and_full_allows_it() {
        for kind in ["read", "edit", "execute", ""] {
            assert_eq!(
                decide_for_paths(PermissionLevel::Ask, kind, &["/home/p/a"]),
                PermissionDecision::Refuse,
                "{kind}"
            );
            assert_eq!(
                decide_for_paths(PermissionLevel::Full, kind, &["/etc/passwd"]),
                PermissionDecision::Allow,
                "{kind}"
            );
        }
    }

    #[test] // spec: A6
    fn a_one_time_option_is_preferred_to_a_permanent_one() {
        let list = br#"[{"optionId":"a","kind":"allow_always"},{"optionId":"b","kind":"allow_once"},
            {"optionId":"c","kind":"reject_always"}]"#;
        let options = AcpPermissionOption::list(Some(list)).unwrap();
        assert_eq!(choose_option(PermissionDecision::Allow, &options).as_deref(), Some("b"));
        assert_eq!(choose_option(PermissionDecision::Refuse, &options).as_deref(), Some("c"));
        assert_eq!(choose_option(PermissionDecision::Allow, &options[2..]), None);
        let unusable = AcpPermissionOption::list(Some(
            br#"[{"optionId":"d","kind":"allow_session"},{"optionId":"e"},{"kind":"allow_once"},{"optionId":7,"kind":"reject_once"}]"#,
        ));
        let unusable = unusable.unwrap();
        assert_eq!(
            (choose_option(PermissionDecision::Allow, &unusable), choose_option(PermissionDecision::Refuse, &unusable)),
            (None, None)
        );
    }
}
