//! What is answered when the agent asks whether it may use a tool.
use std::path::{Component, Path, PathBuf};

use super::message::{Choice, Place};
use crate::grant::Permission;
use ralph_util::json;

/// What a permission for edits allows; all else (`execute`, `delete`, `fetch`, `switch_mode`, `other`) it does not.
const HARMLESS: &[&str] = &["read", "search", "think", "edit", "move"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    Allow,
    Refuse,
}

/// Decides by the kind of the tool and the files that it names.
pub(super) fn decide(permission: Permission, kind: &str, places: &[Place<'_>], folder: &str) -> Answer {
    let is_harmless = || HARMLESS.contains(&kind) && places.iter().all(|place| is_inside(place, folder));
    match permission {
        Permission::Full => Answer::Allow,
        Permission::Edits if is_harmless() => Answer::Allow,
        Permission::Edits | Permission::Ask => Answer::Refuse,
    }
}

/// Returns the option that says so, the one that says it once before the one that says it for ever. What is allowed here
/// may be refused next time, and the other way round. What an option of another kind means nobody knows, so none is chosen.
pub(super) fn option(answer: Answer, options: &[Choice<'_>]) -> Option<String> {
    let kinds = match answer {
        Answer::Allow => ["allow_once", "allow_always"],
        Answer::Refuse => ["reject_once", "reject_always"],
    };
    let of_kind = |kind: &&str| options.iter().find(|option| json::name(option.kind) == *kind);
    kinds.iter().find_map(of_kind).and_then(|option| json::string(option.id))
}

/// Relative paths are meant from the project's folder. A path that is no text is nowhere; bytes in it that are no
/// characters name some file, and which folder that is in does not depend on them.
fn is_inside(place: &Place<'_>, folder: &str) -> bool {
    let Some(raw) = place.path else { return true };
    let folder = Path::new(folder);
    json::string(Some(raw)).is_some_and(|path| plain(&folder.join(path)).starts_with(plain(folder)))
}

/// Takes `.` and `..` out of a path, by its letters alone.
fn plain(path: &Path) -> PathBuf {
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

    fn decided(permission: Permission, kind: &str, paths: &[&str]) -> Answer {
        let quoted: Vec<String> = paths.iter().map(|path| format!("{path:?}")).collect();
        let places: Vec<Place<'_>> =
            quoted.iter().map(|path| Place { path: Some(path.as_bytes()) }).collect();
        decide(permission, kind, &places, "/home/p")
    }

    #[test] // spec: A6
    fn edits_allows_to_read_and_to_write_in_the_project_and_nothing_else() {
        for kind in ["read", "search", "edit", "think", "move"] {
            assert_eq!(decided(Permission::Edits, kind, &["/home/p/a", "b/c"]), Answer::Allow, "{kind}");
        }
        for kind in ["execute", "delete", "fetch", "switch_mode", "other", "", "a new one"] {
            assert_eq!(decided(Permission::Edits, kind, &[]), Answer::Refuse, "{kind}");
        }
        for path in ["/etc/passwd", "/home/p/../q", "../x", "/home/project2"] {
            assert_eq!(decided(Permission::Edits, "edit", &["/home/p/a", path]), Answer::Refuse, "{path}");
        }
    }

    #[test] // spec: A6
    fn a_path_that_is_no_text_is_not_in_the_project_and_one_with_strange_bytes_is_where_it_says() {
        let edit =
            |path: &'static [u8]| decide(Permission::Edits, "edit", &[Place { path: Some(path) }], "/home/p");
        for path in [&b"\"/home/p/\xff\xfe\""[..], b"\"\xff/x\"", b"\"a\\ud800b\""] {
            assert_eq!(edit(path), Answer::Allow, "{}", path.escape_ascii());
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
            assert_eq!(edit(path), Answer::Refuse, "{}", path.escape_ascii());
        }
    }

    #[test] // spec: A6
    fn ask_refuses_whatever_is_asked_and_full_allows_it() {
        for kind in ["read", "edit", "execute", ""] {
            assert_eq!(decided(Permission::Ask, kind, &["/home/p/a"]), Answer::Refuse, "{kind}");
            assert_eq!(decided(Permission::Full, kind, &["/etc/passwd"]), Answer::Allow, "{kind}");
        }
    }

    #[test] // spec: A6
    fn an_answer_for_once_is_preferred_to_one_for_ever() {
        let list = br#"[{"optionId":"a","kind":"allow_always"},{"optionId":"b","kind":"allow_once"},
            {"optionId":"c","kind":"reject_always"}]"#;
        let options = Choice::list(Some(list)).unwrap();
        assert_eq!(option(Answer::Allow, &options).as_deref(), Some("b"));
        assert_eq!(option(Answer::Refuse, &options).as_deref(), Some("c"));
        assert_eq!(option(Answer::Allow, &options[2..]), None);
        let strange = Choice::list(Some(
            br#"[{"optionId":"d","kind":"allow_session"},{"optionId":"e"},{"kind":"allow_once"},{"optionId":7,"kind":"reject_once"}]"#,
        ));
        let strange = strange.unwrap();
        assert_eq!((option(Answer::Allow, &strange), option(Answer::Refuse, &strange)), (None, None));
    }
}
