//! Which room may use which. An arrow that is not in the table needs its reason in a commit, and a line here.
use super::{Finding, contains_word};
use crate::tree::{File, Tree};

const ROOMS: &str = "crates/ralph/src/";
const CORE: &str = "crates/ralph-core/";

/// Uses everything.
const ANY: &str = "*";

/// Small rooms. Everyone may use them, and they use no other, unless a line below says so.
const COMMON: &[&str] = &[
    "bounded_lines",
    "duration",
    "execution_log",
    "fail",
    "memory_size",
    "money",
    "private",
    "project",
    "receipt",
    "digest",
    "redact",
    "sanitize",
    "json",
    "session_file",
    "shell_words",
    "suggest",
    "yaml",
];

/// A room, and the rooms that it may use beside the common ones.
const ARROWS: &[(&str, &[&str])] = &[
    // The binary hands over to the command line at once.
    ("main", &["cli"]),
    ("cli", &[ANY]),
    // Drivers: they perform what the rules decide.
    // A receipt names the version of the agent.
    ("engine", &["agent", "verify", "git", "process", "store", "hearing", "lock", "survey", "tree"]),
    ("session", &["agent", "verify", "git", "process", "store", "hearing"]),
    ("workflow", &["agent", "verify", "git", "process", "store", "engine"]),
    ("work", &["agent", "verify", "git", "process", "store", "engine", "lock", "tree"]),
    // Hands: they know one part of the world each, and start programs only through `process`.
    ("agent", &["process"]),
    // A judge is an agent that is asked once, without its tools. A claim may have to be committed, and is then checked in a
    // checkout of its own.
    ("verify", &["process", "agent", "git"]),
    ("git", &["process"]),
    // Work trees of tasks: git makes them, and their commands run as checks do.
    ("tree", &["git", "process", "verify"]),
    // What is a repository, and what belongs to it, only git knows.
    ("project", &["git"]),
    ("process", &[]),
    ("store", &[]),
    // A lock says who has it.
    ("lock", &["process"]),
    // It removes logs, and knows nothing of what is in them.
    ("retention", &[]),
    // A whole recorded output is read with the agents' own parsers.
    ("hearing", &["agent"]),
    // Which agents are on this machine. It starts none of them by itself.
    ("survey", &["agent", "process"]),
    // Looks at agents and machine; nobody but the command line uses it.
    ("doctor", &["agent", "git", "install", "process", "store", "survey"]),
    // Screens read views and append orders. None of them calls the engine.
    ("view", &["store"]),
    // Whoever drives a loop is told by a signal; what nobody drives is swept, and nobody may take it up meanwhile.
    ("control", &["store", "process", "lock"]),
    ("tui", &["view", "control"]),
    ("web", &["view", "control"]),
    ("mcp", &["view", "control"]),
    ("platform", &["view", "control"]),
    // A report implements the engine's `Watcher`, so it names what it is shown.
    ("report", &["engine", "agent", "store", "view"]),
    // Writes files that are missing; whoever calls it knows the agents.
    ("init", &[]),
    // Writes into the settings of the programs that people sit in front of, and starts none of them.
    ("install", &[]),
    // The user's list of approved projects.
    ("trust", &[]),
    // The demo makes a repository to work in.
    ("demo", &["git"]),
    // Tasks as files: texts go in and come out.
    ("task", &[]),
    // Agents are chosen and changed by name, and so is the place where claims are checked.
    ("config", &["agent", "verify"]),
    // What a user sees is made of the errors of the rooms below.
    ("error", &["config", "engine", "install", "store", "lock", "task", "tree", "trust"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter_map(|file| Some((file, file.path.strip_prefix(ROOMS)?))).flat_map(room_file).collect()
}

fn room_file((file, inside): (&File, &str)) -> Vec<Finding> {
    let room = room_of(inside);
    // The library's root lists the rooms and uses none.
    if room == "lib" {
        return Vec::new();
    }
    let allowed: &[&str] = match ARROWS.iter().find(|(name, _)| *name == room) {
        Some((_, allowed)) => allowed,
        None if COMMON.contains(&room) => &[],
        None => return vec![unknown_room(file, room)],
    };
    let uses = used_rooms(file, inside).into_iter();
    uses.filter(|(_, used)| used != room && !COMMON.contains(&used.as_str()))
        .filter(|(_, used)| !allowed.contains(&ANY) && !allowed.contains(&used.as_str()))
        .map(|(line, used)| forbidden(file, line, room, &used))
        .collect()
}

fn room_of(inside: &str) -> &str {
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

fn unknown_room(file: &File, room: &str) -> Finding {
    Finding {
        path: file.path.clone(),
        line: 1,
        rule: "arrows",
        says: format!("the room `{room}` is not on the map"),
        mend: "give it a line in xtask/src/tidy/arrows.rs that says what it may use and why".to_owned(),
    }
}

fn forbidden(file: &File, line: usize, room: &str, used: &str) -> Finding {
    Finding {
        path: file.path.clone(),
        line,
        rule: "arrows",
        says: format!("`{room}` may not use `{used}`"),
        mend: format!(
            "pass in what it needs, move that into a room below both, or give the arrow `{room} -> {used}` \
                       a line and a reason in xtask/src/tidy/arrows.rs"
        ),
    }
}

/// Returns line and name of each room that the file mentions by its path.
fn used_rooms(file: &File, inside: &str) -> Vec<(usize, String)> {
    let code = file.lines.iter().map(|line| line.code.as_str()).collect::<Vec<_>>().join("\n");
    let is_door = !inside.contains('/') || inside.ends_with("/mod.rs") && inside.matches('/').count() == 1;
    let mut used = after(&code, "crate::");
    if inside == "main.rs" {
        used.extend(after(&code, "ralph::"));
    }
    if is_door {
        // Seen from the door of a room, `super` is the root; only names of rooms are meant.
        used.extend(after(&code, "super::").into_iter().filter(|(_, name)| is_room(name)));
    }
    used
}

fn is_room(name: &str) -> bool {
    COMMON.contains(&name) || ARROWS.iter().any(|(room, _)| *room == name)
}

/// Returns what follows the prefix: one name, or all names of a list in braces.
fn after(code: &str, prefix: &str) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        // `$crate::`, `other_crate::` and `super::super::` are other paths.
        if before.is_some_and(|c| c.is_alphanumeric() || "_$:".contains(c)) {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + prefix.len()..];
        let found = rest.strip_prefix('{').map_or_else(|| vec![first_name(rest)], listed);
        names.extend(found.into_iter().filter(|name| is_module(name)).map(|name| (line, name)));
    }
    names
}

/// Returns the names at the top level of a list in braces.
fn listed(inside: &str) -> Vec<String> {
    let mut depth = 1;
    let end = inside.char_indices().find(|(_, c)| {
        depth += i32::from(*c == '{') - i32::from(*c == '}');
        depth == 0
    });
    let list = &inside[..end.map_or(inside.len(), |(at, _)| at)];
    let mut depth = 0;
    let items = list.split(|c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        depth == 0 && c == ','
    });
    items.map(|item| first_name(item.trim())).collect()
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}

