//! Reads CMake files as commands and blocks, and finds those that decide which tests run. It never evaluates variables or
//! conditions: two files have the same deciding parts if these are written in the same way.
use alloc::string::String;
use alloc::vec::Vec;

/// Commands that describe targets and do not decide which tests run. Those that begin with `target_` belong to them.
const FREE_COMMANDS: &[&str] = &[
    "add_compile_definitions",
    "add_compile_options",
    "add_executable",
    "add_library",
    "cmake_minimum_required",
    "cmake_policy",
    "add_dependencies",
    "configure_file",
    "export",
    "file",
    "find_library",
    "find_package",
    "find_path",
    "find_program",
    "get_filename_component",
    "include_directories",
    "install",
    "link_directories",
    "link_libraries",
    "message",
    "pkg_check_modules",
    "project",
    "set_source_files_properties",
    "source_group",
];

/// Commands that are free if no word of theirs is about tests.
const VARIABLE_COMMANDS: &[&str] =
    &["add_custom_command", "add_custom_target", "execute_process", "list", "option", "set", "set_target_properties"];

const TEST_WORDS: &[&str] = &["TEST", "EMULATOR", "LAUNCHER", "POST_BUILD", "PRE_LINK"];

/// The commands that begin and end a block.
const BLOCKS: &[CMakeBlock] = &[
    CMakeBlock { begin: "if", end: "endif" },
    CMakeBlock { begin: "foreach", end: "endforeach" },
    CMakeBlock { begin: "while", end: "endwhile" },
    CMakeBlock { begin: "function", end: "endfunction" },
    CMakeBlock { begin: "macro", end: "endmacro" },
    CMakeBlock { begin: "block", end: "endblock" },
];

/// Commands whose definition anew changes what every test of the project is.
const TEST_COMMANDS: &[&str] =
    &["add_test", "catch_discover_tests", "doctest_discover_tests", "enable_testing", "gtest_discover_tests"];

struct CMakeBlock {
    begin: &'static str,
    end: &'static str,
}

/// A command, or a block with all its commands.
#[derive(Debug, Clone, Default)]
struct CMakeItem {
    /// The commands without comments and with single spaces.
    commands: Vec<String>,
}

/// Returns the deciding commands. Folders that the work adds are free, but not those of the base that it leaves out.
pub fn deciding_commands(text: &str) -> Vec<String> {
    read_items(text).into_iter().filter(CMakeItem::is_deciding).flat_map(|item| item.commands).collect()
}

/// Returns the deciding commands of the claim without the folders that it adds.
pub fn compared_commands(base: &str, claimed: &str) -> Vec<String> {
    let known = deciding_commands(base);
    let is_added_folder = |command: &String| command.starts_with("add_subdirectory(") && !known.contains(command);
    deciding_commands(claimed).into_iter().filter(|command| !is_added_folder(command)).collect()
}

/// Returns the claimed file with the deciding commands of the base.
pub fn merge_commands(base: &str, claimed: &str) -> String {
    let known = deciding_commands(base);
    let is_new_folder =
        |item: &CMakeItem| item.commands.iter().all(|it| it.starts_with("add_subdirectory(") && !known.contains(it));
    let kept = read_items(claimed).into_iter().filter(|item| !item.is_deciding() || is_new_folder(item));
    let added = read_items(base).into_iter().filter(CMakeItem::is_deciding);
    kept.chain(added).flat_map(|item| item.commands).flat_map(|command| [command, "\n".into()]).collect()
}

/// Returns whether a file defines a command of CMake that adds tests anew.
pub fn redefines_test_command(text: &str) -> bool {
    let defined = |command: &String| {
        let lower = command.to_ascii_lowercase();
        let name = lower.strip_prefix("function(").or_else(|| lower.strip_prefix("macro(")).map(str::trim_start);
        name.is_some_and(|name| TEST_COMMANDS.iter().any(|known| name.starts_with(known)))
    };
    read_commands(text).iter().any(defined)
}

impl CMakeItem {
    /// A block decides if one of its commands does: its condition decides about them.
    fn is_deciding(&self) -> bool {
        self.commands.iter().any(|command| is_deciding_command(command))
    }
}

fn command_name(command: &str) -> &str {
    command.split_once('(').map_or(command, |(name, _)| name)
}

fn is_deciding_command(command: &str) -> bool {
    let name = command_name(command);
    let is_part_of_block = BLOCKS.iter().any(|block| name == block.begin || name == block.end);
    if is_part_of_block || name == "else" || name == "elseif" {
        // A definition decides, because what calls it is not known.
        return matches!(name, "function" | "macro");
    }
    if VARIABLE_COMMANDS.contains(&name) {
        let upper = command.to_ascii_uppercase();
        return TEST_WORDS.iter().any(|word| upper.contains(word));
    }
    !FREE_COMMANDS.contains(&name) && !name.starts_with("target_")
}

/// Groups the commands into items. A block that is not closed reaches to the end.
fn read_items(text: &str) -> Vec<CMakeItem> {
    let (mut items, mut open, mut depth) = (Vec::new(), CMakeItem::default(), 0_usize);
    for command in read_commands(text) {
        let name = command_name(&command);
        if BLOCKS.iter().any(|block| block.begin == name) {
            depth += 1;
        } else if BLOCKS.iter().any(|block| block.end == name) {
            depth = depth.saturating_sub(1);
        }
        open.commands.push(command);
        if depth == 0 {
            items.push(core::mem::take(&mut open));
        }
    }
    if !open.commands.is_empty() {
        items.push(open);
    }
    items
}

