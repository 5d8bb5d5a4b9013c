//! Decides how to answer an agent's permission request.
use std::path::{Component, Path, PathBuf};

use super::message::{AcpPermissionOption, AcpToolLocation};
use crate::launch::permission::PermissionLevel;
use ralph_util::json;

/// The tool kinds that permission `edits` allows. All others (`execute`, `delete`, `fetch`, `switch_mode`, `other`) are
/// refused.
const EDIT_LEVEL_TOOL_KINDS: &[&str] = &["read", "search", "think", "edit", "move"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PermissionDecision {
    Allow,
    Refuse,
}

/// Decides by the permission level, the kind of the tool, and the files that it names.
pub(crate) fn decide_permission(
    permission: PermissionLevel,
    kind: &str,
    locations: &[AcpToolLocation<'_>],
    folder: &str,
) -> PermissionDecision {
    let is_harmless =
        || EDIT_LEVEL_TOOL_KINDS.contains(&kind) && locations.iter().all(|location| is_inside_folder(location, folder));
    match permission {
        PermissionLevel::Full => PermissionDecision::Allow,
        PermissionLevel::Edits if is_harmless() => PermissionDecision::Allow,
        PermissionLevel::Edits | PermissionLevel::Ask => PermissionDecision::Refuse,
    }
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
        decide_permission(permission, kind, &locations, "/home/p")
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
            decide_permission(PermissionLevel::Edits, "edit", &[AcpToolLocation { path: Some(path) }], "/home/p")
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