/// Types and macros at the root are no rooms.
fn is_module(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_lowercase) && name != "self"
}

/// The rules use nothing of ours.
pub(super) fn check_core(tree: &Tree) -> Vec<Finding> {
    let manifest = tree.get("crates/ralph-core/Cargo.toml");
    let needs = manifest.into_iter().flat_map(|file| {
        numbered(file.text.lines(), file, |line| {
            line.contains("path =") || ["ralph", "xtask"].iter().any(|name| depends_on(line, name))
        })
    });
    let uses = tree.rust().filter(|file| file.path.starts_with(CORE)).flat_map(|file| {
        let code = file.lines.iter().map(|line| line.code.as_str());
        numbered(code, file, |line| contains_word(line, "ralph::"))
    });
    needs.chain(uses).collect()
}

fn depends_on(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '.', '=']))
}

fn numbered<'a>(
    lines: impl Iterator<Item = &'a str>,
    file: &File,
    bad: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let finding = |line| Finding {
        path: file.path.clone(),
        line,
        rule: "arrows",
        says: "the core uses something of ours".to_owned(),
        mend: "the rules do no I/O and stand alone: pass it in as an event".to_owned(),
    };
    lines.enumerate().filter(|(_, line)| bad(line)).map(|(index, _)| finding(index + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn found(path: &str, text: &str, expected: &[&str]) {
        let says: Vec<_> =
            check(&Tree::of(&[(path, text)])).into_iter().map(|finding| finding.says).collect();
        assert_eq!(says, expected, "{text}");
    }

    #[test]
    fn an_arrow_that_is_not_on_the_map_is_found() {
        found("crates/ralph/src/agent/x.rs", "use crate::engine::Plan;", &["`agent` may not use `engine`"]);
        found(
            "crates/ralph/src/agent/x.rs",
            "fn a() -> crate::store::Store {}",
            &["`agent` may not use `store`"],
        );
        found("crates/ralph/src/view/mod.rs", "use super::engine::Plan;", &["`view` may not use `engine`"]);
        found("crates/ralph/src/main.rs", "ralph::engine::run()", &["`main` may not use `engine`"]);
    }

    #[test]
    fn lists_in_braces_are_read_to_their_end() {
        let text = "use crate::{\n    agent::{self, engine},\n    process, Failure,\n    store::Store};";
        found("crates/ralph/src/verify/x.rs", text, &["`verify` may not use `store`"]);
    }

    #[test]
    fn arrows_on_the_map_are_fine() {
        found("crates/ralph/src/cli/run.rs", "use crate::engine::Plan;", &[]);
        found("crates/ralph/src/agent/x.rs", "use crate::process::Job;\nuse crate::agent::Format;", &[]);
        found("crates/ralph/src/agent/mod.rs", "mod tests { use super::git_like; }", &[]);
        found("crates/ralph/src/store/x.rs", "use crate::private;\nuse ralph_core::event::Event;", &[]);
        found("crates/ralph/src/agent/x.rs", "// as crate::engine does", &[]);
    }

    #[test]
    fn a_new_room_needs_a_line_on_the_map() {
        found("crates/ralph/src/attic/mod.rs", "//! Old things.", &["the room `attic` is not on the map"]);
    }

    #[test]
    fn the_core_uses_nothing_of_ours() {
        let bad = [
            ("crates/ralph-core/Cargo.toml", "[dependencies]\nralph.workspace = true\n"),
            ("crates/ralph-core/src/a.rs", "use ralph::store::Store;\nuse ralph_core::x;\n"),
        ];
        let lines: Vec<_> = check_core(&Tree::of(&bad)).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 1]);
        let good = [("crates/ralph-core/Cargo.toml", "name = \"ralph-core\"\nserde.workspace = true\n")];
        assert!(check_core(&Tree::of(&good)).is_empty());
    }
}