/// Returns every command on one line, its name in lower case, without comments.
fn read_commands(text: &str) -> Vec<String> {
    let (mut commands, mut current, mut depth, mut rest) = (Vec::new(), String::new(), 0_usize, text);
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..).unwrap_or_default();
        if letter == '#' {
            rest = skip_comment(after);
            continue;
        }
        if let Some(end) = literal_length(rest) {
            current.push_str(rest.get(..end).unwrap_or_default());
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if !letter.is_whitespace() {
            current.push(letter);
        } else if depth > 0 && !current.ends_with([' ', '(']) {
            current.push(' ');
        }
        if letter == ')' && depth == 0 {
            commands.push(tidy_command(&current));
            current.clear();
        }
        rest = after;
    }
    if !current.trim().is_empty() {
        commands.push(tidy_command(&current));
    }
    commands
}

fn tidy_command(command: &str) -> String {
    let (name, arguments) = command.split_once('(').unwrap_or((command, ""));
    let arguments = arguments.trim_end().strip_suffix(')').unwrap_or(arguments).trim_end();
    [&name.trim().to_ascii_lowercase(), "(", arguments, ")"].concat()
}

/// Returns the length of a quoted or bracketed argument at the start of the text.
fn literal_length(text: &str) -> Option<usize> {
    if text.starts_with('"') {
        let mut is_escaped = false;
        let end = text.char_indices().skip(1).find(|(_, letter)| {
            let is_end = *letter == '"' && !is_escaped;
            is_escaped = *letter == '\\' && !is_escaped;
            is_end
        });
        return Some(end.map_or(text.len(), |(at, _)| at + 1));
    }
    let equals = text.strip_prefix('[')?.chars().take_while(|letter| *letter == '=').count();
    text.get(equals + 1..)?.strip_prefix('[')?;
    let closing = ["]", &"=".repeat(equals), "]"].concat();
    Some(text.find(&closing).map_or(text.len(), |at| at + closing.len()))
}

fn skip_comment(text: &str) -> &str {
    match literal_length(text) {
        Some(end) if text.starts_with('[') => text.get(end..).unwrap_or_default(),
        Some(_) | None => text.find('\n').and_then(|at| text.get(at..)).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "project(a C)\nenable_testing()\nadd_executable(a a.c)\nadd_test(NAME a\n  COMMAND a --all)\n";

    fn differs(base: &str, claimed: &str) -> bool {
        deciding_commands(base) != compared_commands(base, claimed)
    }

    // spec: V15
    // finding: N3
    #[test]
    fn a_command_counts_with_all_its_lines() {
        assert!(differs(BASE, &BASE.replace("COMMAND a --all", "COMMAND true")));
        assert!(!differs(BASE, &BASE.replace("\n  COMMAND", " COMMAND")), "other white space");
        assert!(!differs(BASE, &BASE.replace("a.c", "a.c b.c")), "a source file is free");
        assert!(!differs(BASE, &[BASE, "# note )\nset(SOURCES \"a(\" [=[ ]] ]=])\n"].concat()));
    }

    // spec: V15
    // finding: N3
    #[test]
    fn a_test_cannot_be_hidden() {
        for (from, to) in [
            ("enable_testing()", "return()\nenable_testing()"),
            ("add_test", "if(FALSE)\nadd_test"),
            ("enable_testing()", "#[[\nenable_testing()\n]]"),
            ("enable_testing()", "enable_testing()\nfunction(add_test)\nendfunction()"),
            ("enable_testing()", "add_custom_command(TARGET a POST_BUILD COMMAND cp b a)\nenable_testing()"),
            ("enable_testing()", "include(other.cmake)\nenable_testing()"),
            ("enable_testing()", "set(CTEST_CUSTOM_TESTS_IGNORE a)\nenable_testing()"),
            ("enable_testing()", "ENABLE_TESTING()\nset_tests_properties(a PROPERTIES WILL_FAIL 1)"),
        ] {
            assert!(differs(BASE, &BASE.replace(from, to)), "{to}");
        }
        assert!(differs("add_subdirectory(tests)\n", ""), "a folder is left out");
        assert!(!differs("add_subdirectory(tests)\n", "add_subdirectory(lib)\nadd_subdirectory(tests)\n"));
        assert!(!differs(BASE, &[BASE, "if(WIN32)\ntarget_link_libraries(a ws2_32)\nendif()\n"].concat()));
        assert!(redefines_test_command("macro( Add_Test )\nendmacro()\n"));
        assert!(!redefines_test_command("add_test(a a)\nfunction(mine)\nendfunction()\n"));
    }

    // spec: V15
    #[test]
    fn a_literal_ends_at_its_own_end() {
        for (text, length) in [
            (r#""a" b"#, Some(3)),
            (r#""ab" b"#, Some(4)),
            (r#""a\"b" c"#, Some(6)),
            (r#""a\\" b"#, Some(5)),
            (r#""a"#, Some(2)),
            ("[[a]] b", Some(5)),
            ("[=[a]]]=] b", Some(9)),
            ("[=[a", Some(4)),
            ("[a]", None),
            ("a", None),
        ] {
            assert_eq!(literal_length(text), length, "{text}");
        }
    }

    // spec: V15
    #[test]
    fn a_merged_file_has_the_deciding_commands_of_the_base_and_the_targets_of_the_work() {
        let claimed =
            "project(a C)\nadd_executable(a a.c b.c)\nadd_subdirectory(lib)\nif(FALSE)\nadd_test(a a)\nendif()\n";
        let expected = "project(a C)\nadd_executable(a a.c b.c)\nadd_subdirectory(lib)\nenable_testing()\nadd_test(NAME a COMMAND a --all)\n";
        assert_eq!(merge_commands(BASE, claimed), expected);
    }
}
